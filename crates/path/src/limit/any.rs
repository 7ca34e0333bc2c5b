//! A limit chosen at run time, by its name.

use alloc::boxed::Box;
use alloc::string::ToString;
use core::fmt;

use taut_dql::forward_limit;

use super::fixed::Fixed;
use super::loss_budget::LossBudget;
use super::named::NamedLimit;
use super::names::LimitVisitor;
use super::{Dynamic, Limit, Unit};

/// Any rule: the type of a limit that is chosen at run time.
///
/// ```
/// use taut_path::AnyLimit;
/// let limit: AnyLimit = "taut:99.5%".parse()?;
/// assert_eq!(limit.to_string(), "taut:99.5%");
/// assert_eq!("40960".parse::<AnyLimit>()?.to_string(), "40k");
/// # Ok::<(), taut_path::limit::ParseLimitError>(())
/// ```
/// [`LIMITS`](super::LIMITS) lists the names. Limits that adapt can count packets, as in
/// `dql:packets`, see [`PacketUnits`](super::PacketUnits). Each can have a time cap at the end, as
/// in `dql:2ms`, see [`TimeCapped`](super::TimeCapped). [`new`](Self::new) wraps a limit of another
/// crate.
#[derive(Debug)]
pub struct AnyLimit(Box<dyn NamedLimit>);

impl AnyLimit {
    /// Wraps `rule`, which can be of another crate.
    pub fn new(rule: impl NamedLimit + Clone + 'static) -> Self {
        Self(Box::new(rule))
    }

    /// No limit except the ring.
    pub fn off() -> Self {
        Self::new(Fixed::off())
    }

    /// A fixed number of bytes.
    pub fn bytes(limit_bytes: u32) -> Self {
        Self::new(Fixed::bytes(limit_bytes))
    }

    /// A fixed number of packets.
    pub fn packets(depth_packets: u32) -> Self {
        Self::new(Fixed::packets(depth_packets))
    }

    /// Linux's rule: [`Dynamic`].
    pub fn dql() -> Self {
        Self::new(Dynamic::default())
    }

    /// The loss budget: [`LossBudget`].
    pub fn taut() -> Self {
        Self::new(LossBudget::default())
    }

    /// Returns `true` for no limit.
    pub fn is_off(&self) -> bool {
        *self == Self::off()
    }
}

impl Default for AnyLimit {
    /// Linux's rule, the best-known default.
    fn default() -> Self {
        Self::dql()
    }
}

impl Clone for AnyLimit {
    fn clone(&self) -> Self {
        Self(self.0.clone_named())
    }
}

/// Two rules with the same text are equal.
impl PartialEq for AnyLimit {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl Eq for AnyLimit {}

impl fmt::Display for AnyLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Limit for AnyLimit {
    fn unit(&self) -> Unit {
        self.0.unit()
    }

    forward_limit!(self => *self.0);
}

/// Moves a limit to the heap.
pub(crate) struct Boxed;

impl LimitVisitor for Boxed {
    type Output = AnyLimit;

    fn visit<L: NamedLimit + Clone + 'static>(self, limit: L) -> AnyLimit {
        AnyLimit::new(limit)
    }
}
