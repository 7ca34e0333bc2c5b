//! The transmit path around a byte queue limit: sans-IO, without a clock, a thread or a system
//! call. A simulator and a live driver run the same code.
//!
//! ```text
//!  your packets                                                                 frames
//!      |                                                                         ^
//!      v  enqueue                                                                | freed / dropped
//!  +---------+    dequeue    +---------------------+  submit, kick  +------+     |
//!  |  Qdisc  |-------------->|       Sender        |--------------->|      |     |
//!  | queues, |               | the limit has room, |                | ring |--> wire
//!  | reorders|               | the ring has slots  |                |      |     |
//!  | marks   |               +---------------------+                +------+     |
//!  | drops   |                    ^ room       stop flags, ledger      |         |
//!  +---------+               +---------------------+      reap         |         |
//!                            |      Completer      |<------------------'         |
//!                            |  updates the Limit, |-----------------------------'
//!                            |  detects stalls     |
//!                            +---------------------+
//! ```
//!
//! Packets should wait in the [`Qdisc`], which can reorder, mark or drop them. Packets in the ring
//! can no longer be overtaken, so a [`Limit`] keeps the ring only as full as necessary.
//!
//! # A driver
//! A driver has two halves: a [`TxRing`] that takes packets, and a [`Completions`] that returns the
//! same packets after the device completed them. This driver is complete; its device is a queue
//! that another thread empties.
//!
//! ```
//! use std::collections::VecDeque;
//! use std::convert::Infallible;
//! use std::sync::{Arc, Mutex};
//! use taut_path::{AnyLimit, Completions, Packet, Queue, Stop, TxRing, pool::FramePool};
//!
//! const SLOTS: usize = 64;
//!
//! /// State of both halves: the slots, oldest first, and the number that the device has sent.
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
//! let ring = Ring::default();
//! let limit: AnyLimit = "taut:99.5%".parse()?;
//! let (mut tx, mut rx, monitor) = Queue::builder(ring.clone(), ring.clone())
//!     .qdisc("fq_codel ecn".parse()?)
//!     .limit(limit)
//!     .build_halves(0)?;
//! let mut pool = FramePool::new(1000, 0); // the sink: frames return here and are reused
//! for interval in 1..=500_u64 {
//!     let now_ns = interval * 100_000;
//!     while let Some(frame) = pool.take() {
//!         tx.enqueue(Packet::new(frame, 1514), now_ns, &mut pool);
//!     }
//!     // While the limit and the ring have room.
//!     if let Stop::Failed(error) = tx.run(now_ns, &mut pool) {
//!         return Err(error.into()); // or run again later: the packets stay in the ring
//!     }
//!     let mut slots = ring.0.lock().unwrap();
//!     slots.1 = slots.0.len().min(8); // the device sends eight packets per interval
//!     drop(slots);
//!     let completed = rx.complete(now_ns + 90_000, &mut pool)?; // and completes them together
//!     assert_eq!(completed.stalled, None);
//! }
//! assert!((7 * 1514..=17 * 1514).contains(&monitor.snapshot().queue.limit), "two intervals");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! On one thread, call `build`: a [`Queue`] has the methods of both halves, without a fence. With
//! static types ([`Builder::with_limit`](queue::Builder::with_limit),
//! [`with_qdisc`](queue::Builder::with_qdisc)) the compiler can inline limit and discipline.
//!
//! # Which method when
//!
//! - **Packets to send**: `enqueue` or `offer`, then `run` once per batch.
//! - **The device interrupts, or is polled**: `complete`; then `run` if `schedule` is set.
//! - **The time [`next_wakeup`](Queue::next_wakeup)**: `complete`, which then detects stalls.
//! - **`complete` returns `stalled` or unknown completions**: flush or recreate the driver's ring,
//!   then call [`reset`](Queue::reset). If the ring is intact, [`repair`](Queue::repair) suffices.
//!   On two threads, call [`request_reset`](queue::Monitor::request_reset), from any thread. A
//!   completer that sleeps is woken by its [waker](queue::QueueConfig::completer_waker).
//! - **`run` returns `Limit` or `RingFull`**, on a thread of its own:
//!   [`must_wait`](queue::Sender::must_wait); if `true`, sleep until the waker of the queue is
//!   called. `run_blocking` (feature `std`) does both.
//! - **`run` returns `NotReady(at)`**: `run` at that time.
//! - **`run` returns `Failed`**: `run` again after a delay; packets in the ring are not lost.
//! - **`run` returns `Closed`**, or [`is_closed`](queue::Completer::is_closed) is `true`: stop,
//!   because the other half was dropped.
//!
//! Time is an argument (`now_ns`). Both halves use one clock that never goes back; read it at the
//! call and not before a sleep. Every packet that enters leaves through a [`PacketSink`]: freed by
//! the device, or dropped with a reason. Exceptions are packets that the device loses or has when
//! it is closed, and those of a queue that is dropped without a [`flush`](Queue::flush).
//!
//! # Other modules
//! | module | content |
//! |---|---|
//! | [`pool`] | frames with their bytes, and their sink |
//! | [`buffers`] | the caller's buffers by frame, and their sink; an example with two threads |
//! | [`in_flight`] | a driver's storage between `submit` and `reap` |
//! | `driver::testing` | with feature `testing`: a mock device, which can fail and lose packets |
//! | [`queue::many`] | several sending threads |
//! | [`budget`] | a limit that several queues share |
//! | [`tsq`] | small queues for each flow, around a queue |
//!
//! Use a limit of your own with [`with_limit`](queue::Builder::with_limit). Its settings are
//! [`taut_dql::Config`], so depend on `taut-dql` too.
//!
//! # Features
//! | feature | content |
//! |---|---|
//! | `std` | `Registry::install`, for names of limits and disciplines; `Sender::run_blocking` |
//! | `testing` | `driver::testing`; needs `std` |
//! | `serde` | the [`units`] as text |
//!
//! # Glossary
//! | term | meaning |
//! |---|---|
//! | limit | bytes (or packets) in flight above which no object is sent; the last can exceed it |
//! | rule | computes the limit from completion batches: a type that implements [`Limit`] |
//! | in flight | counted in the ledger as queued and not yet as completed |
//! | object | a packet, GSO packet or chunk that is submitted as one |
//! | ledger | the totals of queued and completed units, from which the room follows |
//! | sender, completer | the two halves of a queue; each can be on a thread of its own |
//! | stack stop | the limit or a budget has no room, or a reset is pending |
//! | driver stop | the ring has no slots |
//! | doorbell, kick | the notification of the device that the ring has new packets |
//! | burst | packets of one `dequeue_burst` |
//! | completion batch | the completions of one reap, or of several that a coalescer joins |
//! | generation | a period of at least an eighth of the stall threshold |
//! | tag | the queue, epoch and generation of a packet in flight |
//! | mark | ECN mark (CE): the discipline signals congestion without a drop |
//! | gate | a stop flag that the sender closes and the completer opens |
//! | coalescing interval | between two batches that the limit receives, unless it has no room |
//! | starved | the device ran dry while the stack stop was set |
//! | stall | the oldest unit in flight is older than a threshold, or a full ring has none |
//! | epoch | the time between two resets; packets of an earlier epoch are *stale* |
//! | unknown completion | a packet that the driver returned and this queue never sent |
//! | charge | memory of a packet, as counted in its flow's budget ([`tsq`]) |
//! | GSO packet | a packet that is segmented, by the device or before it |
//! | chunk | consecutive segments that are sent as one object ([`late_segmentation`]) |
//! | remainder | segments of a GSO packet that are not sent yet |
//! | budget | a limit that several queues share ([`budget`]), or the memory of a flow ([`tsq`]) |
//! | reap budget | maximum number of packets per reap |
//! | loss, loss budget | link time lost while the limit blocked the sender; its allowed share |
//! | required in-flight | the smallest limit that keeps the link busy in an interval |
//!
//! # Extension points
//! [`TxRing`] and [`Completions`] (a device), [`Qdisc`] (queueing), [`Limit`] (the limit),
//! [`Probe`] (observers), [`PacketSink`] (receives finished packets). All except `Limit` are also
//! implemented for `&mut T`, and all except `Limit` and `PacketSink` for `Box<T>`.
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
pub mod buffers;
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

mod room;
mod slots;
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
