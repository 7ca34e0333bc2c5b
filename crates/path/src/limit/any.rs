//! A limit chosen at run time, by its name.

use alloc::boxed::Box;
use alloc::string::ToString;
use core::fmt;
use core::str::FromStr;

use taut_dql::MAX_LIMIT;

use super::in_packets::{InPackets, SUFFIX};
use super::ladder::ParseUtilisationError;
use super::{CAP_NS, Dynamic, Fixed, InTime, Ladder, Limit, Need, Unit, Utilisation};
use crate::units::{self, ParseUnitError};
use taut_dql::forward_limit;

/// Does the same with a [`Rule`](crate::limit::Rule), whichever it is, as a value of its own type.
#[macro_export]
macro_rules! with_rule {
    ($any:expr, $rule:ident => $do:expr) => {
        match $any {
            $crate::limit::Rule::Fixed($rule) => $do,
            $crate::limit::Rule::Dql($rule) => $do,
            $crate::limit::Rule::Need($rule) => $do,
            $crate::limit::Rule::Taut($rule) => $do,
            $crate::limit::Rule::DqlInPackets($rule) => $do,
            $crate::limit::Rule::NeedInPackets($rule) => $do,
            $crate::limit::Rule::TautInPackets($rule) => $do,
        }
    };
}

/// One rule that can be chosen by its name.
pub struct RuleName {
    /// How it is spelled, with what may follow.
    pub usage: &'static str,
    /// What it does, in one line.
    pub help: &'static str,
    name: &'static str,
    /// Makes it of what follows the name and a colon.
    make: fn(Option<&str>) -> Result<Rule, ParseLimitError>,
}

/// Every rule with a name. A new one is a line here.
pub const RULES: &[RuleName] = &[
    RuleName {
        name: "off",
        usage: "off",
        help: "no limit: only the ring holds the queue back",
        make: |argument| plain(argument, || Rule::Fixed(Fixed::off())),
    },
    RuleName {
        name: "dql",
        usage: "dql",
        help: "Linux's rule, byte queue limits",
        make: |argument| plain(argument, || Rule::Dql(Dynamic::default())),
    },
    RuleName {
        name: "need",
        usage: "need",
        help: "the most that an interval of the last second needed",
        make: |argument| plain(argument, || Rule::Need(Need::default())),
    },
    RuleName {
        name: "taut",
        usage: "taut[:SHARE%]",
        help: "the least that keeps the link busy for a share of the time (99.9% if not said)",
        make: |argument| {
            let utilisation = argument.map(str::parse).transpose();
            let utilisation = utilisation.map_err(ParseLimitError::Utilisation)?;
            Ok(Rule::Taut(
                utilisation.map_or_else(Ladder::default, Ladder::new),
            ))
        },
    },
];

/// The names of [`RULES`] with what each does, a line each, for help texts.
pub fn rules_help() -> alloc::string::String {
    let mut text = alloc::string::String::new();
    for rule in RULES {
        text += &alloc::format!("  {:<13} {}\n", rule.usage, rule.help);
    }
    text + "  40k, 1500     a fixed number of bytes\n  32p           a fixed number of packets\n  \
            RULE:packets  dql, need or taut, counting packets in place of bytes (dql:packets)\n  \
            RULE:TIME     any of them, and never more than the link sends in a time (dql:2ms)"
}

/// What is spelled as a number.
const NUMBERS: &str = "a size such as 40k, or packets such as 32p";

fn plain(argument: Option<&str>, make: fn() -> Rule) -> Result<Rule, ParseLimitError> {
    match argument {
        None => Ok(make()),
        Some(_) => Err(ParseLimitError::NoArgument),
    }
}

/// A rule that can tell its name: as [`AnyLimit`] reads it, for rules of this crate.
pub trait NamedLimit: Limit + fmt::Display + fmt::Debug + CloneNamed + Send + Sync {
    /// A rule that promises a share of the link's time, and was not told which, promises this one and begins afresh.
    /// Any other rule stays as it is.
    fn promise_unless_told(&mut self, _utilisation: Utilisation) {}
}

/// What every rule that can be cloned has.
pub trait CloneNamed {
    /// A clone on the heap.
    fn clone_named(&self) -> Box<dyn NamedLimit>;
}

impl<L: NamedLimit + Clone + 'static> CloneNamed for L {
    fn clone_named(&self) -> Box<dyn NamedLimit> {
        Box::new(self.clone())
    }
}

/// Any rule: one type for a limit chosen at run time.
///
/// ```
/// use taut_path::AnyLimit;
/// let limit: AnyLimit = "taut:99.5%".parse()?;
/// assert_eq!(limit.to_string(), "taut:99.5%");
/// assert_eq!("40960".parse::<AnyLimit>()?.to_string(), "40k");
/// # Ok::<(), taut_path::limit::ParseLimitError>(())
/// ```
/// [`RULES`] lists the names; those that learn may count packets, as in `dql:packets`, see [`InPackets`], and each may
/// have a cap in time behind all that, as in `dql:2ms`, see [`InTime`]. A rule of another crate goes in through
/// [`new`](Self::new).
#[derive(Debug)]
pub struct AnyLimit(Box<dyn NamedLimit>);

impl AnyLimit {
    /// Holds `rule`, which may be of another crate.
    pub fn new(rule: impl NamedLimit + Clone + 'static) -> Self {
        Self(Box::new(rule))
    }

    /// No limit: only the ring.
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

    /// Linux's rule.
    pub fn dql() -> Self {
        Self::new(Dynamic::default())
    }

    /// The rule of this project.
    pub fn taut() -> Self {
        Self::new(Ladder::default())
    }

    /// Whether it holds nothing back.
    pub fn is_off(&self) -> bool {
        *self == Self::off()
    }
}

/// Any rule may stand under a cap in time.
impl NamedLimit for AnyLimit {
    fn promise_unless_told(&mut self, utilisation: Utilisation) {
        self.0.promise_unless_told(utilisation);
    }
}

impl Default for AnyLimit {
    /// Linux's rule, which everybody knows.
    fn default() -> Self {
        Self::dql()
    }
}

impl Clone for AnyLimit {
    fn clone(&self) -> Self {
        Self(self.0.clone_named())
    }
}

/// Two rules that are spelled alike are the same.
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

    forward_limit!(self => self.0);
}

/// Why a limit was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseLimitError {
    /// Neither a name nor a number of packets nor a size.
    Unknown(ParseUnitError),
    /// The number is outside of 1 to [`MAX_LIMIT`].
    OutOfRange,
    /// Something follows the name of a rule that can be told nothing but what it counts and a cap in time.
    NoArgument,
    /// Packets are to be counted by a limit that does not learn.
    NotInPackets,
    /// What is counted is said behind the cap in time.
    AfterCap,
    /// What is promised is no share, or outside of what can be.
    Utilisation(ParseUtilisationError),
    /// The time of a cap is outside of [`CAP_NS`].
    CapOutOfRange,
}

impl fmt::Display for ParseLimitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(error) if error.is_no_number() => f.write_str("unknown limit; ")?,
            Self::Unknown(error) => write!(f, "{error}; or ")?,
            Self::NoArgument => f.write_str(
                "this rule takes nothing after its name but :packets and a cap in time (1us to 10s, such as in dql:2ms); ",
            )?,
            Self::NotInPackets => {
                return f.write_str(
                    "only dql, need and taut can count packets; a fixed number of them is spelled 32p",
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
        }
        f.write_str("allowed are ")?;
        for rule in RULES {
            write!(f, "{}, ", rule.usage)?;
        }
        write!(
            f,
            "{NUMBERS} (1 to {MAX_LIMIT}); behind dql, need and taut :packets, and behind any a cap such as :2ms"
        )
    }
}

impl core::error::Error for ParseLimitError {}

impl From<NamedRule> for AnyLimit {
    fn from(rule: NamedRule) -> Self {
        match rule {
            NamedRule::Plain(rule) => with_rule!(rule, rule => Self::new(rule)),
            NamedRule::InTime(rule, cap_ns) => {
                with_rule!(rule, rule => Self::new(InTime::new(rule, cap_ns)))
            }
        }
    }
}

impl FromStr for AnyLimit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        text.parse().map(NamedRule::into)
    }
}

/// A rule of this crate by its name, without memory of its own: what [`AnyLimit`] makes its box of.
#[derive(Debug, Clone)]
pub enum Rule {
    /// A fixed amount, or none.
    Fixed(Fixed),
    /// Linux's rule.
    Dql(Dynamic),
    /// The most that was needed lately.
    Need(Need),
    /// The rule of this project.
    Taut(Ladder),
    /// Linux's rule, counting packets.
    DqlInPackets(InPackets<Dynamic>),
    /// The most packets that were needed lately.
    NeedInPackets(InPackets<Need>),
    /// The rule of this project, counting packets.
    TautInPackets(InPackets<Ladder>),
}

impl Rule {
    /// The same, counting packets.
    fn in_packets(self) -> Result<Self, ParseLimitError> {
        match self {
            Self::Dql(rule) => Ok(Self::DqlInPackets(InPackets::new(rule))),
            Self::Need(rule) => Ok(Self::NeedInPackets(InPackets::new(rule))),
            Self::Taut(rule) => Ok(Self::TautInPackets(InPackets::new(rule))),
            _ => Err(ParseLimitError::NotInPackets),
        }
    }
}

/// The same, with what may stand behind the name.
#[derive(Debug, Clone)]
pub enum NamedRule {
    /// As it is.
    Plain(Rule),
    /// Under a cap in time, in ns, within [`CAP_NS`]: for [`InTime::new`].
    InTime(Rule, u64),
}

impl FromStr for NamedRule {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        // A time can only be a cap: no rule is told one.
        if let Some((rule, cap)) = text.rsplit_once(':')
            && let Ok(cap_ns) = units::parse_time_ns(cap)
        {
            let rule = rule.parse()?;
            if !CAP_NS.contains(&cap_ns) {
                return Err(ParseLimitError::CapOutOfRange);
            }
            return Ok(Self::InTime(rule, cap_ns));
        }
        text.parse().map(Self::Plain)
    }
}

impl FromStr for Rule {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        if let Some(rule) = text.strip_suffix(SUFFIX) {
            return match rule.parse()? {
                NamedRule::Plain(rule) => rule.in_packets(),
                NamedRule::InTime(..) => Err(ParseLimitError::AfterCap),
            };
        }
        let (name, argument) = match text.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (text, None),
        };
        if let Some(rule) = RULES.iter().find(|rule| rule.name == name) {
            return (rule.make)(argument);
        }
        if let Some(digits) = text.strip_suffix('p')
            && !digits.is_empty()
            && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            // Digits that do not fit are out of range like those that do.
            let depth_packets = in_range(digits.parse().unwrap_or(u64::MAX))?;
            return Ok(Self::Fixed(Fixed::packets(depth_packets)));
        }
        let limit_bytes = units::parse_size_bytes(text).map_err(ParseLimitError::Unknown)?;
        in_range(limit_bytes).map(|limit_bytes| Self::Fixed(Fixed::bytes(limit_bytes)))
    }
}

fn in_range(units: u64) -> Result<u32, ParseLimitError> {
    match u32::try_from(units) {
        Ok(units) if (1..=MAX_LIMIT).contains(&units) => Ok(units),
        _ => Err(ParseLimitError::OutOfRange),
    }
}
