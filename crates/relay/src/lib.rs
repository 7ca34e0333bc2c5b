//! Moves frames from sources to devices under a limit on the bytes in flight, and counts every
//! frame.
//!
//! A [`Direction`] is a [`Source`], a transmit queue and a device's port. [`relay::serve`] serves
//! one or more directions and monitors the links of their devices. It stops sending on a link that
//! is down, reopens rings and updates the [`Account`]. [`run`](fn@run) is the event loop.
//! [`transmit`] (one direction) is `taut send`, [`bridge`] (two) is `taut forward`.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod account;
pub mod bridge;
pub mod direction;
pub mod driver;
pub mod egress;
mod frame_limit;
mod intake;
pub mod interface;
mod latency;
pub mod offload;
mod packet_ends;
pub mod published;
pub mod relay;
mod run;
pub mod run_control;
pub mod source;
#[cfg(test)]
mod testing;
pub mod transmit;

pub use account::Account;
pub use direction::Direction;
pub use interface::Interface;
pub use run::{Next, Work, raise_priority, run};
pub use source::{Inlet, Source};
