//! A file of finished runs.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use super::plan::Plan;

/// Maximum length of a line in a [`Book`]: ten thousand rows are 10 MB.
const MAX_LINE_BYTES: u64 = 1 << 26;

/// A file of finished runs, with a [`finished_line`](super::finished_line) each. Two sweeps must
/// not use the same file at once.
#[derive(Debug)]
pub struct Book(File);

impl Book {
    /// Opens or creates the file, and passes its rows to the runs of `plan`.
    ///
    /// # Errors
    /// If the file cannot be read, or a line is not a finished run; contains the line number.
    pub fn open(path: &Path, plan: &mut Plan) -> io::Result<Self> {
        let mut file = OpenOptions::new();
        let file = file.read(true).append(true).create(true).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(
                "not a regular file; finished runs would be lost",
            ));
        }
        let mut whole_bytes = 0;
        let mut lines = BufReader::new(&file);
        for number in 1_u64.. {
            let wrong = |why: String| io::Error::other(format!("line {number}: {why}"));
            let mut line = String::new();
            let mut limited = lines.by_ref().take(MAX_LINE_BYTES);
            let bytes = limited.read_line(&mut line)? as u64;
            if line.ends_with('\n') {
                plan.take(line.trim_end()).map_err(wrong)?;
                whole_bytes += bytes;
            } else if bytes == MAX_LINE_BYTES {
                return Err(wrong(format!("longer than {MAX_LINE_BYTES} bytes")));
            } else {
                if bytes > 0 {
                    // The process ended while it wrote this line.
                    file.set_len(whole_bytes)?;
                }
                break;
            }
        }
        Ok(Self(file))
    }

    /// Appends a [`finished_line`](super::finished_line).
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn add(&mut self, line: &str) -> io::Result<()> {
        self.0.write_all(format!("{line}\n").as_bytes())
    }
}
