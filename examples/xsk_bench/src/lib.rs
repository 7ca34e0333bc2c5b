//! Sends UDP frames through an AF_XDP library: with a plain loop, as in the library's own examples,
//! or through a taut queue with a byte limit. It also injects faults and checks that each packet is
//! accounted for.

mod fault;
mod limited;
mod options;
mod packet;
mod plain;
mod receiver;
mod recover;
mod report;
mod world;
mod xsk;

use std::process::ExitCode;

use clap::Parser;
use taut_linux::ensure_privilege;

use options::Options;
use world::World;
use xsk::Result;
pub use xsk::{Shape, Xsk};

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
