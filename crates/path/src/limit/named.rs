//! The trait of limits with a name.

use alloc::boxed::Box;
use core::fmt;

use taut_dql::Dynamic;
use taut_dql::limit::Limit;

use super::utilisation::ParseUtilisationError;

/// A limit that [`AnyLimit`](super::AnyLimit) can hold. `Display` writes the text that it is parsed
/// from. Every limit with the traits below is one.
pub trait NamedLimit: Limit + fmt::Display + fmt::Debug + Send + Sync {
    /// Returns a clone on the heap.
    fn clone_named(&self) -> Box<dyn NamedLimit>;
}

impl<L> NamedLimit for L
where
    L: Limit + fmt::Display + fmt::Debug + Clone + Send + Sync + 'static,
{
    fn clone_named(&self) -> Box<dyn NamedLimit> {
        Box::new(self.clone())
    }
}

/// The name of a limit, and its help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitInfo {
    /// The name; its argument follows a colon.
    pub name: &'static str,
    /// The name with its argument, as in help texts.
    pub usage: &'static str,
    /// The limit, in one line.
    pub help: &'static str,
    /// The limit adapts: it is computed from completions, and can count packets instead of bytes.
    pub adapts: bool,
}

/// A limit of this crate that has a name. The name alone is its default.
pub(super) trait BuiltinLimit: NamedLimit + Clone + Default + 'static {
    const INFO: LimitInfo;

    /// Creates the limit from the text behind its name and a colon; `None` if it has no argument.
    fn with_argument(argument: &str) -> Option<Result<Self, ParseUtilisationError>> {
        let _ = argument;
        None
    }
}

impl BuiltinLimit for Dynamic {
    const INFO: LimitInfo = LimitInfo {
        name: "dql",
        usage: "dql",
        help: "Linux's rule, byte queue limits",
        adapts: true,
    };
}
