//! The bytes of a capture: from a file or standard input, decompressed, with their offset.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use super::zstd::Zstd;

/// Maximum length of decompressed input and of standard input, in bytes. A small file can
/// decompress to any length, and the frames stay in memory.
const MAX_UNSIZED_BYTES: u64 = 1 << 30;
/// Compressed formats: first bytes, and name. gzip and zstd are supported.
const COMPRESSED: [(&[u8], &str); 5] = [
    (&[0x1f, 0x8b], "gzip"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (&[0xfd, b'7', b'z', b'X'], "xz"),
    (b"BZh", "bzip2"),
    (&[0x04, 0x22, 0x4d, 0x18], "lz4"),
];

/// Byte order of the numbers in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    /// Returns the 16-bit number at `at`. The caller has checked the length.
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let number = [bytes[at], bytes[at + 1]];
        match self {
            Self::Big => u16::from_be_bytes(number),
            Self::Little => u16::from_le_bytes(number),
        }
    }

    /// Returns the 32-bit number at `at`. The caller has checked the length.
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let halves = [self.u16(bytes, at), self.u16(bytes, at + 2)].map(u32::from);
        match self {
            Self::Big => halves[0] << 16 | halves[1],
            Self::Little => halves[1] << 16 | halves[0],
        }
    }

    /// Returns the 64-bit number at the start of `bytes`. The caller has checked the length.
    pub fn u64(self, bytes: &[u8]) -> u64 {
        let halves = [self.u32(bytes, 0), self.u32(bytes, 4)].map(u64::from);
        match self {
            Self::Big => halves[0] << 32 | halves[1],
            Self::Little => halves[1] << 32 | halves[0],
        }
    }
}

/// Reads a capture, and counts its bytes.
pub(super) struct Input<'a> {
    from: Box<dyn Read + 'a>,
    offset: u64,
    max_bytes: u64,
}

impl<'a> Input<'a> {
    /// Opens a file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Input<'static>, String> {
        if path == Path::new("-") {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                return Err("standard input is a terminal: redirect a capture into it".into());
            }
            return Input::new(stdin.lock(), MAX_UNSIZED_BYTES, MAX_UNSIZED_BYTES);
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err("is a directory, not a pcap or pcapng file".into());
        }
        Input::new(BufReader::new(file), u64::MAX, MAX_UNSIZED_BYTES)
    }

    /// Decompresses `from` if it is compressed. It can have `max_bytes`, decompressed
    /// `max_unpacked_bytes`.
    pub fn new(
        mut from: impl BufRead + 'a,
        max_bytes: u64,
        max_unpacked_bytes: u64,
    ) -> Result<Self, String> {
        let mut start = Vec::new();
        let read = from.by_ref().take(4).read_to_end(&mut start);
        read.map_err(|error| format!("cannot be read: {error}"))?;
        let format = COMPRESSED
            .iter()
            .find(|(magic, _)| start.starts_with(magic));
        let whole = Cursor::new(start).chain(from);
        let (from, max_bytes): (Box<dyn Read + 'a>, u64) = match format {
            None => (Box::new(whole), max_bytes),
            Some((_, "gzip")) => (Box::new(MultiGzDecoder::new(whole)), max_unpacked_bytes),
            Some((_, "zstd")) => (Box::new(Zstd::new(whole)), max_unpacked_bytes),
            Some((_, name)) => {
                return Err(format!(
                    "is compressed with {name}; gzip and zstd are supported"
                ));
            }
        };
        // The small reads of headers would otherwise each call the decompressor.
        let from = Box::new(BufReader::new(from));
        Ok(Self {
            from,
            offset: 0,
            max_bytes,
        })
    }

    /// Returns the position in the decompressed capture, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads `length` bytes into `bytes`, or fewer at the end of the input.
    pub fn read(&mut self, length: u64, bytes: &mut Vec<u8>) -> Result<(), String> {
        bytes.clear();
        self.bounded(length)?;
        let read = self.from.by_ref().take(length).read_to_end(bytes);
        self.offset += bytes.len() as u64;
        read.map(drop).map_err(unreadable)
    }

    /// Reads `length` bytes, of which only the first `keep` are kept.
    pub fn exact(&mut self, length: u64, keep: u64, bytes: &mut Vec<u8>) -> Result<(), String> {
        let kept = length.min(keep);
        self.read(kept, bytes)?;
        self.bounded(length - kept)?;
        let mut rest = self.from.by_ref().take(length - kept);
        let skipped = io::copy(&mut rest, &mut io::sink()).map_err(unreadable)?;
        self.offset += skipped;
        if bytes.len() as u64 + skipped < length {
            return Err(format!("ends within a record of {length} bytes"));
        }
        Ok(())
    }

    fn bounded(&self, length: u64) -> Result<(), String> {
        if self.offset.saturating_add(length) > self.max_bytes {
            let max = self.max_bytes;
            return Err(format!(
                "is longer than {max} bytes, the maximum of compressed and of standard input"
            ));
        }
        Ok(())
    }
}

fn unreadable(error: io::Error) -> String {
    format!("cannot be read further: {error}")
}
