//! The names under which limits are chosen.

use core::fmt;
use core::str::FromStr;

use taut_dql::MAX_LIMIT;

use super::ladder::ParseUtilisationError;
use super::{Dynamic, Fixed, Ladder, Limit, Need, Utilisation};
use crate::units::{self, ParseUnitError};

/// Which limit holds a queue back, as it is spelled on a command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitSpec {
    /// `off`: only the ring.
    Off,
    /// A size (`40k`): a fixed number of bytes.
    Bytes(u32),
    /// A number followed by `p` (`32p`): a fixed number of packets.
    Packets(u32),
    /// `dql`: Linux's rule.
    Dynamic,
    /// `need`: the largest need of the last second.
    Need,
    /// `ladder`: the debt ladder, with what it promises (`ladder:99.5%`; 99.9 % if not said).
    Ladder(Utilisation),
    /// `taut`: the best rule that this project knows, with what it promises (`taut:99.5%`).
    Taut(Utilisation),
}

/// Does something with whichever limit was chosen by name: a rule is a type, and its name is only
/// known at run time.
pub trait LimitUser {
    /// What comes of it.
    type Output;

    /// Does it with `limit`.
    fn with<L>(self, limit: L) -> Self::Output
    where
        L: Limit<Sender: Send, Completer: Send> + Copy + 'static;
}

impl LimitSpec {
    /// The debt ladder with its usual promise.
    pub const LADDER: Self = Self::Ladder(Utilisation::DEFAULT);
    /// The best rule with its usual promise.
    pub const TAUT: Self = Self::Taut(Utilisation::DEFAULT);

    /// The same rule with another promise, if it makes one.
    #[must_use]
    pub const fn promising(self, utilisation: Utilisation) -> Self {
        match self {
            Self::Ladder(_) => Self::Ladder(utilisation),
            Self::Taut(_) => Self::Taut(utilisation),
            other => other,
        }
    }

    /// Whether it holds the queue back, and counts bytes.
    pub const fn is_bytes(self) -> bool {
        !matches!(self, Self::Off | Self::Packets(_))
    }

    /// Calls `user` with the limit that this names. The one place that knows a rule for each name.
    pub fn give_to<U: LimitUser>(self, user: U) -> U::Output {
        match self {
            Self::Off => user.with(Fixed::off()),
            Self::Bytes(bytes) => user.with(Fixed::bytes(bytes)),
            Self::Packets(packets) => user.with(Fixed::packets(packets)),
            Self::Dynamic => user.with(Dynamic::default()),
            Self::Need => user.with(Need::default()),
            // `taut` names the winner of the comparison.
            Self::Ladder(utilisation) | Self::Taut(utilisation) => user.with(Ladder {
                utilisation,
                ..Ladder::default()
            }),
        }
    }
}

/// Why a limit was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParseLimitError {
    /// Neither a name nor a number of packets nor a size.
    Unknown(ParseUnitError),
    /// The number is outside of 1 to [`MAX_LIMIT`].
    OutOfRange,
    /// What is promised is no share, or outside of what can be.
    Promise(ParseUtilisationError),
}

impl fmt::Display for ParseLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) => write!(f, "{error}; or ")?,
            Self::OutOfRange => {}
            Self::Promise(error) => return error.fmt(f),
        }
        write!(
            f,
            "allowed are off, dql, need, ladder, taut, taut with a promise such as taut:99.5%, a size such as 40k, or packets such as 32p (1 to {MAX_LIMIT})"
        )
    }
}

impl core::error::Error for ParseLimitError {}

impl FromStr for LimitSpec {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        match text {
            "off" => return Ok(Self::Off),
            "dql" => return Ok(Self::Dynamic),
            "need" => return Ok(Self::Need),
            "ladder" => return Ok(Self::LADDER),
            "taut" => return Ok(Self::TAUT),
            _ => {}
        }
        if let Some((name @ ("ladder" | "taut"), promise)) = text.split_once(':') {
            let utilisation = promise.parse().map_err(ParseLimitError::Promise)?;
            let rule = if name == "taut" {
                Self::TAUT
            } else {
                Self::LADDER
            };
            return Ok(rule.promising(utilisation));
        }
        if let Some(digits) = text.strip_suffix('p')
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            // Digits that do not fit are out of range like those that do.
            return in_range(digits.parse().unwrap_or(u64::MAX)).map(Self::Packets);
        }
        units::parse_size_bytes(text)
            .map_err(ParseLimitError::Unknown)
            .and_then(in_range)
            .map(Self::Bytes)
    }
}

fn in_range(units: u64) -> Result<u32, ParseLimitError> {
    match u32::try_from(units) {
        Ok(units) if (1..=MAX_LIMIT).contains(&units) => Ok(units),
        _ => Err(ParseLimitError::OutOfRange),
    }
}

/// A rule's name, and what it promises if that is not the usual.
fn promise(f: &mut fmt::Formatter<'_>, name: &str, utilisation: Utilisation) -> fmt::Result {
    if utilisation == Utilisation::DEFAULT {
        f.write_str(name)
    } else {
        write!(f, "{name}:{utilisation}")
    }
}

impl fmt::Display for LimitSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("off"),
            Self::Bytes(bytes) => write!(f, "{bytes}"),
            Self::Packets(packets) => write!(f, "{packets}p"),
            Self::Dynamic => f.write_str("dql"),
            Self::Need => f.write_str("need"),
            Self::Ladder(utilisation) => promise(f, "ladder", *utilisation),
            Self::Taut(utilisation) => promise(f, "taut", *utilisation),
        }
    }
}
