//! What is known of a terminal.

use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// Columns of the terminal behind `fd`; `None` where there is none, or it does not say.
pub fn columns(fd: &impl AsFd) -> Option<usize> {
    let columns = tcgetwinsize(fd).ok()?.ws_col;
    Some(usize::from(columns)).filter(|&columns| columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_has_no_columns() {
        let (reader, _writer) = std::io::pipe().expect("pipe");
        assert_eq!(columns(&reader), None);
    }
}
