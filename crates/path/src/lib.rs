//! The transmit path around a byte queue limit.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod driver;
mod packet;

pub use driver::{Completions, TxRing};
pub use packet::{DropReason, Frame, Packet, PacketSink, Segmentation};
