//! The names under which disciplines are chosen, spelled as `tc` spells them.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use super::tokens::{self, Range, Settings, Tokens};
use super::{Qdisc, codel, fifo, fq_codel, pfifo_fast};

/// One discipline, which can be chosen by its name.
pub struct Discipline {
    /// The name that `tc` uses.
    pub name: &'static str,
    write_usage: fn(&mut fmt::Formatter<'_>) -> fmt::Result,
    make: fn(&mut Tokens<'_>) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError>,
    spell: fn(&mut Tokens<'_>) -> Result<String, ParseQdiscError>,
}

/// Every discipline. A new one is a line here.
pub const DISCIPLINES: &[Discipline] = &[
    Discipline::of::<pfifo_fast::PfifoFastSettings>(),
    Discipline::of::<fifo::FifoSettings>(),
    Discipline::of::<codel::CodelSettings>(),
    Discipline::of::<fq_codel::FqCodelSettings>(),
];

/// Settings that a discipline is made of.
pub(super) trait Make: Settings {
    fn make(self) -> Box<dyn Qdisc + Send>;
}

impl Discipline {
    const fn of<S: Make>() -> Self {
        Self {
            name: S::NAME,
            write_usage: tokens::write_usage::<S>,
            make: |tokens| tokens::read::<S>(tokens).map(S::make),
            spell: |tokens| tokens::read::<S>(tokens).map(|settings| tokens::write(&settings)),
        }
    }

    /// What it can be told, for help texts.
    pub fn usage(&self) -> impl fmt::Display + '_ {
        Usage(self)
    }
}

struct Usage<'a>(&'a Discipline);

impl fmt::Display for Usage<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0.write_usage)(f)
    }
}

/// Why a discipline was not understood, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseQdiscError {
    /// Position of the offending token's first character, from 1.
    pub position: usize,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    UnknownName,
    /// No parameter of the discipline with this name.
    UnknownParameter(&'static str),
    /// No value for the parameter with this name.
    BadValue(&'static str, Range),
}

impl fmt::Display for ParseQdiscError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.position;
        match self.what {
            What::UnknownName => {
                write!(f, "unknown discipline at position {at}; allowed:")?;
                let mut comma = "";
                for discipline in DISCIPLINES {
                    write!(f, "{comma} {} {}", discipline.name, discipline.usage())?;
                    comma = ",";
                }
                Ok(())
            }
            What::UnknownParameter(name) => {
                write!(f, "unknown parameter at position {at}; allowed:")?;
                let named = |discipline: &&Discipline| discipline.name == name;
                match DISCIPLINES.iter().find(named) {
                    Some(discipline) => write!(f, " {}", discipline.usage()),
                    None => Ok(()),
                }
            }
            What::BadValue(keyword, range) => {
                write!(f, "bad {keyword} at position {at}; allowed: {range}")
            }
        }
    }
}

impl core::error::Error for ParseQdiscError {}

/// Makes the discipline that `text` spells, such as `codel limit 1000 target 5ms`.
///
/// # Errors
/// Says which token was not understood and what is allowed.
pub fn by_name(text: &str) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError> {
    let (discipline, mut tokens) = named(text)?;
    (discipline.make)(&mut tokens)
}

/// What `text` means with every parameter written out, as `tc` would show it.
///
/// # Errors
/// As [`by_name`].
pub fn spelled_out(text: &str) -> Result<String, ParseQdiscError> {
    let (discipline, mut tokens) = named(text)?;
    (discipline.spell)(&mut tokens)
}

/// Whether the discipline that `text` spells marks packets instead of dropping them, so that its
/// senders had better understand marks. False for a text that is not understood.
pub fn marks(text: &str) -> bool {
    let marks = |text: String| {
        let mut tokens = text.split(' ');
        tokens.any(|token| matches!(token, "ecn" | "ce_threshold"))
    };
    spelled_out(text).is_ok_and(marks)
}

/// The discipline that `text` begins with, and the tokens after its name.
fn named(text: &str) -> Result<(&'static Discipline, Tokens<'_>), ParseQdiscError> {
    let mut tokens = Tokens::of(text);
    let (position, name) = tokens.next().unwrap_or((1, ""));
    let unknown = ParseQdiscError {
        position,
        what: What::UnknownName,
    };
    DISCIPLINES
        .iter()
        .find(|discipline| discipline.name == name)
        .map(|discipline| (discipline, tokens))
        .ok_or(unknown)
}
