//! Reading of traces.

use std::io::{self, BufRead};
use std::str::{FromStr, Split};

use taut_path::DropReason;
use taut_path::limit::CompletedCounts;
use taut_path::queue::StopReason;
use thiserror::Error;

use super::{
    BatchRecord, Event, FORMAT_VERSION, Head, Line, MAGIC, NOT_RETURNED, PacketRecord, more_name,
    stop_name,
};

/// Maximum length of a line.
const MAX_LINE_BYTES: u64 = 4096;

/// Error of a trace, which ends it.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A line cannot be parsed.
    #[error("line {line} cannot be parsed; allowed: {allowed}")]
    Line {
        /// Its number, from 1.
        line: u64,
        /// The allowed content.
        allowed: &'static str,
    },
}

const HEAD: &str = "taut-trace, 3, scenario=NAME, seed=N, taut=VERSION, with a tab between";
const LINE: &str = "row, NAME, LIMIT, or TIME_NS, KIND and its values, with a tab between";
const KIND: &str = "enqueue, dequeue, sent, mark, drop, blocked, completed, batch, limit, stopped, \
                    starved, stall, reset";
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
        limited.read_until(b'\n', &mut bytes)?;
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
    let [MAGIC, version, scenario, seed, taut] = fields[..] else {
        return None;
    };
    if number(version) != Some(FORMAT_VERSION) {
        return None;
    }
    Some(Head {
        scenario: scenario.strip_prefix("scenario=")?.to_owned(),
        seed: number(seed.strip_prefix("seed=")?)?,
        taut_version: taut.strip_prefix("taut=")?.to_owned(),
    })
}

fn line(text: &str) -> Result<Line, &'static str> {
    let mut fields = text.split('\t');
    let (first, second) = fields.next().zip(fields.next()).ok_or(LINE)?;
    if first == "row" {
        let (limit, None) = (fields.next().ok_or(LINE)?, fields.next()) else {
            return Err(LINE);
        };
        return Ok(Line::Row {
            name: second.to_owned(),
            limit: limit.to_owned(),
        });
    }
    Ok(Line::Event {
        at_ns: number(first).ok_or(LINE)?,
        event: event(second, &mut fields)?,
    })
}

/// The fields of a line that are not parsed yet.
type Values<'t> = Split<'t, char>;

fn event(kind: &str, values: &mut Values<'_>) -> Result<Event, &'static str> {
    let (event, allowed) = match kind {
        "enqueue" => (packet(values).map(Event::Enqueue), PACKET),
        "dequeue" => (packet(values).map(Event::Dequeue), PACKET),
        "sent" => (packet(values).map(Event::Sent), PACKET),
        "mark" => (packet(values).map(Event::Mark), PACKET),
        "drop" => (dropped(values), DROP),
        "completed" => (completed(values).map(Event::Completed), COMPLETED),
        "batch" => (batch(values).map(Event::Batch), BATCH),
        "limit" => (next(values).map(Event::Limit), LIMIT),
        "stopped" => (stopped(values).map(Event::Stopped), STOPPED),
        "stall" => (next(values).map(|age_ns| Event::Stall { age_ns }), STALL),
        "blocked" => (Some(Event::Blocked), NOTHING),
        "starved" => (Some(Event::Starved), NOTHING),
        "reset" => (Some(Event::Reset), NOTHING),
        _ => return Err(KIND),
    };
    let is_whole = values.next().is_none();
    event.filter(|_| is_whole).ok_or(allowed)
}

/// Parses digits only: the format has no `+1`.
fn number<T: FromStr>(text: &str) -> Option<T> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

fn next<T: FromStr>(values: &mut Values<'_>) -> Option<T> {
    number(values.next()?)
}

fn packet(values: &mut Values<'_>) -> Option<PacketRecord> {
    Some(PacketRecord {
        // A packet counts for at least 1, so 0 is never written.
        bytes: next(values).filter(|&bytes| bytes > 0)?,
        flow: next(values)?,
        priority: next(values).filter(|&priority| priority <= 15)?,
    })
}

fn dropped(values: &mut Values<'_>) -> Option<Event> {
    let (packet, name) = (packet(values)?, values.next()?);
    let reason = DropReason::ALL.into_iter().find(|it| it.name() == name)?;
    Some(Event::Drop(packet, reason))
}

fn completed(values: &mut Values<'_>) -> Option<CompletedCounts> {
    Some(CompletedCounts {
        bytes: next(values)?,
        packets: next(values)?,
    })
}

fn batch(values: &mut Values<'_>) -> Option<BatchRecord> {
    let more = |name: &str| [true, false].into_iter().find(|&it| more_name(it) == name);
    Some(BatchRecord {
        units: next(values)?,
        more: more(values.next()?)?,
        times_blocked: next(values)?,
        sender_returned_ns: match values.next()? {
            NOT_RETURNED => None,
            at_ns => Some(number(at_ns)?),
        },
    })
}

fn stopped(values: &mut Values<'_>) -> Option<StopReason> {
    let name = values.next()?;
    let all = [StopReason::Limit, StopReason::RingFull];
    all.into_iter().find(|&reason| stop_name(reason) == name)
}
