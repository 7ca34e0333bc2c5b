//! Sends frames through an AF_XDP library: with a plain loop, as in the library's own examples,
//! or through a taut queue with a byte limit. It also injects faults and checks that each packet is
//! accounted for.

mod bench;
mod fault;
mod limited;
mod options;
mod packet;
mod plain;
mod receiver;
mod recover;
mod world;
mod xsk;

use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;
use taut_linux::ensure_privilege;
use taut_path::QueueConfig;

use limited::Limited;
use options::Options;
use plain::Plain;
use world::World;
use xsk::Result;
pub use xsk::{Shape, Xsk};

/// The ring of a measurement. A plain loop has up to this many packets in both rings.
const SHAPE: Shape = Shape {
    slots: 512,
    frames: 1024,
};
/// Exit code of a program that lacks a privilege.
const UNAVAILABLE: u8 = 77;

/// Runs the program. The exit code is 0 if each packet is accounted for and each fault was
/// reported, 1 if not, and 77 without the privilege.
pub fn run<X: Xsk>() -> ExitCode {
    let options = Options::parse();
    if let Err(error) = ensure_privilege() {
        eprintln!("{}: {error}", X::NAME);
        return ExitCode::from(UNAVAILABLE);
    }
    match measure::<X>(&options) {
        Ok(row) => {
            print(&row, options.json);
            ExitCode::from(u8::from(row["accounted"] == false))
        }
        Err(error) => {
            eprintln!("{}: {error}", X::NAME);
            ExitCode::FAILURE
        }
    }
}

fn measure<X: Xsk>(options: &Options) -> Result<Value> {
    let world = World::new(options.device_rate())?;
    // Sockets are opened in the namespace of the calling thread.
    world.near.enter()?;
    let limit = &options.limit;
    let mut row = match (options.fault, options.is_plain()) {
        (Some(fault), true) => fault::plain::<X>(fault, &world)?,
        (Some(fault), false) => fault::limited::<X>(fault, &world, limit)?,
        (None, true) => bench::run(&mut Plain::<X>::open(SHAPE)?, &world, options)?,
        (None, false) => {
            let mut limited = Limited::<X>::open(SHAPE, limit, QueueConfig::default())?;
            bench::run(&mut limited, &world, options)?
        }
    };
    row["library"] = X::NAME.into();
    row["limit"] = limit.as_str().into();
    row["load"] = world::load().into();
    Ok(row)
}

fn print(row: &Value, is_json: bool) {
    if is_json {
        println!("{row}");
        return;
    }
    for (key, value) in row.as_object().into_iter().flatten() {
        println!("{key:<22} {value}");
    }
}
