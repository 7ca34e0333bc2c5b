//! Frames of a pcap or pcapng file.

mod input;
mod pcap;
mod pcapng;
mod records;
mod times;
mod zstd;

use std::path::Path;
use std::sync::Arc;

use crate::account::RejectReason;
use input::{Input, Order};
use records::Records;

/// The next frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextFrame<'a> {
    Bytes(&'a [u8]),
    /// A packet that cannot be sent.
    Rejected(RejectReason),
    /// The end of the capture.
    End,
}

/// The frames of a file, in memory, sent once or repeatedly.
#[derive(Debug, Clone)]
pub struct Capture {
    records: Arc<Records>,
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
    /// Time from the first packet to the last, in ns, without steps of the clock.
    pub length_ns: u64,
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
        self.records.all.len()
    }

    /// Returns the time of the next packet after the first one, in ns. A repetition starts at the
    /// time of the last packet.
    pub(crate) fn next_due_ns(&self) -> u64 {
        let all = &self.records.all;
        let record = all.get(self.next).or(all.last());
        let due_ns = record.map_or(0, |record| record.due_ns);
        self.passed_ns.saturating_add(due_ns)
    }

    pub(crate) fn next(&mut self) -> NextFrame<'_> {
        let all = &self.records.all;
        if self.next == all.len() {
            match &mut self.again {
                _ if self.next == 0 => return NextFrame::End,
                Some(0) => return NextFrame::End,
                Some(again) => *again -= 1,
                None => {}
            }
            self.passed_ns = self.next_due_ns();
            self.next = 0;
        }
        let start = match self.next {
            0 => 0,
            next => self.records.all[next - 1].end,
        };
        let record = self.records.all[self.next];
        self.next += 1;
        match record.reject {
            Some(reason) => NextFrame::Rejected(reason),
            None => NextFrame::Bytes(&self.records.bytes[start..record.end]),
        }
    }
}

/// Reads a whole file into memory; `-` is standard input. gzip and zstd are decompressed.
///
/// # Errors
/// Returns an error if the file is not a capture, or has no packets.
pub fn read_capture(path: &Path) -> Result<CaptureContents, String> {
    let read = Input::open(path).and_then(read);
    read.map_err(|what| format!("{}: {what}", path.display()))
}

fn read(mut input: Input<'_>) -> Result<CaptureContents, String> {
    let mut magic = Vec::new();
    input.read(4, &mut magic)?;
    if magic.is_empty() {
        return Err("is empty: not even the header of a capture".into());
    }
    if magic.len() < 4 {
        return Err("ends within the header of a capture".into());
    }
    let mut records = Records::default();
    let read = match Order::Big.u32(&magic, 0) {
        pcapng::SECTION => pcapng::read(&magic, &mut input, &mut records),
        _ if pcap::is_pcap(&magic) => pcap::read(&magic, &mut input, &mut records),
        _ => return Err("is neither pcap nor pcapng".into()),
    };
    let (packets, at_bytes) = (records.all.len(), records.at_bytes);
    match read {
        Err(what) if packets == 0 => {
            Err(format!("{what}, at offset {at_bytes}, before any packet"))
        }
        Ok(()) if packets == 0 => Err("has no packets".into()),
        read => {
            let broken = |what| format!("{what}, at offset {at_bytes}, after {packets} packets");
            Ok(contents(records, read.err().map(broken)))
        }
    }
}

fn contents(records: Records, broken: Option<String>) -> CaptureContents {
    let starts = std::iter::once(0).chain(records.all.iter().map(|record| record.end));
    let lengths = records.all.iter().zip(starts);
    let longest = lengths.map(|(record, start)| record.end - start).max();
    CaptureContents {
        frames: records.all.len(),
        longest_bytes: longest.unwrap_or(0),
        broken,
        other_links: records.other_links.iter().copied().collect(),
        length_ns: records.all.last().map_or(0, |record| record.due_ns),
        clock_steps: records.times.steps,
        capture: Capture {
            records: Arc::new(records),
            next: 0,
            again: Some(0),
            passed_ns: 0,
        },
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod unusual;
