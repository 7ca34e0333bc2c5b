//! Reading of traces.

use std::fmt;
use std::io::{self, BufRead};
use std::str::FromStr;

use taut_path::DropReason;
use taut_path::limit::CompletedCounts;
use taut_path::queue::StopReason;

use super::{
    BatchRecord, Event, FORMAT_VERSION, Head, Line, MAGIC, NOT_RETURNED, PacketRecord, more_name,
    stop_name,
};

/// Maximum length of a line.
const MAX_LINE_BYTES: u64 = 4096;

/// Error of a trace, which ends it.
#[derive(Debug)]
pub enum ReadError {
    /// The file cannot be read.
    Io(io::Error),
    /// A line cannot be parsed.
    Line {
        /// Its number, from 1.
        line: u64,
        /// The allowed content.
        allowed: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Line { line, allowed } => {
                write!(f, "line {line} cannot be parsed; allowed: {allowed}")
            }
        }
    }
}

impl std::error::Error for ReadError {}

const HEAD: &str = "taut-trace, 3, scenario=NAME, seed=N, taut=VERSION and, if it was sampled, \
                    sampled=HZ, with a tab between";
const LINE: &str = "row, NAME, LIMIT, or TIME_NS, KIND and its values, with a tab between";
const KIND: &str = "enqueue, dequeue, sent, mark, drop, blocked, completed, batch, limit, stopped, \
                    starved, stall, reset; inflight in a sampled trace";
const PACKET: &str = "BYTES (at least 1), FLOW, PRIORITY (0 to 15)";
const DROP: &str = "BYTES (at least 1), FLOW, PRIORITY (0 to 15) and the name of a reason";
const COMPLETED: &str = "BYTES, PACKETS";
const BATCH: &str = "UNITS, more or last, BLOCKED, and RETURNED_NS or -";
const LIMIT: &str = "UNITS";
const STOPPED: &str = "limit or ring_full";
const STALL: &str = "AGE_NS";
const NOTHING: &str = "no values after blocked, starved or reset";
const SHORT: &str = "text in lines of at most 4096 bytes";
const WHOLE: &str = "whole lines (the file ends within this one: was it cut off?)";

/// Reads a trace: its head, and then line by line. After an error it ends.
///
/// # Errors
/// If the first line cannot be read or is not a head of this version.
pub fn read<R: BufRead>(input: R) -> Result<(Head, Lines<R>), ReadError> {
    let mut lines = Lines {
        input,
        line: 0,
        ended: false,
    };
    let text = lines.text()?;
    let head = text.as_deref().and_then(head);
    let head = head.ok_or_else(|| lines.rejected(HEAD))?;
    Ok((head, lines))
}

/// The lines of a trace after the first.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    line: u64,
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// Returns the next line without its end; `None` at the end of the file.
    fn text(&mut self) -> Result<Option<String>, ReadError> {
        let mut bytes = Vec::new();
        self.line += 1;
        let mut limited = io::Read::take(&mut self.input, MAX_LINE_BYTES + 1);
        limited
            .read_until(b'\n', &mut bytes)
            .map_err(ReadError::Io)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let is_short = bytes.len() as u64 <= MAX_LINE_BYTES;
        // An incomplete line could parse as another one.
        if bytes.pop() != Some(b'\n') {
            return Err(self.rejected(if is_short { WHOLE } else { SHORT }));
        }
        let text = String::from_utf8(bytes).map_err(|_| self.rejected(SHORT))?;
        Ok(Some(text))
    }

    fn rejected(&self, allowed: &'static str) -> ReadError {
        let line = self.line;
        ReadError::Line { line, allowed }
    }

    fn line(&mut self) -> Result<Option<Line>, ReadError> {
        let Some(text) = self.text()? else {
            return Ok(None);
        };
        let line = line(&text).map_err(|allowed| self.rejected(allowed))?;
        Ok(Some(line))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = Result<Line, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let read = self.line();
        self.ended = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}

fn head(text: &str) -> Option<Head> {
    let fields: Vec<&str> = text.split('\t').collect();
    let [MAGIC, version, scenario, seed, taut, ref sampled @ ..] = fields[..] else {
        return None;
    };
    if number(version) != Some(FORMAT_VERSION) {
        return None;
    }
    Some(Head {
        scenario: scenario.strip_prefix("scenario=")?.to_owned(),
        seed: number(seed.strip_prefix("seed=")?)?,
        taut_version: taut.strip_prefix("taut=")?.to_owned(),
        sampled_hz: match sampled {
            [] => None,
            [hz] => Some(number(hz.strip_prefix("sampled=")?)?),
            _ => return None,
        },
    })
}

fn line(text: &str) -> Result<Line, &'static str> {
    let fields: Vec<&str> = text.split('\t').collect();
    match fields[..] {
        ["row", name, limit] => Ok(Line::Row {
            name: name.to_owned(),
            limit: limit.to_owned(),
        }),
        [time, kind, ref values @ ..] => Ok(Line::Event {
            at_ns: number(time).ok_or(LINE)?,
            event: event(kind, values)?,
        }),
        _ => Err(LINE),
    }
}

fn event(kind: &str, values: &[&str]) -> Result<Event, &'static str> {
    Ok(match kind {
        "enqueue" => Event::Enqueue(packet(values).ok_or(PACKET)?),
        "dequeue" => Event::Dequeue(packet(values).ok_or(PACKET)?),
        "sent" => Event::Sent(packet(values).ok_or(PACKET)?),
        "mark" => Event::Mark(packet(values).ok_or(PACKET)?),
        "drop" => dropped(values).ok_or(DROP)?,
        "completed" => Event::Completed(done(values).ok_or(COMPLETED)?),
        "batch" => Event::Batch(batch(values).ok_or(BATCH)?),
        "limit" => Event::Limit(only(values).ok_or(LIMIT)?),
        "inflight" => Event::InFlight(only(values).ok_or(LIMIT)?),
        "stopped" => Event::Stopped(stopped(values).ok_or(STOPPED)?),
        "stall" => Event::Stall {
            age_ns: only(values).ok_or(STALL)?,
        },
        "blocked" if values.is_empty() => Event::Blocked,
        "starved" if values.is_empty() => Event::Starved,
        "reset" if values.is_empty() => Event::Reset,
        "blocked" | "starved" | "reset" => return Err(NOTHING),
        _ => return Err(KIND),
    })
}

/// Parses digits only: the format has no `+1`.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

fn only<T: FromStr>(values: &[&str]) -> Option<T> {
    match *values {
        [value] => number(value),
        _ => None,
    }
}

fn packet(values: &[&str]) -> Option<PacketRecord> {
    let [bytes, flow, priority] = *values else {
        return None;
    };
    Some(PacketRecord {
        // A packet counts for at least 1, so 0 is never written.
        bytes: number(bytes).filter(|&bytes| bytes > 0)?,
        flow: number(flow)?,
        priority: number(priority).filter(|&priority| priority <= 15)?,
    })
}

fn dropped(values: &[&str]) -> Option<Event> {
    let (name, values) = values.split_last()?;
    let reason = DropReason::ALL.into_iter().find(|it| it.name() == *name)?;
    Some(Event::Drop(packet(values)?, reason))
}

fn done(values: &[&str]) -> Option<CompletedCounts> {
    let [bytes, packets] = *values else {
        return None;
    };
    Some(CompletedCounts {
        packets: number(packets)?,
        bytes: number(bytes)?,
    })
}

fn batch(values: &[&str]) -> Option<BatchRecord> {
    let [units, more, times_blocked, returned] = *values else {
        return None;
    };
    Some(BatchRecord {
        units: number(units)?,
        more: [true, false]
            .into_iter()
            .find(|&it| more_name(it) == more)?,
        times_blocked: number(times_blocked)?,
        sender_returned_ns: match returned {
            NOT_RETURNED => None,
            at_ns => Some(number(at_ns)?),
        },
    })
}

fn stopped(values: &[&str]) -> Option<StopReason> {
    let [name] = *values else {
        return None;
    };
    let all = [StopReason::Limit, StopReason::RingFull];
    all.into_iter().find(|&reason| stop_name(reason) == name)
}
