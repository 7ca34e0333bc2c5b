//! Dynamic queue limits (Linux BQL) for any ring: a limit on the units in flight that is just large
//! enough to keep a device busy. It is computed from the device's completions.
//!
//! ```
//! let mut dql = taut_dql::Dql::new(0);
//! while dql.has_room() {
//!     dql.queued(1514)?; // before the device can see the packet
//! }
//! dql.completed(1514, 100_000)?; // once per completion batch: units and nanoseconds
//! assert_eq!((dql.limit(), dql.in_flight(), dql.has_room()), (1514, 0, true));
//! # Ok::<(), taut_dql::Error>(())
//! ```
//!
//! The limit follows the device: about twice the units that it completes in one interval. An
//! *interval* is the time between two completion batches. The limit grows if the device ran dry
//! while the limit blocked the sender. *Slack* is the part of the limit that an interval did not
//! need. The limit decreases by the smallest slack of a whole *hold time*. It is soft: a queue may
//! exceed it by one object.
//!
//! # Units
//! Count the unit that determines the device's time. Bytes for a link; packets for a device with a
//! fixed cost per packet; requests for a disk or a service. One queue counts in one unit, with
//! objects of at most [`MAX_OBJECT`]. For tasks that write to a disk or call a service,
//! `tasks::Limiter` (feature `tasks`) grants permits; it lists which services are suitable.
//!
//! # Which variant
//! [`Dql`] when one thread (or one lock) queues and completes. [`split`] a [`Shared`] when one
//! thread queues and another completes. Both have the same rule and the same snapshot. [`Dynamic`]
//! is the rule alone, and [`ledger`] the totals alone. [`control::Control`] applies any other
//! [`limit::Limit`] to a ledger.
//!
//! # Which method when
//! | event | call |
//! |---|---|
//! | an object is about to be sent | [`queued`](Dql::queued), before the device can see it |
//! | may another object be sent? | [`has_room`](Dql::has_room), after each object |
//! | the send failed | [`unqueue`](Dql::unqueue), before another object is queued |
//! | the device reports completions | [`completed`](Dql::completed), once per batch |
//! | the device reports a level | [`observe_in_flight`](Dql::observe_in_flight) |
//! | a poll found no completion | nothing, or `observe_in_flight`; never `completed(0)` |
//! | the ring was flushed | [`reset`](Dql::reset) |
//! | ledger and device disagree | [`repair`](Dql::repair) |
//!
//! - **Completion devices** (rings, io_uring): call `completed` with the sum of a completion batch.
//!   An error changes nothing and contains the units in flight: the driver completed something
//!   twice.
//! - **Level devices** ("n bytes are outstanding"): `observe_in_flight(n, now_ns)` completes the
//!   difference. An unchanged level is not a sample. The level must be in the units of `queued`.
//!   The send queue of a socket (`SIOCOUTQ`) counts memory: 2,304 bytes for a datagram of 1,472
//!   bytes. Use the largest step over a few sends as the size of one datagram, or count datagrams.
//! - **Pollers**: [`Dql::completed`] and [`Completer::completed`] record 0 units as a sample of an
//!   interval in which nothing was needed. Such samples between the batches of a busy device lower
//!   the limit, down to half. ([`Dynamic`] as a `Limit` ignores a batch of 0 units.) Uneven polls
//!   also make intervals that cannot be compared: put a [`Coalescer`] in front.
//! - **Failed sends**: count the object first and remove it with `unqueue`. An object that is
//!   counted after it was sent might complete before it is counted.
//! - **Empty objects**: `queued(0)` takes no room. A loop `while has_room() { queued(0) }` never
//!   ends: bound it otherwise, or count at least one unit.
//! - **Two threads**: `queued`, `unqueue` on the [`Sender`]; `completed`, `observe_in_flight` on
//!   the [`Completer`]; its `reset` and `repair` take the sender, too. `unqueue` and
//!   `observe_in_flight` together require one lock; see [`Completer::observe_in_flight`].
//! - **32 bits**: everything works without 64-bit atomics. Neither half waits for the other, and an
//!   interrupt handler can read [`Shared::in_flight`]. Targets without atomic exchange have
//!   everything except [`Shared`] and its halves.
//!
//! # Two threads
//! One [`Sender`] and one [`Completer`], each used by one thread at a time. The types enforce this
//! rule. With several senders, put the sender half behind a lock. Neither half waits for the other,
//! and each method documents what the other thread can change.
//!
//! This crate does **not** stop and restart a sender. A sender that stops must set its flag, issue
//! a full fence and check [`Sender::room`] again. A completer must issue a full fence after
//! [`Completer::completed`], before it checks [`Completer::room`] and the flag. Without both fences
//! each can miss the other's write, and the sender sleeps for ever.
//!
//! # Stalls, uneven completions and tasks
//! [`stall::FifoStallDetector`] detects a queue whose oldest unit does not complete. [`Coalescer`]
//! joins completions that come in irregular batches.
//!
//! `tasks::Limiter` (feature `tasks`, needs `std`) is the same limit for tasks:
//! `acquire(units).await` returns a permit, and dropping the permit completes it.
//!
//! # Differences from Linux
//! Defaults, bounds and the rule are those of Linux's byte queue limits; the vectors in
//! `tests/vectors` compare it with recorded behaviour. Intentional differences: a reset corrects
//! the room immediately, and the limit restarts at its lower bound; crossed bounds, over-completion
//! and 2^31 units in flight are rejected.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(any(test, loom, feature = "tasks"))]
extern crate std;

mod bounds;
mod coalescer;
mod config;
pub mod control;
mod counter;
mod dql;
mod dynamic;
mod error;
#[cfg(all(target_has_atomic = "8", target_has_atomic = "32"))]
mod halves;
pub mod ledger;
pub mod limit;
pub mod rate;
pub mod sharing;
mod side;
mod snapshot;
pub mod stall;
#[doc(hidden)]
pub mod sync;
#[cfg(feature = "tasks")]
pub mod tasks;

pub use bounds::{MAX_IN_FLIGHT, MAX_LIMIT, MAX_OBJECT};
pub use coalescer::Coalescer;
pub use config::Config;
pub use counter::check_object;
pub use dql::Dql;
pub use dynamic::Dynamic;
pub use error::Error;
#[cfg(all(target_has_atomic = "8", target_has_atomic = "32"))]
pub use halves::{Completer, Sender, Shared, split};
pub use snapshot::Snapshot;
pub use stall::Stall;

/// The examples of the README, as tests.
#[cfg(all(doctest, feature = "tasks"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
