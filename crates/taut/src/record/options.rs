//! What `taut record` accepts.

use std::path::PathBuf;

use clap::Args;

use crate::observe::options::{Place, Selection, parse_period};
use crate::observe::queue_set::QueueSet;

/// Writes what a device's queues did, sampled, as a trace.
///
/// Limit and in flight are read from sysfs so many times a second, and written where they changed.
/// What was queued and completed cannot be known that way and is not in the trace: it can be drawn,
/// and not replayed. Ctrl-C ends it, and what was seen by then is written.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Record {
    /// The device
    #[arg(value_name = "DEV")]
    pub device: String,

    /// Where to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Only these queues, such as 0-3,7
    #[arg(short = 'q', long = "queues", value_name = "QUEUES")]
    pub queues: Option<QueueSet>,

    /// How long
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = parse_period)]
    pub time: u64,

    /// How many times a second to look
    #[arg(long, value_name = "N", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: u32,

    #[command(flatten)]
    pub place: Place,
}

impl Record {
    /// The queues that are meant.
    pub fn selection(&self) -> Selection {
        Selection {
            devices: vec![self.device.clone()],
            queues: self.queues.clone(),
            rate: None,
            place: self.place.clone(),
        }
    }
}

const AFTER_HELP: &str = "\
Times need a unit (10s). docs/trace-format.md says what is in the file.
At most 16 million changes are kept, some 250 MB of memory; it ends there.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here.";
