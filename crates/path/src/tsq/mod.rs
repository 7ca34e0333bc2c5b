//! TCP small queues: a budget for each flow over everything below its socket (the discipline and
//! the device together), charged in memory.
//!
//! ```text
//! owner:  Flow::may_send -> Charges::charge -> Queue::enqueue      (no room: the flow is throttled)
//! queue:  the packet ends -> ReleasingSink releases its charge -> the flow is on a deferred list
//! runner: Budgets::run_deferred -> the owner's send, or left to an owner that is at work
//! ```
//!
//! Neither the packet nor the queue takes part. [`Charges`] keeps the charge of each packet by its
//! frame. [`ReleasingSink`] wraps the sink of the caller and releases the charge when the packet
//! ends: at a reap, on a drop in a discipline, on a flush, on a completion of a packet sent before a
//! reset. A frame has one charge at a time, so no charge is released twice.
//!
//! The completion does not wake the flow: it might run within a call of the sender, and the flow
//! would then send from within that call. The flow is put on a deferred list, one for each sending
//! thread.
//!
//! ```
//! use std::task::Waker;
//! use taut_path::pool::FramePool;
//! use taut_path::tsq::{Budgets, ReleasingSink, SendRequest, Settings, memory_bytes};
//!
//! let mut pool = FramePool::new(16, 2048);
//! let budgets = Budgets::new(1, Settings::default(), &[Waker::noop().clone()])?;
//! let charges = budgets.charges(pool.frames());
//! let flow = budgets.open(7, 0)?;
//!
//! let charge_bytes = memory_bytes(1_514, None);
//! let request = SendRequest { packet_bytes: charge_bytes, rate_bytes_per_s: 0 };
//! assert!(flow.may_send(request));
//! let packet = pool.packet(&[0; 1_514])?.with_memory(charge_bytes);
//! charges.charge(&flow, &packet);
//! assert_eq!(flow.snapshot().charged_bytes, 2_304);
//!
//! // The queue passes the packet to this sink when it ends.
//! let mut sink = ReleasingSink::new(&charges, &mut pool);
//! # use taut_path::PacketSink;
//! # sink.freed(packet);
//! assert_eq!(flow.snapshot().charged_bytes, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/small_queues.rs` has many flows over one device.

mod account;
mod budgets;
mod charges;
mod deferred;
mod flow;
mod owner_lock;

pub use budgets::{Budgets, BudgetsError, MAX_FLOWS};
pub use charges::{Charges, ReleasingSink, memory_bytes};
pub use flow::{Flow, FlowSnapshot, SendRequest};
pub use owner_lock::OwnerLock;

/// The limit of 2012, in bytes of memory: 56 packets of 1,514 bytes.
pub const LIMIT_2012_BYTES: u32 = 128 << 10;

/// What the rate-based rule lets a flow have below its socket, in time at its pacing rate: about
/// two rounds of a host's interrupts and schedulers, and too short for anyone to notice.
pub const RATE_TIME_NS: u32 = 1_000_000;

/// How the limit of a flow follows from the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizing {
    /// The limit as it is.
    Fixed,
    /// What the flow's pacing rate sends in `time_ns` (1 or more), at least two packets, and never
    /// more than the limit.
    Rate {
        /// See [`RATE_TIME_NS`].
        time_ns: u32,
    },
}

/// The global setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// How the limit is used.
    pub sizing: Sizing,
    /// `tcp_limit_output_bytes`: memory that a flow may have below its socket. It sends while it
    /// is charged no more than this, so one packet may exceed it. [`u32::MAX`] limits nothing.
    pub limit_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            sizing: Sizing::Fixed,
            limit_bytes: LIMIT_2012_BYTES,
        }
    }
}

impl Settings {
    /// No flow is held back.
    pub const OFF: Self = Self {
        sizing: Sizing::Fixed,
        limit_bytes: u32::MAX,
    };
}

/// What happened to all flows of a table since it was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Times that a flow was held back.
    pub throttled: u64,
    /// Times that a flow was put on a deferred list.
    pub deferred: u64,
    /// Times that the run of a deferred flow was left to an owner that was at work.
    pub deferred_to_owner: u64,
}
