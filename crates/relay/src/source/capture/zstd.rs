//! Decompression of zstd: all frames of a stream (RFC 8878).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Decompresses the frames of `from`, one after the other.
pub(super) struct Zstd<R> {
    from: R,
    decoder: FrameDecoder,
    is_in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    pub fn new(from: R) -> Self {
        Self {
            from,
            decoder: FrameDecoder::new(),
            is_in_frame: false,
        }
    }

    /// Begins the next frame. Returns `false` at the end of the stream.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.from.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.from) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.from.by_ref().take(length.into());
                    io::copy(&mut skipped, &mut io::sink())?;
                }
                Err(error) => return Err(io::Error::other(error)),
            }
        }
        Ok(false)
    }

    /// Compares the checksum of a frame, if it has one.
    fn end_frame(&mut self) -> io::Result<()> {
        self.is_in_frame = false;
        let stated = self.decoder.get_checksum_from_data();
        if stated.is_some() && stated != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("wrong checksum of a zstd frame"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.decoder.read(bytes)?;
            if length > 0 || bytes.is_empty() {
                return Ok(length);
            }
            if self.is_in_frame && self.decoder.is_finished() {
                self.end_frame()?;
            }
            if !self.is_in_frame {
                self.is_in_frame = self.begin_frame()?;
                if !self.is_in_frame {
                    return Ok(0);
                }
            }
            // A block has at most 128 KB, so this bounds the memory next to the window.
            let one = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder
                .decode_blocks(&mut self.from, one)
                .map_err(io::Error::other)?;
        }
    }
}
