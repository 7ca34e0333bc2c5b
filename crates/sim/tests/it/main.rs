//! All integration tests of the crate in one binary, which saves linking time.

mod consumer;
mod lateness;
mod nic_descriptors;
mod nic_interrupts;
mod nic_outages;
mod nic_wire;
mod outages;
mod pattern_runs;
mod s1;
mod saturated;
mod settings;
mod support;
mod tcp_closed_forms;
mod tcp_delivery;
mod tcp_receiver;
mod tcp_recovery;
mod tcp_sender;
mod tcp_support;
mod trace_rules;
mod world_ecn;
mod world_fairness;
mod world_faults;
mod world_small_queues;
mod world_support;
mod world_turns;
