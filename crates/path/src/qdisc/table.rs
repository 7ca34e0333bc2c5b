//! The names and parameters under which disciplines are chosen, spelled as `tc` spells them.

use alloc::boxed::Box;
use core::fmt;

use super::{BandLimit, Fifo, PfifoFast, Qdisc};

/// The most packets that a discipline may be told to hold; their frames must exist.
const MAX_LIMIT_PACKETS: u32 = 1_000_000;

/// The length of a transmit queue of an Ethernet device (`txqueuelen`).
const DEFAULT_LIMIT_PACKETS: u32 = 1000;

/// One discipline: its name, its parameters for people, and how it is made.
pub struct Discipline {
    /// The name that `tc` uses.
    pub name: &'static str,
    /// Its parameters, for help texts.
    pub usage: &'static str,
    make: fn(&mut Words<'_>) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError>,
}

/// Every discipline. A new one is a line here.
pub const DISCIPLINES: &[Discipline] = &[
    Discipline {
        name: "pfifo_fast",
        usage: "[limit PACKETS] [total]",
        make: pfifo_fast,
    },
    Discipline {
        name: "pfifo",
        usage: "[limit PACKETS]",
        make: pfifo,
    },
];

/// Why a discipline was not understood, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseQdiscError {
    /// Position of the offending word's first character, from 1.
    pub position: usize,
    what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    UnknownName,
    UnknownWord(&'static str),
    Limit,
}

impl fmt::Display for ParseQdiscError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.position;
        match self.what {
            What::UnknownName => {
                write!(f, "unknown discipline at position {at}; allowed:")?;
                let mut comma = "";
                for discipline in DISCIPLINES {
                    write!(f, "{comma} {} {}", discipline.name, discipline.usage)?;
                    comma = ",";
                }
                Ok(())
            }
            What::UnknownWord(usage) => {
                write!(f, "unknown parameter at position {at}; allowed: {usage}")
            }
            What::Limit => {
                write!(
                    f,
                    "bad limit at position {at}; allowed: 1 to {MAX_LIMIT_PACKETS} packets"
                )
            }
        }
    }
}

impl core::error::Error for ParseQdiscError {}

/// Makes the discipline that `text` spells, such as `pfifo_fast limit 1000`.
///
/// # Errors
/// Says which word was not understood and what is allowed.
pub fn by_name(text: &str) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError> {
    let mut words = Words { text, used: 0 };
    let (position, name) = words.next().unwrap_or((1, ""));
    DISCIPLINES
        .iter()
        .find(|discipline| discipline.name == name)
        .ok_or(ParseQdiscError {
            position,
            what: What::UnknownName,
        })
        .and_then(|discipline| (discipline.make)(&mut words))
}

fn pfifo_fast(words: &mut Words<'_>) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError> {
    let (mut limit_packets, mut scope) = (DEFAULT_LIMIT_PACKETS, BandLimit::Each);
    while let Some((position, word)) = words.next() {
        match word {
            "limit" => limit_packets = words.limit_packets()?,
            "total" => scope = BandLimit::Total,
            _ => return Err(unknown_word(position, "[limit PACKETS] [total]")),
        }
    }
    Ok(Box::new(PfifoFast::new(limit_packets, scope)))
}

fn pfifo(words: &mut Words<'_>) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError> {
    let mut limit_packets = DEFAULT_LIMIT_PACKETS;
    while let Some((position, word)) = words.next() {
        match word {
            "limit" => limit_packets = words.limit_packets()?,
            _ => return Err(unknown_word(position, "[limit PACKETS]")),
        }
    }
    Ok(Box::new(Fifo::new(limit_packets)))
}

fn unknown_word(position: usize, usage: &'static str) -> ParseQdiscError {
    ParseQdiscError {
        position,
        what: What::UnknownWord(usage),
    }
}

/// The words of a text with their positions.
struct Words<'a> {
    text: &'a str,
    /// Bytes of `text` that were read.
    used: usize,
}

impl Words<'_> {
    /// Position in characters, from 1, of the byte at `at`.
    fn character_at(&self, at: usize) -> usize {
        self.text[..at].chars().count() + 1
    }

    fn limit_packets(&mut self) -> Result<u32, ParseQdiscError> {
        let (position, word) = self
            .next()
            .unwrap_or((self.character_at(self.text.len()), ""));
        word.parse()
            .ok()
            .filter(|limit| (1..=MAX_LIMIT_PACKETS).contains(limit))
            .ok_or(ParseQdiscError {
                position,
                what: What::Limit,
            })
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<(usize, &'a str)> {
        let rest = &self.text[self.used..];
        let start = self.used + rest.find(|c: char| !c.is_whitespace())?;
        let length = self.text[start..]
            .find(char::is_whitespace)
            .unwrap_or(self.text.len() - start);
        self.used = start + length;
        Some((self.character_at(start), &self.text[start..self.used]))
    }
}
