//! The whole interface. Every function here takes pointers of C, so all unsafe code is here.
//!
//! For each function: a pointer is null (and rejected), or points to the type in its declaration,
//! and no two calls for one object run at the same time.

mod coalescer;
mod dql;
mod halves;
mod layout;
mod placed;
#[cfg(feature = "queue")]
mod queue;
mod snapshot;
mod stall;
mod status;

pub use coalescer::*;
pub use dql::*;
pub use halves::*;
#[cfg(feature = "queue")]
pub use queue::*;
pub use snapshot::*;
pub use stall::*;
pub use status::*;
