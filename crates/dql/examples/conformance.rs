//! Plays one conformance vector: operations on stdin, one row for each on stdout.
//!
//! `cargo run --release -p taut-dql --example conformance [-- --shared] < FILE.ops`
//!
//! `--shared` plays it through the two-thread variant. Exit code 2 for an invalid line.

use std::io::{self, BufRead, BufWriter, Write};
use std::process::ExitCode;

use taut_dql::Dql;

#[path = "support/player.rs"]
mod player;
#[path = "support/queue.rs"]
mod queue;

use player::Player;
use queue::{Halves, Queue};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let played = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => play_stdin::<Dql>(),
        ["--shared"] => play_stdin::<Halves>(),
        _ => Err((2, "usage: conformance [--shared] < FILE.ops".to_string())),
    };
    match played {
        Ok(()) => ExitCode::SUCCESS,
        Err((code, message)) => {
            eprintln!("{message}");
            ExitCode::from(code)
        }
    }
}

fn play_stdin<Q: Queue>() -> Result<(), (u8, String)> {
    let mut player = Player::<Q>::new();
    let mut out = BufWriter::new(io::stdout().lock());
    for (index, line) in io::stdin().lock().lines().enumerate() {
        let number = index + 1;
        let line = line.map_err(|error| (2, format!("line {number}: cannot be read: {error}")))?;
        let row = player
            .play(&line)
            .map_err(|what| (2, format!("line {number}: {what}")))?;
        if let Some(row) = row {
            writeln!(out, "{row}").map_err(|error| (1, format!("cannot write: {error}")))?;
        }
    }
    out.flush()
        .map_err(|error| (1, format!("cannot write: {error}")))
}
