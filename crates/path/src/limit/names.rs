//! The table of limits and their text: a name with an argument or a number, then the unit, then a
//! cap in time.

use alloc::format;
use alloc::string::String;

use taut_dql::{Dynamic, MAX_LIMIT};

use super::fixed::Fixed;
use super::loss_budget::LossBudget;
use super::named::{BuiltinLimit, LimitInfo, NamedLimit};
use super::packet_units::{PacketUnits, SUFFIX};
use super::time_capped::{TIME_CAP_NS, TimeCapped};
use super::utilisation::ParseUtilisationError;
use crate::units::{self, ParseUnitError};

/// Receives a limit as a value of its own type, see [`visit_limit`].
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

        /// Parses `spec`, such as `taut:99.5%` or `dql:packets:2ms`, and passes the limit to
        /// `visitor` as a value of its own type. It allocates nothing.
        /// [`AnyLimit`](super::AnyLimit) uses one visitor; another places the limit in memory of a
        /// caller.
        ///
        /// # Errors
        /// If `spec` is not a limit of this crate.
        pub fn visit_limit<V: LimitVisitor>(
            spec: &str,
            visitor: V,
        ) -> Result<V::Output, ParseLimitError> {
            let spec = Spec::split(spec);
            $(if spec.name == <$limit>::INFO.name {
                let limit: $limit = with_argument(spec.argument)?;
                return spec.visit(limit, <$limit>::INFO.adapts, visitor);
            })*
            spec.visit(parse_number(spec.rule)?, false, visitor)
        }
    };
}

// One line for each limit. Its file implements `BuiltinLimit`.
limits! {
    Fixed,
    Dynamic,
    LossBudget,
}

fn with_argument<L: BuiltinLimit>(argument: Option<&str>) -> Result<L, ParseLimitError> {
    let Some(argument) = argument else {
        return Ok(L::default());
    };
    let limit = L::with_argument(argument).ok_or(ParseLimitError::NoArgument)?;
    limit.map_err(ParseLimitError::Utilisation)
}

/// The parts of a limit's text.
#[derive(Clone, Copy)]
pub(crate) struct Spec<'a> {
    /// The name with its argument, or a number.
    pub rule: &'a str,
    pub name: &'a str,
    pub argument: Option<&'a str>,
    in_packets: bool,
    cap_ns: Option<u64>,
    /// The cap precedes the unit.
    cap_is_first: bool,
}

impl<'a> Spec<'a> {
    /// Splits `text` into its parts. It rejects nothing.
    pub(crate) fn split(text: &'a str) -> Self {
        let (text, last_cap_ns) = split_cap(text);
        let (text, in_packets) = match text.strip_suffix(SUFFIX) {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (rule, first_cap_ns) = match in_packets {
            true => split_cap(text),
            false => (text, None),
        };
        let (name, argument) = match rule.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (rule, None),
        };
        Self {
            rule,
            name,
            argument,
            in_packets,
            cap_ns: last_cap_ns,
            cap_is_first: first_cap_ns.is_some(),
        }
    }

    /// Returns `true` if nothing follows the name and its argument.
    pub(crate) fn is_plain(&self) -> bool {
        !self.in_packets && self.cap_ns.is_none()
    }

    /// Passes `limit`, in the unit and with the cap of the text, to `visitor`.
    pub(crate) fn visit<L: NamedLimit + Clone + 'static, V: LimitVisitor>(
        self,
        limit: L,
        adapts: bool,
        visitor: V,
    ) -> Result<V::Output, ParseLimitError> {
        if self.cap_is_first {
            return Err(ParseLimitError::AfterCap);
        }
        if self.in_packets && !adapts {
            return Err(ParseLimitError::NotInPackets);
        }
        if self
            .cap_ns
            .is_some_and(|cap_ns| !TIME_CAP_NS.contains(&cap_ns))
        {
            return Err(ParseLimitError::CapOutOfRange);
        }
        Ok(match (self.in_packets, self.cap_ns) {
            (false, None) => visitor.visit(limit),
            (true, None) => visitor.visit(PacketUnits::new(limit)),
            (false, Some(cap_ns)) => visitor.visit(TimeCapped::new(limit, cap_ns)),
            (true, Some(cap_ns)) => visitor.visit(TimeCapped::new(PacketUnits::new(limit), cap_ns)),
        })
    }
}

impl LimitInfo {
    /// As [`visit_limit`], for `rule`, which has this name and no argument: `spec` is the name,
    /// `:packets` if the rule adapts, and a cap in time.
    ///
    /// # Errors
    /// If `spec` is anything else.
    pub fn visit<L: NamedLimit + Clone + 'static, V: LimitVisitor>(
        &self,
        spec: &str,
        rule: L,
        visitor: V,
    ) -> Result<V::Output, ParseLimitError> {
        let parts = Spec::split(spec);
        if parts.name != self.name {
            let message = format!("{spec:?}; allowed: {}", self.usage);
            return Err(ParseLimitError::Registered(message));
        }
        if parts.argument.is_some() {
            return Err(ParseLimitError::NoArgument);
        }
        parts.visit(rule, self.adapts, visitor)
    }
}

/// Removes a trailing time. It is always a cap: no limit has a time as its argument.
fn split_cap(text: &str) -> (&str, Option<u64>) {
    match text.rsplit_once(':') {
        Some((remainder, cap)) => match units::parse_time_ns(cap) {
            Ok(cap_ns) => (remainder, Some(cap_ns)),
            Err(_) => (text, None),
        },
        None => (text, None),
    }
}

/// A fixed limit: packets such as `32p`, or a size.
fn parse_number(text: &str) -> Result<Fixed, ParseLimitError> {
    if let Some(digits) = text.strip_suffix('p')
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        // A number that overflows is out of range too.
        let depth_packets = in_range(digits.parse().unwrap_or(u64::MAX))?;
        return Ok(Fixed::packets(depth_packets));
    }
    let limit_bytes = units::parse_size_bytes(text).map_err(ParseLimitError::Unknown)?;
    in_range(limit_bytes).map(Fixed::bytes)
}

fn in_range(units: u64) -> Result<u32, ParseLimitError> {
    match u32::try_from(units) {
        Ok(units) if (1..=MAX_LIMIT).contains(&units) => Ok(units),
        _ => Err(ParseLimitError::OutOfRange),
    }
}

/// A text is not a limit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseLimitError {
    /// Neither a name nor a number of packets nor a size.
    #[error("{}", unknown(.0))]
    Unknown(ParseUnitError),
    /// The number is outside of 1 to [`MAX_LIMIT`].
    #[error("out of range; {}", allowed())]
    OutOfRange,
    /// The limit has no argument, but one follows its name.
    #[error(
        "this rule takes nothing after its name except :packets and a time cap \
         (1us to 10s, such as in dql:2ms); {}",
        allowed()
    )]
    NoArgument,
    /// The limit does not adapt, so it cannot count packets.
    #[error("only a rule that adapts, such as dql, can count packets; for a fixed number, use 32p")]
    NotInPackets,
    /// The unit follows the time cap.
    #[error("time cap must come last, such as in dql:packets:2ms")]
    AfterCap,
    /// The target utilisation is invalid or out of range.
    #[error("{0}")]
    Utilisation(ParseUtilisationError),
    /// The time of a cap is outside of [`TIME_CAP_NS`].
    #[error("time cap out of range; allowed: 1us to 10s, such as in dql:2ms")]
    CapOutOfRange,
    /// The message of a [registered](crate::Registry) limit, or of a registry.
    #[error("{0}")]
    Registered(String),
}

fn unknown(error: &ParseUnitError) -> String {
    match error.is_no_number() {
        true => format!("unknown limit; {}", allowed()),
        false => format!("{error}; or {}", allowed()),
    }
}

fn allowed() -> String {
    let usages = LIMITS.iter().map(|limit| format!("{}, ", limit.usage));
    let usages: String = usages.collect();
    format!(
        "allowed: {usages}a size such as 40k, or packets such as 32p (1 to {MAX_LIMIT}); :packets \
         can follow a rule that adapts, such as dql, and a cap such as :2ms any limit"
    )
}

/// Returns help for [`LIMITS`] and for limits that are a number, one line for each.
pub(crate) fn builtin_limits_help() -> String {
    let mut text = String::new();
    for limit in LIMITS {
        text += &format!("  {:<13} {}\n", limit.usage, limit.help);
    }
    text + "  40k, 1500     a fixed number of bytes\n  32p           a fixed number of packets\n  \
            RULE:packets  a rule that adapts, counting packets in place of bytes (dql:packets)\n  \
            RULE:TIME     any of them, and never more than the link sends in a time (dql:2ms)"
}
