//! A discipline and a byte limit between any [smoltcp](https://docs.rs/smoltcp) stack and any
//! [`Device`](smoltcp::phy::Device).
//!
//! A stack with large buffers writes more than a device with a small ring can hold. The device
//! drops the excess, or queues it where nothing can overtake it. With [`Limited`], the device holds
//! only what keeps it busy. Further packets wait in the discipline, which serves flows round-robin.
//! Beyond a few packets, the stack gets no token and keeps its data in its sockets until the
//! backlog has drained. All sockets are served, up to a number
//! ([`Builder::largest_backlog_packets`]).
//!
//! The device must count the frames that it has sent. A closure reads this counter, so no driver
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
//! A stack without a token requests an immediate poll, which would be without success. Wait for
//! [`poll_delay`](Limited::poll_delay) instead, and call [`complete`](Limited::complete) when the
//! device has sent something. It returns `true` when a poll is useful, and wakes the waker of the
//! builder.
//!
//! # Limitations
//! - All sockets share one backlog bound ([`Builder::backlog_packets`]), because a token does not
//!   identify the socket that uses it. smoltcp serves its sockets from the first in each poll.
//!   Sockets beyond the largest backlog are starved while the others always have data to send.
//! - The packet metadata of the stack ([`PacketMeta`](smoltcp::phy::PacketMeta)) is passed to the
//!   device, and the device's capabilities to the stack, without change.
//! - Frames of a medium that is neither Ethernet nor IP are best effort, one flow, and not marked.
//! - A response to a received frame is sent at the next call of the stack or of
//!   [`complete`](Limited::complete). [`Interface::poll`](smoltcp::iface::Interface::poll) makes
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
