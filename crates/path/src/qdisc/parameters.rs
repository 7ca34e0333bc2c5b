//! The parser and the writer of parameters, for all disciplines: a discipline only lists its own.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write};

use super::bounded_ring::MAX_LIMIT_PACKETS;
use super::seam::Qdisc;
use crate::units::{self, Time, write_exact};

/// The length of a transmit queue of an Ethernet device (`txqueuelen`).
pub(super) const DEFAULT_LIMIT_PACKETS: u32 = 1000;

/// The allowed values of `limit`.
pub(super) const LIMIT_PACKETS: Range = Range::number("packets", 1, MAX_LIMIT_PACKETS as u64);

/// One parameter of a discipline with the settings `S`: the keyword of `tc`, and its field.
pub(super) type Parameter<S> = (&'static str, Field<S>);

/// The field of a parameter in the settings `S`, with the allowed values.
pub(super) enum Field<S: 'static> {
    /// A flag that the keyword alone sets to this value.
    Flag(bool, fn(&mut S) -> &mut bool),
    /// A number; 0 is the same as no parameter.
    U32(Range, fn(&mut S) -> &mut u32),
    U64(Range, fn(&mut S) -> &mut u64),
    Optional(Range, fn(&mut S) -> &mut Option<u64>),
}

impl<S> Field<S> {
    /// Returns the allowed values; a flag has none.
    fn range(&self) -> Option<Range> {
        match *self {
            Self::Flag(..) => None,
            Self::U32(range, _) | Self::U64(range, _) | Self::Optional(range, _) => Some(range),
        }
    }

    /// Returns the value, unless the parameter is not written.
    fn get(&self, settings: &mut S) -> Option<u64> {
        match *self {
            Self::Flag(value, field) => (*field(settings) == value).then_some(1),
            Self::U32(_, field) => Some(u64::from(*field(settings))).filter(|&value| value > 0),
            Self::U64(_, field) => Some(*field(settings)),
            Self::Optional(_, field) => *field(settings),
        }
    }
}

/// The allowed values of a parameter, and their unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    unit: Unit,
    min: u64,
    max: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// A number, with the name of its unit.
    Number(&'static str),
    /// A size in bytes.
    Size,
    /// A time in ns.
    Time,
}

impl Range {
    pub(crate) const fn number(things: &'static str, min: u64, max: u64) -> Self {
        let unit = Unit::Number(things);
        Self { unit, min, max }
    }

    pub(crate) const fn size_bytes(min: u64, max: u64) -> Self {
        let unit = Unit::Size;
        Self { unit, min, max }
    }

    pub(crate) const fn time_ns(min: u64, max: u64) -> Self {
        let unit = Unit::Time;
        Self { unit, min, max }
    }

    fn parse(self, token: &str) -> Option<u64> {
        let value = match self.unit {
            Unit::Number(_) if token.bytes().all(|byte| byte.is_ascii_digit()) => {
                token.parse().ok()
            }
            Unit::Number(_) => None,
            Unit::Size => units::parse_size_bytes(token).ok(),
            Unit::Time => units::parse_time_ns(token).ok(),
        };
        value.filter(|value| (self.min..=self.max).contains(value))
    }

    fn placeholder(self) -> &'static str {
        match self.unit {
            Unit::Number("packets") => "PACKETS",
            Unit::Number(_) => "NUMBER",
            Unit::Size => "SIZE",
            Unit::Time => "TIME",
        }
    }

    fn write(self, f: &mut impl Write, value: u64) -> fmt::Result {
        match self.unit {
            Unit::Number(_) => write!(f, "{value}"),
            Unit::Size => write_exact(f, value, &[("Mb", 1 << 20), ("Kb", 1 << 10), ("", 1)]),
            Unit::Time => write!(f, "{}", Time(value)),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::Number(things) => write!(f, "{} to {} {things}", self.min, self.max),
            Unit::Size | Unit::Time => {
                self.write(f, self.min)?;
                f.write_str(" to ")?;
                self.write(f, self.max)
            }
        }
    }
}

/// The settings of a discipline, initially their defaults.
pub(super) trait QdiscSettings: Default + 'static {
    /// The name that `tc` uses.
    const NAME: &'static str;
    /// The discipline, in one line.
    const HELP: &'static str;
    /// Its parameters, in the order in which `tc` shows them.
    const PARAMETERS: &'static [Parameter<Self>];

    /// Creates the discipline.
    fn build(self) -> Box<dyn Qdisc + Send>;
}

/// The text is not a discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseQdiscError {
    /// Position of the first character of the offending token, from 1.
    pub position: usize,
    message: String,
    is_unknown_name: bool,
}

impl ParseQdiscError {
    /// A syntax error at `position`; `allowed` lists the allowed tokens.
    pub(super) fn new(wrong: &str, position: usize, allowed: impl fmt::Display) -> Self {
        let message = format!("{wrong} at position {position}; allowed:{allowed}");
        Self {
            position,
            message,
            is_unknown_name: false,
        }
    }

    /// The name at `position` is unknown; `allowed` lists the names and parameters.
    pub(super) fn unknown_name(position: usize, allowed: &str) -> Self {
        Self {
            is_unknown_name: true,
            ..Self::new("unknown discipline", position, allowed)
        }
    }

    /// A registered discipline rejects its parameters.
    pub(crate) fn registered(message: String) -> Self {
        Self {
            position: 1,
            message,
            is_unknown_name: false,
        }
    }

    /// Adds `names` to the allowed ones, if the name was unknown.
    pub(crate) fn or_one_of(mut self, names: impl Iterator<Item = &'static str>) -> Self {
        if self.is_unknown_name {
            names.for_each(|name| self.message += &format!(", {name}"));
        }
        self
    }
}

impl fmt::Display for ParseQdiscError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for ParseQdiscError {}

/// Reads the settings after the name of a discipline.
pub(super) fn read<S: QdiscSettings>(tokens: &mut Tokens<'_>) -> Result<S, ParseQdiscError> {
    let mut settings = S::default();
    while let Some((position, token)) = tokens.next() {
        let mut known = S::PARAMETERS.iter();
        let Some((keyword, field)) = known.find(|(keyword, _)| *keyword == token) else {
            let allowed = format!(" {}", usage::<S>());
            return Err(ParseQdiscError::new("unknown parameter", position, allowed));
        };
        let mut value = |range: Range| {
            let (position, token) = tokens.next_or_end();
            range.parse(token).ok_or_else(|| {
                let wrong = format!("bad {keyword}");
                ParseQdiscError::new(&wrong, position, format!(" {range}"))
            })
        };
        match *field {
            Field::Flag(value, field) => *field(&mut settings) = value,
            // The ranges are within 32 bits.
            Field::U32(range, field) => *field(&mut settings) = value(range)? as u32,
            Field::U64(range, field) => *field(&mut settings) = value(range)?,
            Field::Optional(range, field) => *field(&mut settings) = Some(value(range)?),
        }
    }
    Ok(settings)
}

/// Writes every parameter that has a value, so that parsing returns the same settings.
pub(super) fn write<S: QdiscSettings>(settings: &mut S) -> String {
    let mut text = String::from(S::NAME);
    for (keyword, field) in S::PARAMETERS {
        let Some(value) = field.get(settings) else {
            continue;
        };
        // Writing to a String cannot fail.
        let _ = write!(text, " {keyword}");
        if let Some(range) = field.range() {
            text.push(' ');
            let _ = range.write(&mut text, value);
        }
    }
    text
}

/// Returns the parameters that can follow the name of a discipline.
pub(super) fn usage<S: QdiscSettings>() -> String {
    let mut usage = String::new();
    for (keyword, field) in S::PARAMETERS {
        let space = if usage.is_empty() { "" } else { " " };
        let _ = match field.range() {
            None => write!(usage, "{space}[{keyword}]"),
            Some(range) => write!(usage, "{space}[{keyword} {}]", range.placeholder()),
        };
    }
    usage
}

/// The tokens of a text, separated by white space, with their positions, in characters from 1.
pub(super) struct Tokens<'a> {
    text: &'a str,
    /// Bytes of `text` that were consumed.
    used: usize,
}

impl<'a> Tokens<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, used: 0 }
    }

    fn character_at(&self, at: usize) -> usize {
        self.text[..at].chars().count() + 1
    }

    /// The next token, or an empty one where the text ends.
    pub(crate) fn next_or_end(&mut self) -> (usize, &'a str) {
        self.next()
            .unwrap_or_else(|| (self.character_at(self.text.len()), ""))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let remainder = &self.text[self.used..];
        let start = self.used + remainder.find(|c: char| !c.is_whitespace())?;
        let length = self.text[start..]
            .find(char::is_whitespace)
            .unwrap_or(self.text.len() - start);
        self.used = start + length;
        Some((self.character_at(start), &self.text[start..self.used]))
    }
}
