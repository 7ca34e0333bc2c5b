//! What the program needs of an AF_XDP library.

use std::error::Error;
use std::fmt::Display;

use taut_linux::frame_ring::RawRings;

/// The result of a step of the program.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The rings and the frames of a socket.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Entries of each ring.
    pub slots: u32,
    /// Frames in memory.
    pub frames: u32,
}

/// A socket of an AF_XDP library.
pub trait Xsk: RawRings<Error: Display> + Sized {
    /// The name of the library.
    const NAME: &'static str;

    /// Opens a socket on queue 0 of `device` in the namespace of the calling thread.
    ///
    /// # Errors
    /// Returns the failed call with its device and cause.
    fn open(device: &str, shape: Shape) -> std::result::Result<Self, String>;
}
