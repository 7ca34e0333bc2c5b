//! What if: the traffic of a trace under another rule.
//!
//! [`Traffic`] is what a queue of a trace was given and how its device told of it; [`replay`] gives
//! the same to a transmit queue with another limit. It is open-loop: the senders do not react to
//! what the rule changes, so bytes in the ring can be compared, and throughput or latency at the
//! senders cannot.

mod run;
mod traffic;

pub use run::{Replayed, replay};
pub use traffic::{Arrival, Round, Traffic, TrafficError, read};

#[cfg(test)]
mod tests;
