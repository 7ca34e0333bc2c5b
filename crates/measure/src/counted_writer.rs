use std::io::{self, Write};

/// Counts the bytes written and keeps the first error until [`finish`](Self::finish). Its user is a
/// probe, which cannot return an error: a write succeeds, and writes nothing after an error.
pub struct CountedWriter<'w> {
    out: &'w mut dyn Write,
    bytes: u64,
    failed: Option<io::Error>,
}

impl<'w> CountedWriter<'w> {
    /// Creates a writer to `out`, which should be buffered.
    pub fn new(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            bytes: 0,
            failed: None,
        }
    }

    /// Returns `true` if a write failed; later ones write nothing.
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Flushes and returns the number of bytes written.
    ///
    /// # Errors
    /// The first error of a write, or that of the flush.
    pub fn finish(self) -> io::Result<u64> {
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.bytes),
        }
    }
}

impl Write for CountedWriter<'_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.out.write_all(buffer).err();
            self.bytes += buffer.len() as u64;
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
