//! What `taut set` accepts.

use clap::Args;

use crate::observe::options::{Place, Selection};
use crate::observe::queue_set::QueueSet;

/// Changes the byte limit of a device's queues, and says how to undo it.
///
/// All is checked before anything is written. Should a write fail, what was written before it is
/// undone. Settings last until the device goes or the machine restarts.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Set {
    /// The device
    #[arg(value_name = "DEV")]
    pub device: String,

    /// Names and values in turn, such as: limit_max 40k hold_time 500ms
    #[arg(value_name = "NAME VALUE", required = true, num_args = 2..)]
    pub settings: Vec<String>,

    /// Only these queues, such as 0-3,7
    #[arg(short = 'q', long = "queues", value_name = "QUEUES")]
    pub queues: Option<QueueSet>,

    /// Say what would be changed, and change nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Print one JSON document
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub place: Place,
}

impl Set {
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
Names and what they take:
  limit_max     the most that the kernel may set: a size such as 40k, or max
  limit_min     the least: a size
  limit         the limit now: a size; the kernel moves it on from there
  hold_time     how long slack is observed before the limit is cut: a time such as 500ms
  stall_thrs    the age from which a queue counts as stalled: a time, or off (Linux 6.9)
Exit codes: 0 done, 1 failed, 2 bad usage, 77 not allowed here (needs root).";
