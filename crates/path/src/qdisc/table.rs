//! The table of disciplines: names, spelled as `tc` spells them.

use alloc::string::String;
use alloc::vec::Vec;

use super::any::AnyQdisc;
use super::codel::CodelSettings;
use super::fifo::FifoSettings;
use super::fq_codel::FqCodelConfig;
use super::parameters::{self, ParseQdiscError, QdiscSettings, Tokens};
use super::pfifo_fast::PfifoFastSettings;

// One line for each discipline. Its file implements `QdiscSettings`.
/// The disciplines of this crate, in the order of help texts.
pub const DISCIPLINES: &[QdiscInfo] = &[
    QdiscInfo::of::<PfifoFastSettings>(),
    QdiscInfo::of::<FifoSettings>(),
    QdiscInfo::of::<CodelSettings>(),
    QdiscInfo::of::<FqCodelConfig>(),
];

/// The name of a discipline, and its help.
pub struct QdiscInfo {
    /// The name in `tc`.
    pub name: &'static str,
    /// A description in one line.
    pub help: &'static str,
    usage: fn() -> String,
    build: fn(&mut Tokens<'_>) -> Result<AnyQdisc, ParseQdiscError>,
}

impl QdiscInfo {
    const fn of<S: QdiscSettings>() -> Self {
        Self {
            name: S::NAME,
            help: S::HELP,
            usage: parameters::usage::<S>,
            build: |tokens| {
                let mut settings = parameters::read::<S>(tokens)?;
                let spelled = parameters::write(&mut settings);
                Ok(AnyQdisc::from_box(&spelled, settings.build()))
            },
        }
    }

    /// Returns the parameters that can follow the name.
    pub fn usage(&self) -> String {
        (self.usage)()
    }
}

/// Creates the discipline that `text` names, such as `codel limit 1000 target 5ms`.
///
/// # Errors
/// Names the token that is wrong and the allowed ones.
pub(crate) fn builtin_qdisc(text: &str) -> Result<AnyQdisc, ParseQdiscError> {
    let mut tokens = Tokens::of(text);
    let (position, name) = tokens.next().unwrap_or((1, ""));
    if let Some(discipline) = DISCIPLINES.iter().find(|known| known.name == name) {
        return (discipline.build)(&mut tokens);
    }
    let usage = |known: &QdiscInfo| alloc::format!(" {} {}", known.name, known.usage());
    let allowed: Vec<String> = DISCIPLINES.iter().map(usage).collect();
    Err(ParseQdiscError::unknown_name(position, &allowed.join(",")))
}
