//! Completion trace files: a JSON header, then `gap_ns delay_ns` for each interrupt.

use std::fmt::Display;
use std::io::{BufRead, Read};

use super::header::{self, MAX_NS};
use crate::error::ScenarioError;
use crate::validation::check;
use taut_sim::completion_trace::{CompletionTrace, Interval, Intervals};

/// A header can contain a million sizes; a line of two numbers is short.
const MAX_HEADER_BYTES: u64 = 1 << 24;
const MAX_LINE_BYTES: u64 = 64;

/// Content of a trace file.
#[derive(Debug)]
pub struct PatternFile {
    /// The trace.
    pub pattern: CompletionTrace,
    /// A warning for each unknown key of the header.
    pub warnings: Vec<String>,
}

/// Reads a trace file, one line at a time. `otherwise_id` is the name of a trace without `id`.
///
/// # Errors
/// If the file cannot be read, or a line is invalid.
pub fn read(mut file: impl BufRead, otherwise_id: &str) -> Result<PatternFile, ScenarioError> {
    let mut line = Vec::new();
    next_line(&mut file, &mut line, 1, MAX_HEADER_BYTES)?;
    // Some editors start a text with a byte order mark.
    let header = text(&line, 1)?.trim_start_matches('\u{feff}');
    let (mut pattern, unknown_keys) =
        header::read(header, otherwise_id).map_err(|message| at(1, message))?;
    let mut intervals = Intervals::default();
    let mut number = 1;
    while next_line(&mut file, &mut line, number + 1, MAX_LINE_BYTES)? {
        number += 1;
        let interval = interval(text(&line, number)?).map_err(|message| at(number, message))?;
        if let Some(interval) = interval {
            intervals.push(interval);
        }
    }
    if intervals.total_ns() < pattern.end_ns {
        let (total_ns, end_ns) = (intervals.total_ns(), pattern.end_ns);
        let message = format!(
            "the file ends here, with {} interrupts of {total_ns} ns together; they must reach \
             end_ns, {end_ns} ns",
            intervals.count()
        );
        return Err(at(number, message));
    }
    pattern.queues = vec![intervals];
    let warning = |key: &String| format!("line 1: unknown key {key:?} is ignored");
    Ok(PatternFile {
        pattern,
        warnings: unknown_keys.iter().map(warning).collect(),
    })
}

fn at(number: u64, message: impl Display) -> ScenarioError {
    ScenarioError::Setting(format!("line {number}: {message}"))
}

fn text(line: &[u8], number: u64) -> Result<&str, ScenarioError> {
    let text = std::str::from_utf8(line).map_err(|_| at(number, "is not UTF-8 text"))?;
    Ok(text.trim())
}

/// Reads a line without its end into `line`; returns `false` at the end of the file.
fn next_line(
    file: &mut impl BufRead,
    line: &mut Vec<u8>,
    number: u64,
    max_bytes: u64,
) -> Result<bool, ScenarioError> {
    line.clear();
    let limited = file.by_ref().take(max_bytes).read_until(b'\n', line);
    let read = limited.map_err(ScenarioError::Io)?;
    if read as u64 == max_bytes && line.last() != Some(&b'\n') {
        let message = format!("is longer than {} bytes", max_bytes - 1);
        return Err(at(number, message));
    }
    Ok(read > 0)
}

/// Parses `gap_ns delay_ns`; `None` for an empty line.
fn interval(line: &str) -> Result<Option<Interval>, String> {
    let mut words = line.split_ascii_whitespace();
    let Some(gap) = words.next() else {
        return Ok(None);
    };
    let (Some(delay), None) = (words.next(), words.next()) else {
        let words = line.split_ascii_whitespace().count();
        return Err(format!(
            "has {words} numbers; allowed: two, gap_ns and delay_ns"
        ));
    };
    let interval = Interval {
        gap_ns: number("gap_ns", gap)?,
        delay_ns: number("delay_ns", delay)?,
    };
    check("gap_ns", interval.gap_ns, 1, MAX_NS)?;
    check("delay_ns", interval.delay_ns, 0, MAX_NS)?;
    Ok(Some(interval))
}

fn number(name: &str, word: &str) -> Result<u64, String> {
    // A sign is rejected, too: the format has no "+1".
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = if digits { word.parse().ok() } else { None };
    parsed.ok_or_else(|| {
        format!("{name} is {word:?}; allowed: a whole number of ns, at most {MAX_NS}")
    })
}
