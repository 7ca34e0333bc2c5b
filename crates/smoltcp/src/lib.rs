//! A discipline and a byte limit between any [smoltcp](https://docs.rs/smoltcp) stack and any
//! [`Device`](smoltcp::phy::Device).
//!
//! A device with a small ring drops what a stack with large buffers writes at once, or queues it
//! where nothing can overtake it. [`Limited`] lets the device hold just enough: the rest waits in
//! the discipline, where flows take turns, and beyond a few packets in the sockets, for a stack
//! that finds no room gets no token until those have gone. So all sockets have their turn, up to a
//! number ([`Builder::largest_backlog_packets`]).
//!
//! The device must say how many frames it has sent. What it is asked is a closure, so no driver
//! changes:
//!
//! ```
//! use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
//! use smoltcp::time::Instant;
//! use taut_smoltcp::Limited;
//! # struct Nic { done: u32 }
//! # struct Tx<'a>(&'a mut Nic);
//! # struct Rx;
//! # impl RxToken for Rx { fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R { f(&[]) } }
//! # impl TxToken for Tx<'_> {
//! #     fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
//! #         self.0.done += 1;
//! #         f(&mut vec![0; len])
//! #     }
//! # }
//! # impl Device for Nic {
//! #     type RxToken<'a> = Rx;
//! #     type TxToken<'a> = Tx<'a>;
//! #     fn receive(&mut self, _: Instant) -> Option<(Rx, Tx<'_>)> { None }
//! #     fn transmit(&mut self, _: Instant) -> Option<Tx<'_>> { Some(Tx(self)) }
//! #     fn capabilities(&self) -> DeviceCapabilities {
//! #         let mut capabilities = DeviceCapabilities::default();
//! #         capabilities.medium = Medium::Ethernet;
//! #         capabilities.max_transmission_unit = 1514;
//! #         capabilities
//! #     }
//! # }
//! # let nic = Nic { done: 0 };
//! let now = Instant::from_millis(0);
//! let mut device = Limited::new(nic, now, |nic| nic.done)?;
//! // From here on as any device:
//! // Interface::new(config, &mut device, now), poll(now, &mut device, ..).
//! # device.transmit(now).ok_or("no token")?.consume(60, |frame| frame.fill(0));
//! assert_eq!(device.stats().sender.sent_packets, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # When to poll
//! A stack without a token wants to be polled again at once, in vain. Wait for
//! [`poll_delay`](Limited::poll_delay) instead, and call [`complete`](Limited::complete) when the
//! device has sent something: it says when a poll is worth it, and wakes the waker of the builder.
//!
//! # What to know
//! - Small queues are one bound for all sockets ([`Builder::backlog_packets`]): a token does not
//!   say whose packet it is for. smoltcp serves its sockets from the first in each poll, so those
//!   beyond the largest backlog get nothing while the others always have something to send.
//! - What a stack says of a packet ([`PacketMeta`](smoltcp::phy::PacketMeta)) reaches the device,
//!   and the device's capabilities the stack, as they are.
//! - Frames of a medium that is neither Ethernet nor IP are best effort, one flow, and not marked.
//! - An answer to a received frame goes on at the next call of the stack or of
//!   [`complete`](Limited::complete): [`Interface::poll`](smoltcp::iface::Interface::poll) makes
//!   that call itself.
//! - Each frame is copied once more, from the discipline into the device.

#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;

mod builder;
mod frames;
mod limited;
mod path;
mod ring;
mod round;

pub use builder::Builder;
pub use limited::{Limited, Stats, Token};

/// The example of the README is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
