//! Writes the wire of a world as pcapng, for Wireshark's tools.
//!
//! The headers are synthetic. Addresses and ports are derived from the numbers of row, host and
//! connection. Sequence and acknowledgement numbers, window, SACK and ECN are those of the model.
//! The file contains no payload, only its length. There is no handshake on this wire: a reader that
//! displays windows in bytes must be configured with the window scale, 7.

mod headers;

use std::io::{self, Write};

use taut_measure::counted_writer::CountedWriter;

use crate::world::WireFrame;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
const ETHERNET: u16 = 1;

/// Option codes of a block.
mod option {
    pub const COMMENT: u16 = 1;
    pub const NAME: u16 = 2;
    pub const SPEED: u16 = 8;
    pub const TIME_UNIT: u16 = 9;
}

/// A capture writer. The first write error is returned at the end.
pub struct Capture<'w> {
    file: CountedWriter<'w>,
    /// Interfaces written so far: one for each row.
    rows: u32,
}

/// A block under construction.
struct Block(Vec<u8>);

impl Block {
    fn new(kind: u32) -> Self {
        let mut block = Self(Vec::with_capacity(160));
        // The length is filled in when the block is complete.
        block.0.extend(kind.to_le_bytes());
        block.0.extend([0; 4]);
        block
    }

    fn with(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    fn padded(mut self) -> Self {
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self
    }

    fn option(self, code: u16, value: &[u8]) -> Self {
        let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
        let block = self
            .with(&code.to_le_bytes())
            .with(&length.to_le_bytes())
            .with(&value[..usize::from(length)]);
        block.padded()
    }

    fn end_of_options(self) -> Self {
        self.with(&[0; 4])
    }

    fn finish(mut self) -> Vec<u8> {
        let length = (self.0.len() + 4) as u32;
        self.0[4..8].copy_from_slice(&length.to_le_bytes());
        self.0.extend(length.to_le_bytes());
        self.0
    }
}

impl<'w> Capture<'w> {
    /// Starts a capture with a `comment`; `out` should be buffered.
    pub fn new(out: &'w mut dyn Write, comment: &str) -> Self {
        let mut capture = Self {
            file: CountedWriter::new(out),
            rows: 0,
        };
        let section = Block::new(SECTION)
            .with(&0x1a2b_3c4d_u32.to_le_bytes())
            .with(&1_u16.to_le_bytes())
            .with(&0_u16.to_le_bytes())
            // Length of the section: unknown.
            .with(&u64::MAX.to_le_bytes())
            .option(option::COMMENT, comment.as_bytes())
            .end_of_options();
        capture.write(&section.finish());
        capture
    }

    /// Starts a row: a separate interface, whose time starts at 0.
    pub fn row(&mut self, name: &str, rate_bits_per_s: u64) {
        let interface = Block::new(INTERFACE)
            .with(&ETHERNET.to_le_bytes())
            .with(&[0; 2])
            .with(&(headers::MAX_BYTES as u32).to_le_bytes())
            .option(option::NAME, name.as_bytes())
            .option(option::SPEED, &rate_bits_per_s.to_le_bytes())
            // Time unit 10^-9 s.
            .option(option::TIME_UNIT, &[9])
            .end_of_options();
        self.write(&interface.finish());
        self.rows += 1;
    }

    /// Appends a frame of the current row.
    pub fn frame(&mut self, frame: &WireFrame) {
        let row = self.rows.saturating_sub(1);
        let (headers, whole_bytes) = headers::headers(frame, row);
        let packet = Block::new(PACKET)
            .with(&row.to_le_bytes())
            .with(&((frame.sent_ns >> 32) as u32).to_le_bytes())
            .with(&(frame.sent_ns as u32).to_le_bytes())
            .with(&(headers.len() as u32).to_le_bytes())
            .with(&whole_bytes.to_le_bytes())
            .with(&headers)
            .padded();
        self.write(&packet.finish());
    }

    /// Returns `true` if a write has failed; later frames are ignored.
    pub fn has_failed(&self) -> bool {
        self.file.has_failed()
    }

    /// Finishes the capture. Returns its length in bytes.
    ///
    /// # Errors
    /// The first write error.
    pub fn finish(self) -> io::Result<u64> {
        self.file.finish()
    }

    fn write(&mut self, block: &[u8]) {
        // The writer keeps its error for the end.
        let _ = self.file.write_all(block);
    }
}
