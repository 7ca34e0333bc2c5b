//! Byte queue limits for any ring: how much to have in flight so that a device never runs dry,
//! and no more, measured from what it completes.
//!
//! ```
//! let mut dql = taut_dql::Dql::new(0);
//! while dql.has_room() {
//!     dql.queued(1514)?; // before the device can see the packet
//! }
//! dql.completed(1514, 100_000)?; // once a round of completions: units and nanoseconds
//! assert_eq!((dql.limit(), dql.in_flight(), dql.has_room()), (1514, 0, true));
//! # Ok::<(), taut_dql::Error>(())
//! ```
//!
//! The limit follows the device: about twice what it completes in one interval. It grows when the
//! device ran dry while the sender was held back, and is cut when for a whole *hold time* more was
//! queued than was needed. It is soft: a queue may exceed it by one object.
//!
//! # Units
//! Count what the device spends its time on. Bytes for a link; packets for a device whose cost is
//! per packet; requests for a disk or a service. One queue counts in one unit, with objects of at
//! most [`MAX_OBJECT`].
//!
//! # Which variant
//! [`Dql`] when one thread (or one lock) queues and completes. [`split`] a [`Shared`] when one
//! thread queues and another completes: same rule, same snapshot. [`Dynamic`] is the rule alone, and
//! [`ledger`] the totals alone. [`control::Control`] applies any other [`limit::Limit`] to a ledger.
//!
//! # Which method when
//! | What happened | Call |
//! |---|---|
//! | an object goes to the device next | [`queued`](Dql::queued), before the device can see it |
//! | may one more go? | [`has_room`](Dql::has_room), after each object |
//! | the send failed | [`unqueue`](Dql::unqueue), before anything else is queued |
//! | the device says what it finished | [`completed`](Dql::completed), once a round |
//! | the device says what is outstanding | [`observe_in_flight`](Dql::observe_in_flight) |
//! | a poller found nothing finished | nothing, or `observe_in_flight`; never `completed(0)` |
//! | the ring was flushed | [`reset`](Dql::reset) |
//! | the ledger does not agree with the device | [`repair`](Dql::repair) |
//!
//! - **Completion devices** (rings, io_uring): add up a round and call `completed` with the sum. An
//!   error has changed nothing, and says what was in flight: the driver completed something twice.
//! - **Level devices** ("n bytes are outstanding"): `observe_in_flight(n, now_ns)` completes the
//!   difference. With nothing new it is no sample. The level must be in the units of `queued`: a
//!   socket's send queue (`SIOCOUTQ`) tells memory, 2,304 for a datagram of 1,472 bytes; take the
//!   largest step over a few sends as the size of one, or count datagrams.
//! - **Pollers**: a `completed(0)` is a sample of an interval in which nothing was needed. Polling
//!   every 10 us with it halves a limit. Uneven polls also make intervals that cannot be compared:
//!   put a [`Coalescer`] between.
//! - **Failed sends**: count first and take back with `unqueue`, since an object that is counted
//!   only after it was sent can be completed before it is counted.
//! - **Empty objects**: `queued(0)` takes no room. A loop `while has_room() { queued(0) }` never
//!   ends: bound it by something else, or count at least one unit.
//! - **Two threads**: `queued`, `unqueue` on the [`Sender`]; `completed`, `observe_in_flight` on
//!   the [`Completer`]; [`reset`] and [`repair`] take both halves. `unqueue` and
//!   `observe_in_flight` together want one lock; see [`Completer::observe_in_flight`].
//! - **32 bits**: all of it works without 64-bit atomics. Neither half waits for the other, and an
//!   observer may be an interrupt handler; see [`Shared::snapshot`]. Targets without any atomic
//!   exchange have [`Dql`] only.
//!
//! # Two threads
//! The rule: one [`Sender`], one [`Completer`], each used by one thread at a time. The types
//! enforce it; whoever has several senders must put the one half behind a lock of theirs.
//! Neither half waits for the other, and each method says what the other thread may change.
//!
//! Stopping a sender and starting it again is **not** done here: a sender that stops must write its
//! flag, issue a full fence and ask [`Sender::room`] again; a completer must issue a full fence
//! after [`Completer::completed`] before it looks at [`Completer::room`] and the flag. Without both
//! fences each can miss the other's write, and the sender sleeps for ever.
//!
//! # Beside the limit
//! [`stall::FifoStallDetector`] detects a queue whose oldest unit does not complete;
//! [`Coalescer`] evens out completions that come in irregular batches.
//!
//! `tasks::Limiter` (feature `tasks`, needs `std`) is the same limit for tasks:
//! `acquire(units).await` gives a permit, and dropping the permit completes it.
//!
//! # Where the numbers come from
//! Defaults, bounds and the rule are those that users of Linux's byte queue limits know, held to
//! recorded behaviour by the vectors in `tests/vectors`. On purpose different: a reset makes the
//! room right at once; bounds that cross, over-completion and 2^31 units in flight are refused.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

#[cfg(feature = "alloc")]
extern crate alloc;
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
#[cfg(all(target_has_atomic = "8", target_has_atomic = "32"))]
mod shared;
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
pub use halves::{Completer, Sender, repair, reset, split};

#[cfg(all(target_has_atomic = "8", target_has_atomic = "32"))]
pub use shared::Shared;
pub use snapshot::Snapshot;
pub use stall::Stall;

/// The examples of the README, as tests.
#[cfg(all(doctest, feature = "tasks"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
