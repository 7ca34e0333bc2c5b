//! A report as data.

use crate::chart::Chart;
use crate::document::Document;

/// The origin of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In virtual time.
    Simulated,
    /// With real traffic.
    Live,
}

impl Origin {
    /// Returns the origin in words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Simulated => "Simulated",
            Self::Live => "Measured live",
        }
    }
}

/// The content of a report.
#[derive(Debug)]
pub struct Page<'a> {
    /// The results.
    pub document: &'a Document,
    /// Their origin.
    pub origin: Origin,
    /// The subject of the scenario, in a line.
    pub about: &'a str,
    /// Charts of the results.
    pub charts: Vec<Chart>,
    /// A remark above the charts.
    pub remark: Option<String>,
    /// The command that gives the same results.
    pub command: String,
}

/// Returns `text` with a capital at its start and a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let mut characters = text.trim_end_matches('.').chars();
    match characters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), characters.as_str()),
        None => String::new(),
    }
}

/// Returns the command line of this process for [`Page::command`], without the options that only
/// select a form of the output. It has `--seed`, even if the user did not set that.
pub fn command_line(seed: Option<u64>) -> String {
    let typed = std::env::args_os().skip(1);
    let typed: Vec<String> = typed.map(|it| it.to_string_lossy().into_owned()).collect();
    to_command_line(&typed, seed)
}

fn to_command_line(typed: &[String], seed: Option<u64>) -> String {
    const FORMS: [&str; 4] = ["-j", "--json", "--csv", "--json-lines"];
    const REPORT: &str = "--report";
    const SEED: &str = "--seed";
    let is_option = |word: &str, option: &str| {
        word.strip_prefix(option)
            .is_some_and(|it| it.starts_with('='))
    };
    let mut line = "taut".to_owned();
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        if word == REPORT {
            words.next();
        } else if !is_option(word, REPORT) && !FORMS.contains(&word.as_str()) {
            line += " ";
            line += &quoted(word);
        }
    }
    match seed {
        Some(seed) if !typed.iter().any(|it| it == SEED || is_option(it, SEED)) => {
            format!("{line} {SEED} {seed}")
        }
        _ => line,
    }
}

/// Quotes `argument` for a shell.
fn quoted(argument: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_repeats_the_run() {
        let line = |words: &[&str], seed| {
            let words: Vec<String> = words.iter().map(|it| (*it).to_owned()).collect();
            to_command_line(&words, seed)
        };
        let typed = [
            "sim",
            "rr",
            "--report",
            "a b.html",
            "--qdisc",
            "pfifo limit 5",
        ];
        assert_eq!(line(&typed, None), "taut sim rr --qdisc 'pfifo limit 5'");
        assert_eq!(
            line(&typed, Some(1)),
            "taut sim rr --qdisc 'pfifo limit 5' --seed 1"
        );
        for typed in [["sim", "--seed", "2"].as_slice(), &["sim", "--seed=2"]] {
            let expected = format!("taut {}", typed.join(" "));
            assert_eq!(line(typed, Some(1)), expected);
        }
        assert_eq!(line(&["-q", "--report=x.md", "-j"], None), "taut -q");
    }

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        for (word, written) in [
            ("a.toml", "a.toml"),
            ("my file", "'my file'"),
            ("it's", "'it'\\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), written);
        }
    }
}
