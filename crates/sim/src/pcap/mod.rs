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
const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const OPTION_NAME: u16 = 2;
const OPTION_SPEED: u16 = 8;
const OPTION_TIME_UNIT: u16 = 9;

/// A capture writer. The first write error is returned at the end.
pub struct Capture<'w> {
    file: CountedWriter<'w>,
    /// Interfaces written so far: one for each row.
    rows: u32,
}

/// Returns a block, whose length is both before and after its padded content.
fn block(kind: u32, content: &[u8]) -> Vec<u8> {
    let padded_bytes = content.len().next_multiple_of(4);
    let length = (padded_bytes + 12) as u32;
    let mut block = Vec::with_capacity(length as usize);
    block.extend(kind.to_le_bytes());
    block.extend(length.to_le_bytes());
    block.extend(content);
    block.resize(8 + padded_bytes, 0);
    block.extend(length.to_le_bytes());
    block
}

/// Returns a padded option; one without a value ends a list of options.
fn option(code: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(value.len()).unwrap_or(u16::MAX);
    let value = &value[..usize::from(length)];
    let mut option = [&code.to_le_bytes(), &length.to_le_bytes(), value].concat();
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

impl<'w> Capture<'w> {
    /// Starts a capture with a `comment`; `out` should be buffered.
    pub fn new(out: &'w mut dyn Write, comment: &str) -> Self {
        let mut capture = Self {
            file: CountedWriter::new(out),
            rows: 0,
        };
        let section = [
            &0x1a2b_3c4d_u32.to_le_bytes()[..],
            &1_u16.to_le_bytes(),
            &0_u16.to_le_bytes(),
            // Length of the section: unknown.
            &u64::MAX.to_le_bytes(),
            &option(OPTION_COMMENT, comment.as_bytes()),
            &option(OPTION_END, &[]),
        ];
        capture.write(&block(SECTION, &section.concat()));
        capture
    }

    /// Starts a row: a separate interface, whose time starts at 0.
    pub fn row(&mut self, name: &str, rate_bits_per_s: u64) {
        let interface = [
            &ETHERNET.to_le_bytes()[..],
            &[0; 2],
            &(headers::MAX_BYTES as u32).to_le_bytes(),
            &option(OPTION_NAME, name.as_bytes()),
            &option(OPTION_SPEED, &rate_bits_per_s.to_le_bytes()),
            // Time unit 10^-9 s.
            &option(OPTION_TIME_UNIT, &[9]),
            &option(OPTION_END, &[]),
        ];
        self.write(&block(INTERFACE, &interface.concat()));
        self.rows += 1;
    }

    /// Appends a frame of the current row.
    pub fn frame(&mut self, frame: &WireFrame) {
        let row = self.rows.saturating_sub(1);
        let (headers, whole_bytes) = headers::headers(frame, row);
        let packet = [
            &row.to_le_bytes()[..],
            &((frame.sent_ns >> 32) as u32).to_le_bytes(),
            &(frame.sent_ns as u32).to_le_bytes(),
            &(headers.len() as u32).to_le_bytes(),
            &whole_bytes.to_le_bytes(),
            &headers,
        ];
        self.write(&block(PACKET, &packet.concat()));
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
