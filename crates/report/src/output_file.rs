//! Options of files that a run writes: a report, a trace, a capture.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use taut_path::units::Size;

use crate::emit::write_failed;
use crate::{file, say};

/// Option of a report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct ReportFile {
    /// Write a report to FILE too: one HTML page that works offline
    ///
    /// FILE.svg writes only the charts: FILE-1.svg, FILE-2.svg.
    #[arg(id = "report", long = "report", value_name = "FILE", value_parser = report_path)]
    pub path: Option<PathBuf>,
}

/// Parses the path of a report. A report was Markdown in an earlier version if its name ended so.
fn report_path(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension() {
        Some(extension) if extension == "md" => {
            Err("the form is .md; allowed: a page, such as FILE.html, or charts, FILE.svg".into())
        }
        _ => Ok(path),
    }
}

/// Options of a trace file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct TraceFile {
    /// Write every event of the rows' queues to FILE
    ///
    /// `taut sim` runs the rows a second time to record it. `taut lab` keeps the trace of the live
    /// run in memory until the end. docs/trace-format.md describes the file, which grows with the
    /// rows, their rate and their duration: about 10 MB for each second of a full 1 Gbit/s link.
    /// Its size is printed at the end.
    #[arg(id = "trace", long = "trace", value_name = "FILE")]
    pub path: Option<PathBuf>,

    /// Maximum trace size; a longer trace is discarded
    #[arg(id = "trace_max_size", long = "trace-max-size", value_name = "SIZE", requires = "trace",
          default_value = "256m", value_parser = Size::from_str)]
    pub max: Size,
}

/// Options of a capture file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
pub struct PcapFile {
    /// Write the frames on the wire to FILE, as pcapng
    ///
    /// The simulator runs the rows a second time to record it. Headers have its sequence and
    /// acknowledgement numbers, SACK, ECN and windows (scaled by 7), without a payload. The file
    /// grows by about 13 MB for each second of a full 1 Gbit/s link. docs/simulator.md describes
    /// it. Only scenarios with two hosts have a wire.
    #[arg(id = "pcap", long = "pcap", value_name = "FILE")]
    pub path: Option<PathBuf>,

    /// Maximum capture size; a longer capture is discarded
    #[arg(id = "pcap_max_size", long = "pcap-max-size", value_name = "SIZE", requires = "pcap",
          default_value = "1g", value_parser = Size::from_str)]
    pub max: Size,
}

impl PcapFile {
    /// Writes the file if a capture was requested. `fill` returns the number of bytes.
    ///
    /// # Errors
    /// The exit code, after a message, if the file cannot be written.
    pub fn write(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<u64>,
    ) -> Result<(), ExitCode> {
        let limits = ("capture", PCAP_MAX_SIZE, self.max);
        write_bounded(self.path.as_deref(), limits, fill)
    }
}

const TRACE_MAX_SIZE: &str = "--trace-max-size";
const PCAP_MAX_SIZE: &str = "--pcap-max-size";

impl TraceFile {
    /// Returns the maximum number of bytes; `None` if no trace was requested.
    pub fn max_bytes(&self) -> Option<u64> {
        self.path.is_some().then_some(self.max.0)
    }

    /// Writes the file if a trace was requested. `fill` returns the number of bytes.
    ///
    /// # Errors
    /// The exit code, after a message, if the file cannot be written.
    pub fn write(
        &self,
        fill: impl FnOnce(&mut dyn Write) -> io::Result<u64>,
    ) -> Result<(), ExitCode> {
        let limits = ("trace", TRACE_MAX_SIZE, self.max);
        write_bounded(self.path.as_deref(), limits, fill)
    }

    /// Returns the error of a trace that exceeds the maximum.
    pub fn too_long(&self) -> io::Error {
        too_long(TRACE_MAX_SIZE)
    }
}

/// Writes a complete file or none, if a `path` is given. `what` describes it, and `option` sets its
/// maximum size.
fn write_bounded(
    path: Option<&Path>,
    (what, option, max): (&str, &'static str, Size),
    fill: impl FnOnce(&mut dyn Write) -> io::Result<u64>,
) -> Result<(), ExitCode> {
    let Some(path) = path else { return Ok(()) };
    let mut bytes = 0;
    let fill = |file: &mut File| {
        let mut buffered = BufWriter::new(Bounded {
            file,
            left_bytes: max.0,
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

/// Rejects bytes beyond the maximum.
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
        "longer than {option}; increase it, select fewer rows, or shorten them"
    ))
}
