//! A QUIC stack under load: bulk data, and requests of 100 bytes on the same endpoint.

mod delay;
mod load;
mod options;
mod world;

pub use load::{Measured, PATIENCE, REQUEST_BYTES, WARM_UP, measure};
pub use options::{Fault, LimitName, Options, run};
pub use world::World;
