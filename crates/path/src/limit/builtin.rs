//! The built-in limits and their names.

use alloc::string::String;

use super::any::NamedLimit;
use super::parse::{Argument, Spec, parse_number};
use super::{Dynamic, Fixed, Ladder, Need, ParseLimitError};

/// The name of a limit and what it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitInfo {
    /// The name; what follows a colon is its argument.
    pub name: &'static str,
    /// How it is spelled, with its argument.
    pub usage: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    /// The limit learns from completions, so that it can count packets in place of bytes.
    pub learns: bool,
}

/// A limit of this crate that has a name.
pub(super) trait BuiltinLimit: NamedLimit + Clone + 'static {
    const INFO: LimitInfo;

    /// Creates the limit from the argument behind its name.
    fn parse(argument: Argument<'_>) -> Result<Self, ParseLimitError>;
}

/// Receives a limit as a value of its own type, see [`visit_limit`].
pub trait LimitVisitor {
    /// What it makes of the limit.
    type Output;

    /// Receives the limit.
    fn visit<L: NamedLimit + Clone + 'static>(self, limit: L) -> Self::Output;
}

/// Lists the types and creates the one that a name belongs to.
macro_rules! limits {
    ($($limit:ty,)*) => {
        /// The built-in limits with a name, in the order of help texts.
        pub const LIMITS: &[LimitInfo] = &[$(<$limit>::INFO),*];

        /// Parses `spec`, such as `taut:99.5%` or `dql:packets:2ms`, and passes the limit to `visitor`
        /// as a value of its own type. It allocates nothing. [`AnyLimit`](super::AnyLimit) is one
        /// visitor; another places the limit in memory of a caller.
        ///
        /// # Errors
        /// If `spec` is not a limit of this crate.
        pub fn visit_limit<V: LimitVisitor>(
            spec: &str,
            visitor: V,
        ) -> Result<V::Output, ParseLimitError> {
            let spec = Spec::split(spec);
            $(if spec.name == <$limit>::INFO.name {
                let limit = <$limit>::parse(spec.argument)?;
                return spec.visit(limit, <$limit>::INFO.learns, visitor);
            })*
            spec.visit(parse_number(spec.rule)?, false, visitor)
        }
    };
}

// One line for each limit. Its file implements `BuiltinLimit`.
limits! {
    Fixed,
    Dynamic,
    Ladder,
    Need,
}

impl BuiltinLimit for Dynamic {
    const INFO: LimitInfo = LimitInfo {
        name: "dql",
        usage: "dql",
        help: "Linux's rule, byte queue limits",
        learns: true,
    };

    fn parse(argument: Argument<'_>) -> Result<Self, ParseLimitError> {
        argument.none().map(|()| Self::default())
    }
}

/// Help text for [`LIMITS`] and for limits that are spelled as a number, one line for each.
pub fn limits_help() -> String {
    let mut text = String::new();
    for limit in LIMITS {
        text += &alloc::format!("  {:<13} {}\n", limit.usage, limit.help);
    }
    let learning = Learning(", ", " or ");
    text + &alloc::format!(
        "  40k, 1500     a fixed number of bytes\n  32p           a fixed number of packets\n  \
         RULE:packets  {learning}, counting packets in place of bytes (dql:packets)\n  \
         RULE:TIME     any of them, and never more than the link sends in a time (dql:2ms)"
    )
}

/// Writes the names of the limits that learn, with these separators.
pub(super) struct Learning(pub &'static str, pub &'static str);

impl core::fmt::Display for Learning {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let learning = || LIMITS.iter().filter(|limit| limit.learns);
        let last = learning().count() - 1;
        for (index, limit) in learning().enumerate() {
            let separator = match index {
                0 => "",
                _ if index == last => self.1,
                _ => self.0,
            };
            write!(f, "{separator}{}", limit.name)?;
        }
        Ok(())
    }
}
