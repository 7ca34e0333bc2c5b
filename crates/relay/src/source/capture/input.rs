//! The bytes of a capture: from a file or standard input, decompressed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, IsTerminal, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{pcap, pcapng};

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

/// A capture in memory.
pub(super) struct Input {
    pub bytes: Vec<u8>,
    /// Why it was not read to its end.
    pub cut_off: Option<String>,
}

impl Input {
    /// Reads a file; `-` is standard input.
    pub fn open(path: &Path) -> Result<Self, String> {
        if path == Path::new("-") {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                return Err("standard input is a terminal: redirect a capture into it".into());
            }
            return Self::read(stdin.lock(), MAX_UNSIZED_BYTES, MAX_UNSIZED_BYTES);
        }
        let file = File::open(path).map_err(|error| error.to_string())?;
        if file.metadata().is_ok_and(|data| data.is_dir()) {
            return Err("is a directory, not a pcap or pcapng file".into());
        }
        Self::read(BufReader::new(file), u64::MAX, MAX_UNSIZED_BYTES)
    }

    /// Reads `from`, decompressed if it is compressed. It can have `max_bytes`, decompressed
    /// `max_unpacked_bytes`.
    pub fn read(
        mut from: impl BufRead,
        max_bytes: u64,
        max_unpacked_bytes: u64,
    ) -> Result<Self, String> {
        let mut start = Vec::new();
        let read = from.by_ref().take(4).read_to_end(&mut start);
        read.map_err(|error| format!("cannot be read: {error}"))?;
        let mut formats = COMPRESSED.iter();
        let format = formats.find(|(magic, _)| start.starts_with(magic));
        let max_bytes = match format {
            Some(_) => max_unpacked_bytes,
            None if is_capture(&start) => max_bytes,
            // The start of another file, which can be endless, suffices to reject it.
            None => 4,
        };
        let whole = Cursor::new(start).chain(from);
        let mut bytes = Vec::new();
        // One byte more shows that the input is too long.
        let end = max_bytes.saturating_add(1);
        let read = match format {
            None => whole.take(end).read_to_end(&mut bytes).map(drop),
            Some((_, "gzip")) => unpack_gzip(whole, end, &mut bytes),
            Some((_, "zstd")) => unpack_zstd(whole, end, &mut bytes),
            Some((_, name)) => {
                return Err(format!(
                    "is compressed with {name}; gzip and zstd are supported"
                ));
            }
        };
        let mut cut_off = read
            .err()
            .map(|error| format!("cannot be read further: {error}"));
        if bytes.len() as u64 > max_bytes {
            bytes.truncate(max_bytes as usize);
            cut_off = Some(format!(
                "is longer than {max_bytes} bytes, the maximum of compressed and of standard input"
            ));
        }
        Ok(Self { bytes, cut_off })
    }
}

/// Returns `true` if these are the first bytes of a capture.
fn is_capture(start: &[u8]) -> bool {
    pcapng::is_pcapng(start) || pcap::format(start).is_some()
}

/// Decompresses all members, until there are `end` bytes. Of another file, only the start.
fn unpack_gzip(from: impl BufRead, end: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut unpacked = MultiGzDecoder::new(from);
    unpacked.by_ref().take(4).read_to_end(bytes)?;
    if is_capture(bytes) {
        unpacked.take(end.saturating_sub(4)).read_to_end(bytes)?;
    }
    Ok(())
}

/// Decompresses all frames of a stream (RFC 8878), until there are `end` bytes. Of another file,
/// only the first block.
fn unpack_zstd(mut from: impl BufRead, end: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut decoder = FrameDecoder::new();
    while !from.fill_buf()?.is_empty() {
        match decoder.reset(&mut from) {
            Ok(()) => {}
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut from.by_ref().take(length.into()), &mut io::sink())?;
                continue;
            }
            Err(error) => return Err(io::Error::other(error)),
        }
        while !decoder.is_finished() {
            // A block has at most 128 KB, so this bounds the memory next to the window.
            let one = BlockDecodingStrategy::UptoBlocks(1);
            let decoded = decoder.decode_blocks(&mut from, one);
            decoded.map_err(io::Error::other)?;
            decoder.read_to_end(bytes)?;
            let is_other = bytes.len() >= 4 && !is_capture(bytes);
            if is_other || bytes.len() as u64 >= end {
                return Ok(());
            }
        }
        let stated = decoder.get_checksum_from_data();
        if stated.is_some() && stated != decoder.get_calculated_checksum() {
            return Err(io::Error::other("wrong checksum of a zstd frame"));
        }
    }
    Ok(())
}
