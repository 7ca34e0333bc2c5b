//! Frames of a pcap or pcapng file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use pcap_parser::pcapng::Block;
use pcap_parser::{Linktype, PcapBlockOwned, PcapError, create_reader};

/// Maximum length of a block: a record of the longest packet with any usual option.
const BLOCK_LIMIT_BYTES: usize = 1 << 20;

/// The next frame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NextFrame<'a> {
    Bytes(&'a [u8]),
    /// The capture holds only its beginning.
    Cut,
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
}

/// The contents of a file.
#[derive(Debug, Default)]
struct Records {
    bytes: Vec<u8>,
    /// The end of each frame in `bytes`; the next starts there.
    ends: Vec<Record>,
}

#[derive(Debug, Clone, Copy)]
struct Record {
    end: usize,
    is_cut: bool,
}

/// Information about a file.
#[derive(Debug)]
pub struct CaptureContents {
    pub capture: Capture,
    pub frames: usize,
    pub longest_bytes: usize,
    /// Why the file ends prematurely. Complete frames are sent even then.
    pub broken: Option<String>,
}

impl Capture {
    /// Sets the number of passes through the file, without end if `None`.
    pub fn with_passes(mut self, passes: Option<u64>) -> Self {
        self.again = passes.map(|passes| passes.saturating_sub(1));
        self
    }

    pub(crate) fn next(&mut self) -> NextFrame<'_> {
        if self.next == self.records.ends.len() {
            match &mut self.again {
                _ if self.next == 0 => return NextFrame::End,
                Some(0) => return NextFrame::End,
                Some(again) => *again -= 1,
                None => {}
            }
            self.next = 0;
        }
        let start = match self.next {
            0 => 0,
            next => self.records.ends[next - 1].end,
        };
        let record = self.records.ends[self.next];
        self.next += 1;
        if record.is_cut {
            return NextFrame::Cut;
        }
        NextFrame::Bytes(&self.records.bytes[start..record.end])
    }
}

/// Reads a whole file into memory.
///
/// # Errors
/// Returns an error if the file has no frame that can be sent.
pub fn read_capture(path: &Path) -> Result<CaptureContents, String> {
    let named = |what: String| format!("{}: {what}", path.display());
    let file = File::open(path).map_err(|error| named(error.to_string()))?;
    let is_directory = file.metadata().is_ok_and(|data| data.is_dir());
    if is_directory {
        return Err(named("is a directory, not a pcap or pcapng file".into()));
    }
    read(BufReader::new(file)).map_err(named)
}

fn read(from: impl Read + Send) -> Result<CaptureContents, String> {
    let mut records = Records::default();
    let mut links = Links::default();
    let mut broken = None;
    let mut reader = match create_reader(BLOCK_LIMIT_BYTES, from) {
        Ok(reader) => reader,
        Err(PcapError::Eof) => return Err("is empty: not even the header of a capture".into()),
        Err(PcapError::Incomplete(_)) => return Err("ends within the header of a capture".into()),
        Err(PcapError::ReadError) => return Err("cannot be read".into()),
        Err(_) => return Err("is neither pcap nor pcapng".into()),
    };
    // Bytes left at the last request for more: the same number again is the end.
    let mut last_left = None;
    loop {
        match reader.next() {
            Ok((used, block)) => {
                let taken = records.take(block, &mut links);
                reader.consume(used);
                last_left = None;
                taken?;
            }
            Err(PcapError::Eof) => break,
            Err(PcapError::Incomplete(_)) => {
                let left = reader.data().len();
                if last_left == Some(left) || reader.reader_exhausted() && last_left.is_some() {
                    broken = Some("ends within a record: what comes before is whole".to_owned());
                    break;
                }
                last_left = Some(left);
                reader.refill().map_err(|_| "cannot be read".to_owned())?;
            }
            Err(error) => {
                broken = Some(what_is_wrong(&error, records.ends.len()));
                break;
            }
        }
    }
    if records.ends.is_empty() {
        let why = broken.unwrap_or_else(|| "has no packets".into());
        return Err(why);
    }
    Ok(records.found(broken))
}

fn what_is_wrong<I>(error: &PcapError<I>, records: usize) -> String {
    let what = match error {
        PcapError::UnexpectedEof => "ends within a record",
        PcapError::BufferTooSmall => "has a record of more than 1 MiB",
        PcapError::ReadError => "cannot be read further",
        _ => "has bytes outside of a record",
    };
    format!("{what}, after {records} complete frames")
}

/// The link type of each interface of a file.
#[derive(Debug, Default)]
struct Links {
    of_interface: Vec<Linktype>,
    snap_bytes: Vec<u32>,
}

impl Links {
    fn check(&self, interface: usize) -> Result<u32, String> {
        match self.of_interface.get(interface) {
            Some(&Linktype::ETHERNET) => Ok(self.snap_bytes[interface]),
            Some(other) => Err(format!(
                "has packets of link type {}; only Ethernet frames (1) can be sent",
                other.0
            )),
            None => Err(format!(
                "has a packet of interface {interface}, which it does not describe"
            )),
        }
    }

    fn add(&mut self, kind: Linktype, snap_bytes: u32) {
        self.of_interface.push(kind);
        self.snap_bytes.push(snap_bytes);
    }
}

impl Records {
    fn take(&mut self, block: PcapBlockOwned<'_>, links: &mut Links) -> Result<(), String> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => links.add(header.network, header.snaplen),
            PcapBlockOwned::Legacy(record) => {
                links.check(0)?;
                self.push(record.data, record.caplen, record.origlen);
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => *links = Links::default(),
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                links.add(interface.linktype, interface.snaplen);
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                links.check(packet.if_id as usize)?;
                self.push(packet.data, packet.caplen, packet.origlen);
            }
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                let snap_bytes = match links.check(0)? {
                    0 => u32::MAX,
                    snap_bytes => snap_bytes,
                };
                self.push(packet.data, packet.origlen.min(snap_bytes), packet.origlen);
            }
            PcapBlockOwned::NG(_) => {}
        }
        Ok(())
    }

    /// `data` can have padding after the captured bytes.
    fn push(&mut self, data: &[u8], captured: u32, original: u32) {
        let bytes = &data[..data.len().min(captured as usize)];
        self.bytes.extend_from_slice(bytes);
        self.ends.push(Record {
            end: self.bytes.len(),
            is_cut: (bytes.len() as u64) < u64::from(original),
        });
    }

    fn found(self, broken: Option<String>) -> CaptureContents {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|record| record.end));
        let lengths = self.ends.iter().zip(starts);
        let longest = lengths.map(|(record, start)| record.end - start).max();
        CaptureContents {
            frames: self.ends.len(),
            longest_bytes: longest.unwrap_or(0),
            broken,
            capture: Capture {
                records: Arc::new(self),
                next: 0,
                again: Some(0),
            },
        }
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
