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

/// One iteration of a library's own sending loop.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// The number of the first packet.
    pub first: u64,
    /// Maximum number of packets to insert.
    pub packets: u32,
    /// Bytes of each packet.
    pub bytes: u32,
    /// Frames in memory, used in turn.
    pub frames: u32,
    /// Maximum number of completions to read.
    pub max_completions: u32,
}

impl Turn {
    /// Returns the frames of the packets.
    pub fn frames(self) -> impl Iterator<Item = u32> {
        let numbers = self.first..self.first + u64::from(self.packets);
        numbers.map(move |number| (number % u64::from(self.frames)) as u32)
    }
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

    /// Inserts packets, rings the doorbell and reads completions, as the library's examples do.
    /// Returns the number of inserted packets, and of completions.
    fn plain_turn(&mut self, turn: Turn) -> (u32, u32);
}
