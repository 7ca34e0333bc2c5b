//! The position in a capture, and its numbers in either byte order.

use std::fmt;

/// Byte order of the numbers in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Big,
    Little,
}

impl Order {
    /// Returns the 16-bit number at `at`. The caller has checked the length.
    pub fn u16(self, bytes: &[u8], at: usize) -> u16 {
        self.number(&bytes[at..at + 2]) as u16
    }

    /// Returns the 32-bit number at `at`. The caller has checked the length.
    pub fn u32(self, bytes: &[u8], at: usize) -> u32 {
        self.number(&bytes[at..at + 4]) as u32
    }

    /// Returns the number with these bytes, at most 8.
    pub fn number(self, bytes: &[u8]) -> u64 {
        let append = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match self {
            Self::Big => bytes.iter().fold(0, append),
            Self::Little => bytes.iter().rfold(0, append),
        }
    }
}

/// Reads the records of a capture in memory.
pub(super) struct Reader<'a> {
    pub bytes: &'a [u8],
    /// The next byte.
    pub at: usize,
    /// Start of the current record or block.
    pub record_at: usize,
    /// Why the file was not read to its end.
    cut_off: Option<&'a str>,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], cut_off: Option<&'a str>) -> Self {
        Self {
            bytes,
            at: 0,
            record_at: 0,
            cut_off,
        }
    }

    /// Begins a record. Returns `false` at the end of the file.
    pub fn begin(&mut self) -> Result<bool, String> {
        self.record_at = self.at;
        match self.cut_off {
            Some(reason) if self.at == self.bytes.len() => Err(reason.to_owned()),
            _ => Ok(self.at < self.bytes.len()),
        }
    }

    /// Reads `length` bytes of `part`. Returns their start.
    pub fn take(&mut self, length: usize, part: fmt::Arguments<'_>) -> Result<usize, String> {
        let start = self.at;
        if length > self.bytes.len() - start {
            let reason = self.cut_off.map(str::to_owned);
            return Err(reason.unwrap_or_else(|| format!("ends within {part}")));
        }
        self.at += length;
        Ok(start)
    }
}
