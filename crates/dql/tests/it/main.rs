//! All tests of this crate except the model checks (`tests/models`), in one binary.

mod behaviour;
mod coalescer;
mod conformance;
mod faults;
mod fifo_stalls;
mod halves;
mod limiter;
mod model;
#[path = "../../examples/support/player.rs"]
mod player;
mod properties;
#[path = "../../examples/support/queue.rs"]
mod queue;
mod repair;
mod rule;
mod small_states;
mod steady_state;
