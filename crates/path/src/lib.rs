//! The transmit path around a byte queue limit: sans-IO, without a clock, a thread or a system
//! call, so that a simulator and a live driver run the same code.
//!
//! ```text
//!  your packets                                                                  frames
//!      |                                                                          ^
//!      v  enqueue                                                                 | freed / dropped
//!  +---------+   may it go?   +---------------------+  submit, kick  +------+     |
//!  |  Qdisc  |--------------->|       Sender        |--------------->|      |     |
//!  | waits,  |                | the limit has room, |                | ring |--> wire
//!  | reorders|                | the ring has slots  |                |      |     |
//!  | marks   |                +---------------------+                +------+     |
//!  | drops   |                     ^ room       stop flags, ledger      |         |
//!  +---------+                +---------------------+      reap         |         |
//!                             |      Completer      |<------------------'         |
//!                             |  tells the Limit,   |-----------------------------'
//!                             |  watches for stalls |
//!                             +---------------------+
//! ```
//!
//! Everything that waits should wait in the [`Qdisc`], where it can be reordered, marked or
//! dropped. What sits in the ring can only be waited for, so a [`Limit`] keeps the ring just full
//! enough.
//!
//! # A driver
//! A driver is two halves: a [`TxRing`] that takes packets and a [`Completions`] that hands back
//! the very packets that the device is done with. This one is complete; its device is a queue that
//! another thread empties.
//!
//! ```
//! use std::collections::VecDeque;
//! use std::convert::Infallible;
//! use std::sync::{Arc, Mutex};
//! use taut_path::{AnyLimit, Completions, DropReason, Frame, Packet, PacketSink, Queue, TxRing};
//!
//! const SLOTS: usize = 64;
//!
//! /// What both halves share: the slots, oldest first, and how many of them the device has sent.
//! #[derive(Clone, Default)]
//! struct Ring(Arc<Mutex<(VecDeque<Packet>, usize)>>);
//!
//! impl Ring {
//!     fn free(&self) -> u32 {
//!         (SLOTS - self.0.lock().unwrap().0.len()) as u32
//!     }
//! }
//!
//! impl TxRing for Ring {
//!     type Error = Infallible;
//!     fn capacity_slots(&self) -> u32 { SLOTS as u32 }
//!     fn slots_free(&self) -> u32 { self.free() }
//!     fn submit(&mut self, packet: Packet, _now_ns: u64) -> Result<(), Packet> {
//!         self.0.lock().unwrap().0.push_back(packet);
//!         Ok(())
//!     }
//!     fn kick(&mut self, _now_ns: u64) -> Result<(), Infallible> { Ok(()) }
//! }
//!
//! impl Completions for Ring {
//!     type Error = Infallible;
//!     fn slots_free(&self) -> u32 { self.free() }
//!     fn reap(&mut self, _now_ns: u64, budget_packets: u32, freed: &mut dyn FnMut(Packet))
//!         -> Result<bool, Infallible>
//!     {
//!         for _ in 0..budget_packets {
//!             let mut ring = self.0.lock().unwrap();
//!             if ring.1 == 0 { return Ok(false); }
//!             ring.1 -= 1;
//!             let packet = ring.0.pop_front();
//!             drop(ring);
//!             packet.into_iter().for_each(&mut *freed);
//!         }
//!         Ok(self.0.lock().unwrap().1 > 0)
//!     }
//! }
//!
//! /// Where packets end: their frames go back to whoever made them.
//! #[derive(Default)]
//! struct Frames(Vec<Frame>);
//!
//! impl PacketSink for Frames {
//!     fn freed(&mut self, packet: Packet) { self.0.push(packet.into_frame()); }
//!     fn dropped(&mut self, packet: Packet, _: DropReason) { self.0.push(packet.into_frame()); }
//! }
//!
//! let ring = Ring::default();
//! let limit: AnyLimit = "taut:99.5%".parse()?;
//! let (mut tx, mut rx, watch) = Queue::builder(ring.clone(), ring.clone())
//!     .qdisc("fq_codel ecn".parse()?)
//!     .limit(limit)
//!     .build_halves(0)?;
//! let mut frames = Frames((0..1000).map(Frame::new).collect());
//! for round in 1..=500_u64 {
//!     let now_ns = round * 100_000;
//!     while let Some(frame) = frames.0.pop() {
//!         tx.enqueue(Packet::new(frame, 1514), now_ns, &mut frames);
//!     }
//!     let _ = tx.run(now_ns, &mut frames); // as many as the limit and the ring let through
//!     let mut slots = ring.0.lock().unwrap();
//!     slots.1 = slots.0.len().min(8); // the device sends eight packets in a round
//!     drop(slots);
//!     let completed = rx.complete(now_ns + 90_000, &mut frames)?; // and says so, all at once
//!     assert_eq!(completed.stalled, None);
//! }
//! assert!((7 * 1514..=17 * 1514).contains(&watch.snapshot().queue.limit), "what a round needs");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On one thread, call `build`: a [`Queue`] has all the methods, and pays no fence and no
//! atomic. Its types can be static ([`Builder::with_limit`](queue::Builder::with_limit),
//! [`with_qdisc`](queue::Builder::with_qdisc)) where a virtual call for each burst is too much.
//!
//! # What must be called when
//!
//! | when | call |
//! |---|---|
//! | there are packets | `enqueue` or `offer`, then `run` once for a batch |
//! | the device interrupts, or was polled | `complete`; then `run` if it says `schedule` |
//! | [`next_wakeup`](Queue::next_wakeup) has come | `complete`, also if nothing was finished: it hears of stalls |
//! | `complete` says `stalled`, or an error names packets that were never sent | mend the driver's ring, then [`reset`](Queue::reset) (or [`repair`](Queue::repair)) |
//! | `run` says `Limit` or `RingFull`, and there is another thread | [`must_wait`](queue::Sender::must_wait); sleep if it says so: the waker of the queue ends that |
//! | `run` says `NotReady(at)` | `run` again at that time |
//! | `run` says `Failed` | `run` again after a moment: what is in the ring is not lost |
//! | `run` says `Closed`, `complete` finds [`is_closed`](queue::Completer::is_closed) | the other half is gone |
//!
//! Time is an argument (`now_ns`, one clock for both halves, read at the call and not before a
//! sleep, never going back), and every packet that enters leaves through a
//! [`PacketSink`]: freed by the device, or dropped with a reason.
//!
//! # What else is here
//! [`pool::FramePool`] (frames with their bytes, and a sink), [`in_flight`] (what a driver keeps
//! between `submit` and `reap`), `driver::testing` behind the feature `testing` (a ring whose other
//! side a test plays, and drivers that make mistakes or show every call), [`queue::many`] (several
//! sending threads), [`budget`] (a limit that several queues share), [`tsq`] (small queues for each
//! flow, around a queue). A limit of your own goes in with
//! [`with_limit`](queue::Builder::with_limit); its settings are [`taut_dql::Config`], so depend on
//! that crate too.
//!
//! # Words
//! | word | meaning |
//! |---|---|
//! | limit | how much may be in flight, in bytes (or packets) |
//! | in flight | given to the device and not reported complete |
//! | ledger | what was queued and what is complete: the one place where a queue counts |
//! | sender, completer | the two halves of a queue; each may be on a thread of its own |
//! | stack stop, driver stop | the limit has no room; the ring has no slots |
//! | doorbell, kick | telling the device that there is something in the ring |
//! | burst | packets that go into the ring behind one doorbell |
//! | batch, round | one look at what the device finished |
//! | age | an eighth of the stall threshold; each packet carries its age in its *mark*, with queue and epoch |
//! | gate | where a sender that was stopped waits until the completer opens it |
//! | cadence | how far apart rounds are handed to the limit |
//! | starved | the device ran dry while the limit held the sender back |
//! | stall | the oldest unit in flight is older than a threshold |
//! | epoch | the time between two resets; packets of an earlier one come back *stale* |
//! | stray | handed back by a driver, and never sent by this queue |
//! | charge | memory of a packet, as counted in its flow's budget ([`tsq`]) |
//! | super-packet | a packet that is cut into segments, by the device or before it |
//! | chunk, remainder | some of a super-packet's segments as an object of their own ([`split`]), and those that still wait |
//! | budget | what several queues ([`budget`]), or the packets of one flow ([`tsq`]), may have in flight together |
//! | need | the smallest limit with which the device would not have run dry in an interval |
//!
//! # Seams
//! [`TxRing`] and [`Completions`] (a device), [`Qdisc`] (where packets wait), [`Limit`] (how much
//! may be in flight), [`Probe`] (who watches), [`PacketSink`] (where packets end). Each takes a
//! value, a reference or a box alike.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;
// The support of the model checks names the crate as its users do.
#[cfg(all(test, loom))]
extern crate self as taut_path;
#[cfg(any(feature = "std", feature = "testing"))]
extern crate std;

pub mod budget;
pub mod classify;
pub mod driver;
pub mod gate;
pub mod in_flight;
pub mod limit;
#[cfg(all(test, loom))]
#[path = "../tests/models/support.rs"]
mod models_support;
mod packet;
pub mod pool;
mod probe;
pub mod qdisc;
pub mod queue;
mod registry;
pub mod tunables;

pub mod room;
#[doc(hidden)]
pub use taut_dql::{rate, sharing};
pub mod late_segmentation;
pub mod tsq;
pub mod units;

#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;

pub use driver::{Completions, InRing, TxRing};
pub use late_segmentation::LateSegmentation;
pub use limit::{AnyLimit, Limit};
pub use packet::{Chunk, DropReason, Ecn, Frame, Packet, PacketSink, Segmentation};
pub use probe::{Event, Probe};
pub use qdisc::{AnyQdisc, Qdisc};
pub use queue::{Completed, Queue, QueueConfig, Stop};
pub use registry::{NameError, Registry};
