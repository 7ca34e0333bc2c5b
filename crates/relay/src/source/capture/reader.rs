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
