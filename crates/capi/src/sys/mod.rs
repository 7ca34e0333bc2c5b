//! The whole interface. Every function here takes pointers of C, so all unsafe code is here.
//!
//! For each function: a pointer is null (and rejected), or points to the type in its declaration,
//! and no two calls for one object run at the same time.

mod coalescer;
mod dql;
#[cfg(feature = "queue")]
mod frame_sink;
mod halves;
mod layout;
#[cfg(feature = "queue")]
mod limit;
#[cfg(feature = "queue")]
mod limit_functions;
#[cfg(feature = "queue")]
mod limit_register;
#[cfg(feature = "queue")]
mod options;
#[cfg(feature = "queue")]
mod own_limit;
mod placed;
#[cfg(feature = "queue")]
mod queue;
#[cfg(feature = "queue")]
mod queue_handle;
#[cfg(feature = "queue")]
mod queue_results;
#[cfg(feature = "queue")]
mod queue_table;
#[cfg(feature = "queue")]
mod ring;
mod snapshot;
mod stall;
mod status;
#[cfg(feature = "queue")]
mod text;

pub use coalescer::*;
pub use dql::*;
#[cfg(feature = "queue")]
pub use frame_sink::{
    Sink, TAUT_OUTCOME_COMPLETED, TAUT_OUTCOME_IN_RING, TAUT_OUTCOME_UNKNOWN_COMPLETION,
    TAUT_OUTCOMES, taut_outcome_text,
};
pub use halves::*;
#[cfg(feature = "queue")]
pub use limit::*;
#[cfg(feature = "queue")]
pub use limit_functions::*;
#[cfg(feature = "queue")]
pub use limit_register::{TAUT_LIMIT_STATE_BYTES_MAX, taut_limit_help, taut_limit_register};
#[cfg(feature = "queue")]
pub use options::*;
#[cfg(feature = "queue")]
pub use own_limit::{LimitBatch, LimitFunctions};
#[cfg(feature = "queue")]
pub use queue::*;
#[cfg(feature = "queue")]
pub use queue_results::*;
#[cfg(feature = "queue")]
pub use queue_table::Handle;
#[cfg(feature = "queue")]
pub use ring::{Packet, Ring};
pub use snapshot::{Config, Snapshot, TAUT_LIMIT_MAX};
pub use stall::*;
pub use status::{
    Status, TAUT_VERSION_MAJOR, TAUT_VERSION_MINOR, TAUT_VERSION_NUMBER, TAUT_VERSION_PATCH,
    taut_status_text, taut_version, taut_version_number,
};
