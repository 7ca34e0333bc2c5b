//! The text of a limit: a name with an argument or a number, then its unit, then a cap in time.

use alloc::format;
use alloc::string::String;
use core::fmt;

use taut_dql::MAX_LIMIT;

use super::builtin::{LIMITS, LimitVisitor, visit_named};
use super::fixed::Fixed;
use super::named::{Argument, ArgumentError, LimitInfo, NamedLimit};
use super::packet_units::{PacketUnits, SUFFIX};
use super::time_capped::{TIME_CAP_NS, TimeCapped};
use super::utilisation::ParseUtilisationError;
use crate::units::{self, ParseUnitError};

/// The parts of a limit's text.
#[derive(Clone, Copy)]
pub(crate) struct Spec<'a> {
    /// The name with its argument, or a number.
    pub rule: &'a str,
    pub name: &'a str,
    pub argument: Argument<'a>,
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
            argument: Argument(argument),
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

/// Parses `spec`, such as `taut:99.5%` or `dql:packets:2ms`, and passes the limit to `visitor` as a
/// value of its own type. It allocates nothing. [`AnyLimit`](super::AnyLimit) uses one visitor;
/// another places the limit in memory of a caller.
///
/// # Errors
/// If `spec` is not a limit of this crate.
pub fn visit_limit<V: LimitVisitor>(spec: &str, visitor: V) -> Result<V::Output, ParseLimitError> {
    let spec = Spec::split(spec);
    let mut limits = LIMITS.iter();
    let visitor = InForm {
        spec,
        adapts: limits.any(|limit| limit.adapts && limit.name == spec.name),
        visitor,
    };
    match visit_named(spec.name, spec.argument, visitor) {
        Ok(visited) => visited?,
        Err(unused) => spec.visit(parse_number(spec.rule)?, false, unused.visitor),
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
        parts.argument.none()?;
        parts.visit(rule, self.adapts, visitor)
    }
}

/// Passes a limit on in the unit and with the cap of a text.
struct InForm<'a, V> {
    spec: Spec<'a>,
    adapts: bool,
    visitor: V,
}

impl<V: LimitVisitor> LimitVisitor for InForm<'_, V> {
    type Output = Result<V::Output, ParseLimitError>;

    fn visit<L: NamedLimit + Clone + 'static>(self, limit: L) -> Self::Output {
        self.spec.visit(limit, self.adapts, self.visitor)
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

impl From<ArgumentError> for ParseLimitError {
    fn from(error: ArgumentError) -> Self {
        match error {
            ArgumentError::NoArgument => Self::NoArgument,
            ArgumentError::Utilisation(error) => Self::Utilisation(error),
        }
    }
}

/// A text is not a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseLimitError {
    /// Neither a name nor a number of packets nor a size.
    Unknown(ParseUnitError),
    /// The number is outside of 1 to [`MAX_LIMIT`].
    OutOfRange,
    /// The limit has no argument, but one follows its name.
    NoArgument,
    /// The limit does not adapt, so it cannot count packets.
    NotInPackets,
    /// The unit follows the time cap.
    AfterCap,
    /// The target utilisation is invalid or out of range.
    Utilisation(ParseUtilisationError),
    /// The time of a cap is outside of [`TIME_CAP_NS`].
    CapOutOfRange,
    /// The message of a [registered](crate::Registry) limit, or of a registry.
    Registered(String),
}

/// Limits that are a number.
const NUMBERS: &str = "a size such as 40k, or packets such as 32p";

impl fmt::Display for ParseLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) if error.is_no_number() => f.write_str("unknown limit; ")?,
            Self::Unknown(error) => write!(f, "{error}; or ")?,
            Self::NoArgument => f.write_str(
                "this rule takes nothing after its name except :packets and a time cap \
                 (1us to 10s, such as in dql:2ms); ",
            )?,
            Self::NotInPackets => {
                return write!(
                    f,
                    "only {} can count packets; for a fixed number, use 32p",
                    Adapting(", ", " and ")
                );
            }
            Self::AfterCap => {
                return f.write_str("time cap must come last, such as in dql:packets:2ms");
            }
            Self::OutOfRange => f.write_str("out of range; ")?,
            Self::CapOutOfRange => {
                return f
                    .write_str("time cap out of range; allowed: 1us to 10s, such as in dql:2ms");
            }
            Self::Utilisation(error) => return error.fmt(f),
            Self::Registered(message) => return f.write_str(message),
        }
        f.write_str("allowed: ")?;
        for limit in LIMITS {
            write!(f, "{}, ", limit.usage)?;
        }
        write!(
            f,
            "{NUMBERS} (1 to {MAX_LIMIT}); behind {} :packets, and behind any a cap such as :2ms",
            Adapting(", ", " and ")
        )
    }
}

impl core::error::Error for ParseLimitError {}

/// Returns help for [`LIMITS`] and for limits that are a number, one line for each.
pub(crate) fn builtin_limits_help() -> String {
    let mut text = String::new();
    for limit in LIMITS {
        text += &format!("  {:<13} {}\n", limit.usage, limit.help);
    }
    let adapting = Adapting(", ", " or ");
    text + &format!(
        "  40k, 1500     a fixed number of bytes\n  32p           a fixed number of packets\n  \
         RULE:packets  {adapting}, counting packets in place of bytes (dql:packets)\n  \
         RULE:TIME     any of them, and never more than the link sends in a time (dql:2ms)"
    )
}

/// Writes the names of the limits that adapt, with these separators.
struct Adapting(&'static str, &'static str);

impl fmt::Display for Adapting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let adapting = || LIMITS.iter().filter(|limit| limit.adapts);
        let last = adapting().count() - 1;
        for (index, limit) in adapting().enumerate() {
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
