//! The rules that set the limit, and their names.
//!
//! A rule implements [`Limit`]: it receives a record of each completion batch and returns the new
//! limit. The queue counts the units for it.
//!
//! | name | type |
//! |---|---|
//! | `off`, `40k`, `32p` | [`Fixed`] |
//! | `dql` | [`Dynamic`], Linux's rule |
//! | `taut`, `taut:99.5%` | [`LossBudget`] |
//! | `dql:packets` | [`PacketUnits`] around any rule that adapts |
//! | `dql:2ms` | [`TimeCapped`] around any rule |

mod any;
mod fixed;
mod loss_budget;
mod named;
mod names;
mod packet_units;
mod standalone;
mod time_capped;
mod utilisation;

pub use crate::registry::limits_help;
pub use any::AnyLimit;
pub(crate) use any::Boxed;
pub use fixed::Fixed;
pub use loss_budget::LossBudget;
pub use named::{LimitInfo, NamedLimit};
pub use names::{LIMITS, LimitVisitor, ParseLimitError, visit_limit};
pub(crate) use names::{Spec, builtin_limits_help};
pub use packet_units::PacketUnits;
pub use standalone::StandaloneLimit;
pub use taut_dql::Dynamic;
pub use taut_dql::limit::{CompletionBatch, Limit, Needs, Unit};
pub use time_capped::{TIME_CAP_NS, TimeCapped};
pub use utilisation::{ParseUtilisationError, Utilisation};

/// The completions of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompletedCounts {
    /// Packets completed.
    pub packets: u32,
    /// Their bytes, as they were queued.
    pub bytes: u32,
}
