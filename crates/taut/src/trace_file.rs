//! The file that a trace goes to, and what live queues did until it is written.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use taut_measure::trace::{Head, Recorder, Tape};
use taut_path::units;
use taut_path::units::Size;

use crate::output::{self, write_failed};
use crate::talk::say;
use taut_report::file;

/// What a line of a trace has at least, in bytes, but for the rare short ones: a mention of a packet.
const LINE_BYTES: u64 = 32;

/// Whether a trace is wanted, and where.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct TraceFile {
    /// Write every event of the rows' queues too; in the simulator the rows are run again for it
    ///
    /// docs/trace-format.md says what is in the file. It grows with the rows, their rate and their
    /// duration: some 10 MB for each second of a full 1 Gbit/s link. How many bytes were written
    /// is said at the end. A live trace is kept in memory until then, in about as many bytes.
    #[arg(id = "trace", long = "trace", value_name = "FILE")]
    pub path: Option<PathBuf>,

    /// A longer trace is not written
    #[arg(id = "trace_most", long = "trace-most", value_name = "SIZE", requires = "trace",
          default_value = "256m", value_parser = parse_size)]
    pub most: Size,
}

impl Default for TraceFile {
    fn default() -> Self {
        Self {
            path: None,
            most: Size(0),
        }
    }
}

fn parse_size(text: &str) -> Result<Size, String> {
    let bytes = units::parse_size_bytes(text).map_err(|error| error.to_string())?;
    Ok(Size(bytes))
}

/// Whether the wire is wanted, and where.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct PcapFile {
    /// Write what crosses the wire too, as pcapng for Wireshark's tools; the rows are run again for it
    ///
    /// Headers are made up of what the simulator knows: sequence and acknowledgement numbers, SACK, ECN and
    /// windows (scaled by 7) are right, and there is no payload. Some 13 MB for each second of a full 1 Gbit/s
    /// link; docs/simulator.md says more.
    #[arg(id = "pcap", long = "pcap", value_name = "FILE")]
    pub path: Option<PathBuf>,

    /// A longer capture is not written
    #[arg(id = "pcap_most", long = "pcap-most", value_name = "SIZE", requires = "pcap",
          default_value = "1g", value_parser = parse_size)]
    pub most: Size,
}

impl Default for PcapFile {
    fn default() -> Self {
        Self {
            path: None,
            most: Size(0),
        }
    }
}

impl PcapFile {
    /// Writes what `fill` writes, if a capture is wanted; `fill` says how many bytes that were.
    pub fn write(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<u64>,
    ) -> Result<(), ExitCode> {
        match &self.path {
            Some(path) => write_bounded(path, ("capture", "--pcap-most", self.most), fill),
            None => Ok(()),
        }
    }
}

impl TraceFile {
    /// Fails before the run if the file's directory cannot be.
    pub fn check(&self) -> Result<(), ExitCode> {
        output::check("trace", self.path.as_deref())
    }

    /// Writes what `fill` writes, if a trace is wanted; `fill` says how many bytes that were.
    pub fn write(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<u64>,
    ) -> Result<(), ExitCode> {
        match &self.path {
            Some(path) => write_bounded(path, ("trace", "--trace-most", self.most), fill),
            None => Ok(()),
        }
    }
}

/// Writes a file, whole or not at all. It is called `what`, and `option` says how long it may be.
fn write_bounded(
    path: &Path,
    (what, option, most): (&str, &'static str, Size),
    fill: impl FnOnce(&mut dyn Write) -> io::Result<u64>,
) -> Result<(), ExitCode> {
    let mut bytes = 0;
    let fill = |file: &mut File| {
        let mut buffered = BufWriter::new(Bounded {
            file,
            left_bytes: most.0,
            option,
        });
        bytes = fill(&mut buffered)?;
        buffered.flush()
    };
    file::replace_with(path, fill).map_err(|error| write_failed(what, path, &error))?;
    say!(
        "taut: wrote a {what} of {bytes} bytes to {}",
        path.display()
    );
    Ok(())
}

/// Refuses what would be too much.
struct Bounded<'a> {
    file: &'a mut File,
    left_bytes: u64,
    option: &'static str,
}

impl Write for Bounded<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let left_bytes = self.left_bytes.checked_sub(buffer.len() as u64);
        self.left_bytes = left_bytes.ok_or_else(|| too_long(self.option))?;
        self.file.write_all(buffer)?;
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn too_long(option: &str) -> io::Error {
    io::Error::other(format!(
        "longer than {option}; allow more, choose fewer rows, or let them be shorter"
    ))
}

/// What the queues of a live run did, row by row.
#[derive(Debug)]
pub struct Tapes {
    rows: Vec<(String, String, Tape)>,
    /// `None` if no trace is wanted.
    left_events: Option<usize>,
    is_whole: bool,
}

impl Tapes {
    /// None yet; none ever, unless `file` is wanted.
    pub fn new(file: &TraceFile) -> Self {
        let most = usize::try_from(file.most.0 / LINE_BYTES).unwrap_or(usize::MAX);
        Self {
            rows: Vec::new(),
            left_events: file.path.is_some().then_some(most),
            is_whole: true,
        }
    }

    /// How many events the tape of the next row may have, if there is to be one.
    pub fn left_events(&self) -> Option<usize> {
        self.left_events
    }

    /// Keeps what a row's queue did.
    pub fn push(&mut self, name: &str, limit: &str, tape: Option<Tape>) {
        let (Some(left), Some(tape)) = (&mut self.left_events, tape) else {
            return;
        };
        *left = left.saturating_sub(tape.events());
        self.is_whole &= tape.lost_events() == 0;
        self.rows.push((name.to_owned(), limit.to_owned(), tape));
    }

    /// Writes it all, if a trace is wanted and there was a row.
    pub fn write(&self, file: &TraceFile, scenario: &str, seed: u64) -> Result<(), ExitCode> {
        if self.rows.is_empty() {
            return Ok(());
        }
        file.write(|out| {
            if !self.is_whole {
                return Err(too_long("--trace-most"));
            }
            let head = Head {
                scenario: scenario.to_owned(),
                seed,
                taut_version: env!("CARGO_PKG_VERSION").to_owned(),
                sampled_hz: None,
            };
            let mut recorder = Recorder::new(out, &head);
            for (name, limit, tape) in &self.rows {
                tape.write(name, limit, &mut recorder);
            }
            recorder.finish()
        })
    }
}
