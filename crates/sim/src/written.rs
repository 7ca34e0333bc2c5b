//! A file that is being written while something runs that cannot fail because of it.

use std::io::{self, Write};

/// Counts what is written, and keeps the first failure for the end.
pub struct Written<'w> {
    out: &'w mut dyn Write,
    bytes: u64,
    failed: Option<io::Error>,
}

impl<'w> Written<'w> {
    pub fn new(out: &'w mut dyn Write) -> Self {
        Self {
            out,
            bytes: 0,
            failed: None,
        }
    }

    /// Lets `write` add something, unless something failed before.
    pub fn add(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut Counted(self)).err();
        }
    }

    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// The bytes that were written, or what failed first.
    pub fn finish(self) -> io::Result<u64> {
        match self.failed {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.bytes),
        }
    }
}

/// Counts what passes.
struct Counted<'a, 'w>(&'a mut Written<'w>);

impl Write for Counted<'_, '_> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.0.out.write(buffer)?;
        self.0.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.out.flush()
    }
}
