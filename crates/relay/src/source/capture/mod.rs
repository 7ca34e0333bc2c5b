//! Frames of a pcap or pcapng file.

mod input;
mod pcap;
mod pcapng;
mod reader;
mod records;

use std::path::Path;

use input::Input;
use reader::Reader;
use records::{Record, Records};

/// The frames of a file, in memory, sent once or repeatedly.
#[derive(Debug, Clone)]
pub struct Capture {
    /// The whole file.
    bytes: Vec<u8>,
    records: Vec<Record>,
    next: usize,
    /// Remaining repetitions.
    again: Option<u64>,
    /// Duration of the passes that ended, in ns.
    passed_ns: u64,
}

/// Information about a file.
#[derive(Debug)]
pub struct CaptureContents {
    pub capture: Capture,
    pub frames: usize,
    pub longest_bytes: usize,
    /// Why the file was not read to its end, and where. Complete frames are sent even then.
    pub broken: Option<String>,
    /// Link types other than Ethernet, whose packets cannot be sent.
    pub other_links: Vec<u16>,
    /// Steps of the clock in the timestamps: backwards, or by more than a day.
    pub clock_steps: u64,
}

impl Capture {
    /// Sets the number of passes through the file, without end if `None`.
    pub fn with_passes(mut self, passes: Option<u64>) -> Self {
        self.again = passes.map(|passes| passes.saturating_sub(1));
        self
    }

    /// Returns the number of packets in the file.
    pub(crate) fn packets(&self) -> usize {
        self.records.len()
    }

    /// Returns the time of the next packet after the first one, in ns. A repetition starts at the
    /// time of the last packet.
    pub(crate) fn next_due_ns(&self) -> u64 {
        let record = self.records.get(self.next).or(self.records.last());
        let due_ns = record.map_or(0, |record| record.due_ns);
        self.passed_ns.saturating_add(due_ns)
    }

    /// Returns the next frame, or why it cannot be sent; `None` at the end of the capture.
    pub(crate) fn next(&mut self) -> Option<Result<&[u8], &'static str>> {
        if self.next == self.records.len() {
            match &mut self.again {
                Some(0) => return None,
                Some(again) => *again -= 1,
                None => {}
            }
            self.passed_ns = self.next_due_ns();
            self.next = 0;
        }
        let record = &self.records[self.next];
        self.next += 1;
        let frame = record.frame.clone();
        Some(frame.map(|range| &self.bytes[range]))
    }
}

/// Reads a whole file into memory; `-` is standard input. gzip and zstd are decompressed.
///
/// # Errors
/// Returns an error if the file is not a capture, or has no packets.
pub fn read_capture(path: &Path) -> Result<CaptureContents, String> {
    let read = Input::open(path).and_then(contents);
    read.map_err(|what| format!("{}: {what}", path.display()))
}

fn contents(input: Input) -> Result<CaptureContents, String> {
    let Input { bytes, cut_off } = input;
    let mut reader = Reader::new(&bytes, cut_off.as_deref());
    if !reader.begin()? {
        return Err("is empty: not even the header of a capture".into());
    }
    reader.take(4, format_args!("the header of a capture"))?;
    reader.at = 0;
    let mut records = Records::default();
    let read = match pcap::format(&bytes) {
        Some(format) => pcap::read(format, &mut reader, &mut records),
        None if pcapng::is_pcapng(&bytes) => pcapng::read(&mut reader, &mut records),
        None => return Err("is neither pcap nor pcapng".into()),
    };
    let (packets, at_bytes) = (records.all.len(), reader.record_at);
    let broken = match read {
        Err(what) if packets == 0 => {
            return Err(format!("{what}, at offset {at_bytes}, before any packet"));
        }
        Ok(()) if packets == 0 => return Err("has no packets".into()),
        read => read.err(),
    };
    let frames = records
        .all
        .iter()
        .filter_map(|record| record.frame.as_ref().ok());
    Ok(CaptureContents {
        frames: packets,
        longest_bytes: frames.map(|frame| frame.len()).max().unwrap_or(0),
        broken: broken.map(|what| format!("{what}, at offset {at_bytes}, after {packets} packets")),
        other_links: records.other_links.into_iter().collect(),
        clock_steps: records.times.steps,
        capture: Capture {
            bytes,
            records: records.all,
            next: 0,
            again: Some(0),
            passed_ns: 0,
        },
    })
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unusual;
