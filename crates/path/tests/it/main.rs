//! All tests of the crate except the model checks, in one binary, because linking dominates their
//! build time.
#![cfg(not(loom))]
#![allow(
    unused_must_use,
    reason = "a test steps a queue often, and checks its results only where they matter"
)]

mod budget;
mod budget_conservation;
mod buffers;
mod classify;
mod codel;
mod conservation;
mod dequeue_burst;
mod disciplines;
mod driver_faults;
mod early_completion;
mod fq_codel;
mod in_flight;
mod late_segmentation;
mod limit_clock;
mod limit_counted;
mod limit_late_thread;
mod limit_loss_budget;
mod limit_names;
mod limit_rules;
mod limit_rules_change;
mod limit_rules_properties;
mod limit_seam;
mod marks;
mod mock;
mod no_allocation;
mod pool;
mod queue_coalescing;
mod queue_early_completion;
mod queue_faults;
mod queue_many;
mod queue_recovers;
mod queue_settings;
mod queue_stops;
mod rate;
mod registry;
mod segmentation_conservation;
mod segmentation_rate;
mod shaped;
mod support;
mod trace;
mod tsq;
mod tsq_conservation;
mod tunables;
mod two_threads;
mod units;
