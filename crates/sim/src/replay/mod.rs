//! Replays the traffic of a trace under another limit.
//!
//! [`Traffic`] contains the packets of a recorded queue and the completion times of its device.
//! [`replay`] passes both to a transmit queue with another limit. The replay is open-loop, because
//! the senders do not react to the rule. Bytes in the ring can therefore be compared; throughput
//! and latency at the senders cannot.

mod run;
mod traffic;

pub use run::{Replayed, replay};
pub use traffic::{Arrival, Batch, Traffic, TrafficError, read};

#[cfg(test)]
mod tests;
