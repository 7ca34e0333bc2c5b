use std::io::{self, Write};

/// Counts the bytes written and keeps the first error until [`finish`](Self::finish). Its user is a
/// probe, which cannot return an error.
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

    /// Calls `write`, unless an earlier call failed.
    pub fn add(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut Counter(self)).err();
        }
    }

    /// Returns `true` if a call failed; later calls write nothing.
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

struct Counter<'a, 'w>(&'a mut CountedWriter<'w>);

impl Write for Counter<'_, '_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.0.out.write(buffer)?;
        self.0.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.out.flush()
    }
}
