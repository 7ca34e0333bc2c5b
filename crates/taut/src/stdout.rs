//! Data for the next program.

use std::io::{self, ErrorKind, Write};

/// Writes `data` to stdout. A reader that has seen enough, such as `head`, is no failure.
pub fn write(data: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(data.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}
