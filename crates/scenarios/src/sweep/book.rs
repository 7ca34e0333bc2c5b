//! Finished runs in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;

use super::plan::Plan;

/// A line of a [`Book`] that is longer is no finished run: ten thousand rows are 10 MB.
const MOST_LINE_BYTES: u64 = 1 << 26;

/// A file of finished runs, a line of [`finished_line`](super::finished_line) each. Two sweeps must
/// not use one file at once.
#[derive(Debug)]
pub struct Book(File);

impl Book {
    /// Opens the file, which need not be there, and gives the runs of `plan` their rows that are in
    /// it.
    ///
    /// # Errors
    /// If it cannot be read, or a line of it is no finished run; says which.
    pub fn open(path: &Path, plan: &mut Plan) -> io::Result<Self> {
        let mut file = OpenOptions::new();
        let file = file.read(true).append(true).create(true).open(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other(
                "it is no regular file, and would keep nothing",
            ));
        }
        let mut whole_bytes = 0;
        let mut lines = BufReader::new(&file);
        for number in 1_u64.. {
            let wrong = |why: String| io::Error::other(format!("line {number}: {why}"));
            let mut line = String::new();
            let mut limited = lines.by_ref().take(MOST_LINE_BYTES);
            let bytes = limited.read_line(&mut line)? as u64;
            if line.ends_with('\n') {
                plan.take(line.trim_end()).map_err(wrong)?;
                whole_bytes += bytes;
            } else if bytes == MOST_LINE_BYTES {
                return Err(wrong(format!("longer than {MOST_LINE_BYTES} bytes")));
            } else {
                if bytes > 0 {
                    // It was being written when the process ended.
                    file.set_len(whole_bytes)?;
                }
                break;
            }
        }
        Ok(Self(file))
    }

    /// Appends a line of [`finished_line`](super::finished_line).
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn add(&mut self, line: &str) -> io::Result<()> {
        self.0.write_all(format!("{line}\n").as_bytes())
    }
}
