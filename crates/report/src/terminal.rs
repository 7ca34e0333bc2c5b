//! The size of a terminal.

use std::os::fd::AsFd;

/// Returns the columns of the terminal behind `fd`, or `None` if `fd` is not a terminal.
pub fn columns(fd: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(fd).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipe_has_no_columns() {
        let (reader, _writer) = std::io::pipe().expect("pipe");
        assert_eq!(columns(&reader), None);
    }
}
