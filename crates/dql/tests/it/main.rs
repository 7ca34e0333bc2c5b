//! All tests of this crate except the model checks (`tests/models`), in one binary.

/// Makes a test of each variant from one that is generic.
macro_rules! both_variants {
    ($($name:ident),* $(,)?) => {
        mod owned { $(#[test] fn $name() { super::$name::<taut_dql::Dql>(); })* }
        mod two_threads { $(#[test] fn $name() { super::$name::<crate::queue::Halves>(); })* }
    };
}

mod behaviour;
mod coalescer;
mod conformance;
mod faults;
mod fifo_stalls;
mod halves;
mod limiter;
mod model;
mod properties;
mod queue;
mod rule;
mod small_states;
mod steady_state;
