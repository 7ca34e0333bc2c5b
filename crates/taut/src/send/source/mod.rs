//! Where the frames come from.

mod capture;
mod generated;

pub use capture::{Capture, read_capture};
pub use generated::{Generated, LEAST_BYTES};

/// Frames, one after the other.
pub enum Source {
    Capture(Capture),
    Generated(Generated),
}

/// One of them.
pub enum Next<'a> {
    Frame(&'a [u8]),
    /// The capture has only the beginning of it.
    Cut,
    /// There are no more.
    End,
}

impl Source {
    pub fn next(&mut self) -> Next<'_> {
        match self {
            Self::Capture(capture) => capture.next(),
            Self::Generated(generated) => Next::Frame(generated.next()),
        }
    }
}
