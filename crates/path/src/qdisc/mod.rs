//! Queueing disciplines and their names.
//!
//! The trait is [`Qdisc`]. [`DISCIPLINES`] is the table of those with a name.

mod any;
mod bounded_ring;
mod codel;
mod codel_state;
mod fifo;
mod fq_codel;
mod parameters;
mod pfifo_fast;
mod seam;
mod shaped;
mod table;

pub use crate::registry::{by_name, marks_ecn};
pub use any::AnyQdisc;
pub use codel::Codel;
pub use codel_state::CodelConfig;
pub use fifo::Fifo;
pub use fq_codel::{FqCodel, FqCodelConfig};
pub use parameters::ParseQdiscError;
pub use pfifo_fast::{BandLimit, PfifoFast};
pub use seam::{Backlog, Burst, Qdisc, RequeueSupport};
pub use shaped::Shaped;
pub(crate) use table::builtin_qdisc;
pub use table::{DISCIPLINES, QdiscInfo};
