//! TCP small queues: a budget for each flow over everything below its socket, the discipline and
//! the device together, charged in memory.
//!
//! ```text
//! owner:    may_send -> charge -> packet goes down         (no room: throttled, not blocked)
//! anywhere: the packet ends -> its Charge is dropped -> budget back, flow on a deferred list
//! runner:   run_deferred -> the owner's own send, or left to an owner who is busy
//! ```
//!
//! A [`Charge`] travels in its packet and gives the budget back when it is dropped: at a reap, on a
//! drop in a discipline, on a flush, on a completion of before a reset. Nobody can give it back
//! twice, and nobody can forget it.
//!
//! A flow is not woken inside the completion: a completion may run within a sender's call, and
//! waking would send from within it. It is put on a deferred list, one for each sending thread.

mod account;
mod budgets;
mod charge;
mod deferred;
mod flow;
mod hold;

pub(crate) use account::Account;
pub use budgets::{Budgets, BudgetsError, MAX_FLOWS};
pub use charge::{Charge, memory_bytes};
pub use flow::{Ask, Flow, FlowSnapshot};
pub use hold::Hold;

/// The limit of 2012, in bytes of memory: 56 packets of 1,514 bytes.
pub const LIMIT_2012_BYTES: u32 = 128 << 10;

/// What the rate-based rule lets a flow have below its socket, in time at its pacing rate: about
/// two rounds of a host's interrupts and schedulers, and too short for anyone to notice.
pub const RATE_TIME_NS: u32 = 1_000_000;

/// How much a flow may have below its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
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
    pub rule: Rule,
    /// `tcp_limit_output_bytes`: memory that a flow may have below its socket. It sends while it
    /// is charged no more than this, so one packet may exceed it. [`u32::MAX`] limits nothing.
    pub limit_bytes: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            rule: Rule::Fixed,
            limit_bytes: LIMIT_2012_BYTES,
        }
    }
}

impl Settings {
    /// No flow is held back.
    pub const OFF: Self = Self {
        rule: Rule::Fixed,
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
    /// Times that the run of a deferred flow was left to an owner who was busy.
    pub left_to_owner: u64,
}
