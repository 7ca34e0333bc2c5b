//! TCP small queues: a budget for each flow over everything below its socket (the discipline and
//! the device together), charged in memory.
//!
//! ```text
//! owner:  Flow::may_send -> Charges::charge -> Queue::enqueue    (no room: the flow is throttled)
//! queue:  the packet ends -> ReleasingSink releases its charge -> the flow is on the deferred list
//! runner: FlowBudgets::run_deferred -> the owner's send, or left to an owner that has the lock
//! ```
//!
//! Neither the packet nor the queue takes part. [`Charges`] keeps the charge of each packet by its
//! frame. [`ReleasingSink`] wraps the sink of the caller and releases the charge when the packet
//! ends. A packet ends at a reap (stale packets included), a drop or a flush. A frame has one
//! charge at a time, so no charge is released twice.
//!
//! The completion does not wake the flow: it might run within a call of the sender, and the flow
//! would then send from within that call. The flow is put on the deferred list of its table. Use a
//! table for each thread that runs flows.
//!
//! ```
//! use taut_path::pool::FramePool;
//! use taut_path::tsq::{FlowBudgets, ReleasingSink, SendRequest, Settings, memory_bytes};
//!
//! let mut pool = FramePool::new(16, 2048);
//! let budgets = FlowBudgets::new(1, Settings::default())?;
//! let charges = budgets.charges(pool.frames());
//! let flow = budgets.open(7)?;
//!
//! let charge_bytes = memory_bytes(1_514, None);
//! let request = SendRequest { packet_bytes: charge_bytes, rate_bytes_per_s: 0 };
//! assert!(flow.may_send(request));
//! let packet = pool.packet(&[0; 1_514])?.with_charge(charge_bytes);
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

mod account;
mod charges;
mod flow;
mod flow_budgets;
mod owner_lock;
mod settings;

pub use charges::{Charges, ReleasingSink, memory_bytes};
pub use flow::{Flow, FlowSnapshot};
pub use flow_budgets::{FlowBudgets, FlowBudgetsError, MAX_FLOWS};
pub use settings::{LIMIT_2012_BYTES, RATE_TIME_NS, SendRequest, Settings, Sizing, Totals};
