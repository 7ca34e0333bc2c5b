//! The table of limits.

use taut_dql::Dynamic;

use super::fixed::Fixed;
use super::loss_budget::LossBudget;
use super::named::{Argument, ArgumentError, BuiltinLimit, LimitInfo, NamedLimit};

/// Receives a limit as a value of its own type, see [`visit_limit`](super::visit_limit).
pub trait LimitVisitor {
    /// The result of a visit.
    type Output;

    /// Visits a limit, with its own type.
    fn visit<L: NamedLimit + Clone + 'static>(self, limit: L) -> Self::Output;
}

/// Lists the types and creates the one that a name belongs to.
macro_rules! limits {
    ($($limit:ty,)*) => {
        /// The limits of this crate with a name, in the order of help texts.
        pub const LIMITS: &[LimitInfo] = &[$(<$limit>::INFO),*];

        /// Creates the limit with this name. Returns the visitor if there is none.
        pub(super) fn visit_named<V: LimitVisitor>(
            name: &str,
            argument: Argument<'_>,
            visitor: V,
        ) -> Result<Result<V::Output, ArgumentError>, V> {
            $(if name == <$limit>::INFO.name {
                return Ok(<$limit>::parse(argument).map(|limit| visitor.visit(limit)));
            })*
            Err(visitor)
        }
    };
}

// One line for each limit. Its file implements `BuiltinLimit`.
limits! {
    Fixed,
    Dynamic,
    LossBudget,
}
