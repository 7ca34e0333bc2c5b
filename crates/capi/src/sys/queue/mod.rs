//! Limits by name and the whole queue, which need `std`.

mod build;
mod callbacks;
mod calls;
mod classify;
mod frame_sink;
mod limit;
mod limit_register;
mod options;
mod placed_limit;
mod results;
mod ring;
mod table;
mod text;

pub use callbacks::{LimitBatch, LimitFunctions, TAUT_LIMIT_STATE_BYTES_MAX};
pub use calls::*;
pub use classify::{taut_classify, taut_mark_congestion};
pub use frame_sink::{
    Sink, TAUT_OUTCOME_COMPLETED, TAUT_OUTCOME_IN_RING, TAUT_OUTCOME_UNKNOWN_COMPLETION,
    TAUT_OUTCOMES, taut_outcome_text,
};
pub use limit::*;
pub use limit_register::{taut_limit_help, taut_limit_register};
pub use options::*;
pub use placed_limit::{Limit, TAUT_LIMIT_BYTES_MAX};
pub use results::*;
pub use ring::{Packet, Ring};
pub use table::Handle;
