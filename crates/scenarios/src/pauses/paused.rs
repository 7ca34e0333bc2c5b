//! Names of the pausing threads.

use std::fmt;
use std::str::FromStr;

use taut_sim::pause_bench::Paused;

/// The pausing thread by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PausedName(pub Paused);

impl fmt::Display for PausedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Paused::Sender => "sender",
            Paused::Thread => "thread",
        })
    }
}

impl FromStr for PausedName {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "sender" => Ok(Self(Paused::Sender)),
            "thread" => Ok(Self(Paused::Thread)),
            _ => Err("expected sender or thread"),
        }
    }
}
