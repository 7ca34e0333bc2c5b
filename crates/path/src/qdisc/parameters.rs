//! The parameters of the disciplines: their text, as `tc` spells it, and errors about it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use super::bounded_ring::MAX_LIMIT_PACKETS;
use super::codel_state::CodelConfig;
use super::fq_codel::{FqCodelConfig, MAX_FLOWS};
use crate::units::{self, Time, write_exact};

/// The settings of a discipline. Each uses some of the fields.
pub(super) struct QdiscSettings {
    pub config: FqCodelConfig,
    /// The limit applies to all bands together.
    pub total: bool,
}

/// The keyword of a parameter, and its field.
type Parameter = (&'static str, Field);

/// The field of a parameter, with the allowed values.
enum Field {
    /// A flag that the keyword alone sets to this value.
    Flag(bool, fn(&mut QdiscSettings) -> &mut bool),
    /// A number; 0 is the same as no parameter.
    U32(Range, fn(&mut QdiscSettings) -> &mut u32),
    U64(Range, fn(&mut QdiscSettings) -> &mut u64),
    Optional(Range, fn(&mut QdiscSettings) -> &mut Option<u64>),
}

use Field::{Flag, Optional, U32, U64};

/// All parameters, in the order in which `tc` shows them.
const PARAMETERS: [Parameter; 11] = [
    ("limit", U32(PACKETS, |it| &mut it.config.limit_packets)),
    ("total", Flag(true, |it| &mut it.total)),
    ("flows", U32(FLOWS, |it| &mut it.config.flows)),
    ("target", U64(WAIT_NS, |it| &mut it.config.codel.target_ns)),
    (
        "interval",
        U64(WAIT_NS, |it| &mut it.config.codel.interval_ns),
    ),
    (
        "quantum",
        U32(QUANTUM_BYTES, |it| &mut it.config.quantum_bytes),
    ),
    (
        "memory_limit",
        U64(MEMORY_BYTES, |it| &mut it.config.memory_limit_bytes),
    ),
    ("ecn", Flag(true, |it| &mut it.config.codel.ecn)),
    ("noecn", Flag(false, |it| &mut it.config.codel.ecn)),
    (
        "ce_threshold",
        Optional(WAIT_NS, |it| &mut it.config.codel.ce_threshold_ns),
    ),
    // Not a parameter of `tc`: the kernel draws it at random, and here the same seed must give the
    // same result.
    ("seed", U32(SEED, |it| &mut it.config.seed)),
];

const PACKETS: Range = Range::new(Unit::Number("packets"), 1, MAX_LIMIT_PACKETS as u64);
const FLOWS: Range = Range::new(Unit::Number("flows"), 1, MAX_FLOWS as u64);
/// The allowed times of CoDel.
const WAIT_NS: Range = Range::new(Unit::Time, 1, CodelConfig::MAX_INTERVAL_NS);
/// At least a small packet: with less, a GSO packet would wait for hundreds of turns.
const QUANTUM_BYTES: Range = Range::new(Unit::Size, 256, 1 << 20);
/// At least one GSO packet and its overhead, or nothing could be sent.
const MEMORY_BYTES: Range = Range::new(Unit::Size, 128 << 10, 4 << 30);
const SEED: Range = Range::new(Unit::Number("as a seed"), 0, u32::MAX as u64);

impl Field {
    /// Returns the allowed values; a flag has none.
    fn range(&self) -> Option<Range> {
        match *self {
            Flag(..) => None,
            U32(range, _) | U64(range, _) | Optional(range, _) => Some(range),
        }
    }

    /// Returns the value, unless the parameter is not written.
    fn get(&self, settings: &mut QdiscSettings) -> Option<u64> {
        match *self {
            Flag(value, field) => (*field(settings) == value).then_some(1),
            U32(_, field) => Some(u64::from(*field(settings))).filter(|&value| value > 0),
            U64(_, field) => Some(*field(settings)),
            Optional(_, field) => *field(settings),
        }
    }
}

/// The allowed values of a parameter, with both ends.
#[derive(Clone, Copy)]
struct Range {
    unit: Unit,
    min: u64,
    max: u64,
}

#[derive(Clone, Copy)]
enum Unit {
    /// A number, with the name of its unit.
    Number(&'static str),
    /// A size in bytes.
    Size,
    /// A time in ns.
    Time,
}

impl Range {
    const fn new(unit: Unit, min: u64, max: u64) -> Self {
        Self { unit, min, max }
    }

    fn parse(self, token: &str) -> Option<u64> {
        let Self { unit, min, max } = self;
        let value = match unit {
            Unit::Number(_) if token.bytes().all(|byte| byte.is_ascii_digit()) => {
                token.parse().ok()
            }
            Unit::Number(_) => None,
            Unit::Size => units::parse_size_bytes(token).ok(),
            Unit::Time => units::parse_time_ns(token).ok(),
        };
        value.filter(|value| (min..=max).contains(value))
    }
}

impl Unit {
    fn placeholder(self) -> &'static str {
        match self {
            Self::Number("packets") => "PACKETS",
            Self::Number(_) => "NUMBER",
            Self::Size => "SIZE",
            Self::Time => "TIME",
        }
    }

    fn write(self, f: &mut impl Write, value: u64) -> fmt::Result {
        match self {
            Self::Number(_) => write!(f, "{value}"),
            Self::Size => write_exact(f, value, &[("Mb", 1 << 20), ("Kb", 1 << 10), ("", 1)]),
            Self::Time => write!(f, "{}", Time(value)),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { unit, min, max } = *self;
        unit.write(f, min)?;
        f.write_str(" to ")?;
        unit.write(f, max)?;
        match unit {
            Unit::Number(things) => write!(f, " {things}"),
            Unit::Size | Unit::Time => Ok(()),
        }
    }
}

/// The text is not a discipline.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseQdiscError {
    /// Position of the first character of the offending token, from 1.
    pub position: usize,
    message: String,
}

impl ParseQdiscError {
    /// A syntax error at `position`; `allowed` lists the allowed tokens.
    pub(super) fn new(wrong: &str, position: usize, allowed: impl fmt::Display) -> Self {
        let message = format!("{wrong} at position {position}; allowed: {allowed}");
        Self { position, message }
    }

    /// A registered discipline rejects its parameters.
    pub(crate) fn registered(message: String) -> Self {
        let position = 1;
        Self { position, message }
    }
}

fn parameters_of<'a>(keywords: &'a [&str]) -> impl Iterator<Item = &'static Parameter> + 'a {
    let parameters = PARAMETERS.iter();
    parameters.filter(|(keyword, _)| keywords.contains(keyword))
}

/// Reads the parameters with these `keywords` into `settings`. `end` is the position behind the
/// text.
pub(super) fn read<'a>(
    keywords: &[&str],
    settings: &mut QdiscSettings,
    mut tokens: impl Iterator<Item = (usize, &'a str)>,
    end: usize,
) -> Result<(), ParseQdiscError> {
    while let Some((position, token)) = tokens.next() {
        let Some((keyword, field)) = parameters_of(keywords).find(|(keyword, _)| *keyword == token)
        else {
            let allowed = usage(keywords);
            return Err(ParseQdiscError::new("unknown parameter", position, allowed));
        };
        let mut value = |range: Range| {
            let (position, token) = tokens.next().unwrap_or((end, ""));
            let wrong = format!("bad {keyword}");
            let value = range.parse(token);
            value.ok_or_else(|| ParseQdiscError::new(&wrong, position, range))
        };
        match *field {
            Flag(value, field) => *field(settings) = value,
            // The ranges are within 32 bits.
            U32(range, field) => *field(settings) = value(range)? as u32,
            U64(range, field) => *field(settings) = value(range)?,
            Optional(range, field) => *field(settings) = Some(value(range)?),
        }
    }
    Ok(())
}

/// Writes every parameter that has a value, so that parsing returns the same settings.
pub(super) fn write(keywords: &[&str], settings: &mut QdiscSettings) -> String {
    let mut text = String::new();
    for (keyword, field) in parameters_of(keywords) {
        let Some(value) = field.get(settings) else {
            continue;
        };
        // Writing to a String cannot fail.
        let _ = write!(text, " {keyword}");
        if let Some(Range { unit, .. }) = field.range() {
            text.push(' ');
            let _ = unit.write(&mut text, value);
        }
    }
    text
}

/// Returns the parameters that can follow the name of a discipline.
pub(super) fn usage(keywords: &[&str]) -> String {
    let usage = parameters_of(keywords).map(|(keyword, field)| match field.range() {
        None => format!("[{keyword}]"),
        Some(Range { unit, .. }) => format!("[{keyword} {}]", unit.placeholder()),
    });
    usage.collect::<Vec<_>>().join(" ")
}

/// Returns the tokens of a text, separated by white space, with their positions, in characters from
/// 1.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 1;
    let tokens = text.split(char::is_whitespace).map(move |token| {
        let position = next;
        next += token.chars().count() + 1;
        (position, token)
    });
    tokens.filter(|(_, token)| !token.is_empty())
}
