//! Sends UDP frames through an AF_XDP library: with the loop of the library's own examples, or
//! through a taut queue with a byte limit. It also injects faults and checks that each packet is
//! accounted for.

mod fault;
mod limited;
mod options;
mod packet;
mod plain;
mod receiver;
mod recover;
mod world;

use std::error::Error;
use std::fmt::Display;
use std::ops::Range;
use std::process::ExitCode;

use clap::Parser;
use taut_linux::ensure_privilege;
use taut_linux::frame_ring::RawRings;

use options::Options;
use world::World;

/// Exit code of a program that lacks a privilege.
const UNAVAILABLE: u8 = 77;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

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
        let numbers: Range<u64> = self.first..self.first + u64::from(self.packets);
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

/// Runs the program. The exit code is 0 if each packet is accounted for and each fault was
/// reported, 1 if not, and 77 without the privilege.
pub fn run<X: Xsk>() -> ExitCode {
    let options = Options::parse();
    if let Err(error) = ensure_privilege() {
        eprintln!("{}: {error}", X::NAME);
        return ExitCode::from(UNAVAILABLE);
    }
    match measure::<X>(&options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}: {error}", X::NAME);
            ExitCode::FAILURE
        }
    }
}

fn measure<X: Xsk>(options: &Options) -> Result<bool> {
    let world = World::new(options.device_rate())?;
    world.enter()?;
    let (mut row, is_good) = match (&options.fault, options.is_plain()) {
        (Some(fault), true) => fault::plain::<X>(*fault, &world, options)?,
        (Some(fault), false) => fault::limited::<X>(*fault, &world, options)?,
        (None, true) => (plain::run::<X>(&world, options)?, true),
        (None, false) => (limited::run::<X>(&world, options)?, true),
    };
    row.insert("library".to_owned(), X::NAME.into());
    row.insert("limit".to_owned(), options.limit.clone().into());
    row.insert("load".to_owned(), world::load().into());
    if options.json {
        println!("{}", serde_json::Value::Object(row));
    } else {
        for (key, value) in row {
            println!("{key:<22} {value}");
        }
    }
    Ok(is_good)
}
