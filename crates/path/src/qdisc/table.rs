//! The table of disciplines: names, spelled as `tc` spells them.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use super::codel::CodelSettings;
use super::fifo::FifoSettings;
use super::fq_codel::FqCodelConfig;
use super::parameters::{self, ParseQdiscError, QdiscSettings, Tokens};
use super::pfifo_fast::PfifoFastSettings;
use super::seam::Qdisc;

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
    build: fn(&mut Tokens<'_>) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError>,
    canonical: fn(&mut Tokens<'_>) -> Result<String, ParseQdiscError>,
}

impl QdiscInfo {
    const fn of<S: QdiscSettings>() -> Self {
        Self {
            name: S::NAME,
            help: S::HELP,
            usage: parameters::usage::<S>,
            build: |tokens| parameters::read::<S>(tokens).map(S::build),
            canonical: |tokens| parameters::read::<S>(tokens).map(parameters::write),
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
pub(crate) fn builtin_qdisc(text: &str) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError> {
    let (discipline, mut tokens) = find(text)?;
    (discipline.build)(&mut tokens)
}

/// Returns `text` with every parameter, as `tc` shows it.
///
/// # Errors
/// As [`builtin_qdisc`].
pub(crate) fn builtin_canonical(text: &str) -> Result<String, ParseQdiscError> {
    let (discipline, mut tokens) = find(text)?;
    (discipline.canonical)(&mut tokens)
}

/// Returns the discipline at the start of `text`, and the tokens after its name.
fn find(text: &str) -> Result<(&'static QdiscInfo, Tokens<'_>), ParseQdiscError> {
    let mut tokens = Tokens::of(text);
    let (position, name) = tokens.next().unwrap_or((1, ""));
    let found = DISCIPLINES.iter().find(|known| known.name == name);
    found.map(|discipline| (discipline, tokens)).ok_or_else(|| {
        let usage = |known: &QdiscInfo| alloc::format!(" {} {}", known.name, known.usage());
        let allowed: Vec<String> = DISCIPLINES.iter().map(usage).collect();
        ParseQdiscError::unknown_name(position, &allowed.join(","))
    })
}
