//! How a limit is spelled: a name with an argument or a number, then what it counts, then a cap.

use core::fmt;

use taut_dql::MAX_LIMIT;

use super::any::NamedLimit;
use super::builtin::{LIMITS, Learning, LimitVisitor};
use super::in_packets::{InPackets, SUFFIX};
use super::ladder::ParseUtilisationError;
use super::{CAP_NS, Fixed, InTime};
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
    /// The cap stands in front of what is counted.
    cap_is_first: bool,
}

/// What follows the name of a limit and a colon.
#[derive(Clone, Copy)]
pub(crate) struct Argument<'a>(pub Option<&'a str>);

impl Argument<'_> {
    /// For a limit without an argument.
    pub fn none(self) -> Result<(), ParseLimitError> {
        match self.0 {
            None => Ok(()),
            Some(_) => Err(ParseLimitError::NoArgument),
        }
    }
}

impl<'a> Spec<'a> {
    /// Splits `text` into its parts. It rejects nothing.
    pub fn split(text: &'a str) -> Self {
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
    pub fn is_plain(&self) -> bool {
        !self.in_packets && self.cap_ns.is_none()
    }

    /// Passes `limit`, with what the text says of its unit and its cap, to `visitor`.
    pub fn visit<L: NamedLimit + Clone + 'static, V: LimitVisitor>(
        self,
        limit: L,
        learns: bool,
        visitor: V,
    ) -> Result<V::Output, ParseLimitError> {
        if self.cap_is_first {
            return Err(ParseLimitError::AfterCap);
        }
        if self.in_packets && !learns {
            return Err(ParseLimitError::NotInPackets);
        }
        if self.cap_ns.is_some_and(|cap_ns| !CAP_NS.contains(&cap_ns)) {
            return Err(ParseLimitError::CapOutOfRange);
        }
        Ok(match (self.in_packets, self.cap_ns) {
            (false, None) => visitor.visit(limit),
            (true, None) => visitor.visit(InPackets::new(limit)),
            (false, Some(cap_ns)) => visitor.visit(InTime::new(limit, cap_ns)),
            (true, Some(cap_ns)) => visitor.visit(InTime::new(InPackets::new(limit), cap_ns)),
        })
    }
}

/// Takes a time off the end. A trailing time is always a cap: no limit has a time as its argument.
fn split_cap(text: &str) -> (&str, Option<u64>) {
    match text.rsplit_once(':') {
        Some((rest, cap)) => match units::parse_time_ns(cap) {
            Ok(cap_ns) => (rest, Some(cap_ns)),
            Err(_) => (text, None),
        },
        None => (text, None),
    }
}

/// A fixed limit: packets such as `32p`, or a size.
pub(super) fn parse_number(text: &str) -> Result<Fixed, ParseLimitError> {
    if let Some(digits) = text.strip_suffix('p')
        && !digits.is_empty()
        && digits.bytes().all(|byte| byte.is_ascii_digit())
    {
        // Digits that do not fit are out of range like those that do.
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

/// Why a text is not a limit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseLimitError {
    /// Neither a name nor a number of packets nor a size.
    Unknown(ParseUnitError),
    /// The number is outside of 1 to [`MAX_LIMIT`].
    OutOfRange,
    /// The limit has no argument, but one follows its name.
    NoArgument,
    /// A limit that does not learn was to count packets.
    NotInPackets,
    /// What is counted stands behind the cap in time.
    AfterCap,
    /// The target utilisation is not a share, or out of range.
    Utilisation(ParseUtilisationError),
    /// The time of a cap is outside of [`CAP_NS`].
    CapOutOfRange,
    /// The message of a [registered](crate::Registry) limit, or of a registry.
    Registered(alloc::string::String),
}

/// What is spelled as a number.
const NUMBERS: &str = "a size such as 40k, or packets such as 32p";

impl fmt::Display for ParseLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) if error.is_no_number() => f.write_str("unknown limit; ")?,
            Self::Unknown(error) => write!(f, "{error}; or ")?,
            Self::NoArgument => f.write_str(
                "this rule takes nothing after its name but :packets and a cap in time (1us to 10s, \
                 such as in dql:2ms); ",
            )?,
            Self::NotInPackets => {
                return write!(
                    f,
                    "only {} can count packets; a fixed number of them is spelled 32p",
                    Learning(", ", " and ")
                );
            }
            Self::AfterCap => {
                return f.write_str("a cap in time stands last, such as in dql:packets:2ms");
            }
            Self::OutOfRange => f.write_str("out of range; ")?,
            Self::CapOutOfRange => {
                return f.write_str("a cap in time is 1us to 10s, such as in dql:2ms");
            }
            Self::Utilisation(error) => return error.fmt(f),
            Self::Registered(message) => return f.write_str(message),
        }
        f.write_str("allowed are ")?;
        for limit in LIMITS {
            write!(f, "{}, ", limit.usage)?;
        }
        write!(
            f,
            "{NUMBERS} (1 to {MAX_LIMIT}); behind {} :packets, and behind any a cap such as :2ms",
            Learning(", ", " and ")
        )
    }
}

impl core::error::Error for ParseLimitError {}
