//! What `taut top` accepts.

use clap::Args;

use crate::observe::options::{Selection, parse_period};

/// All queues on a terminal, sorted by how long what is in flight waits.
///
/// Every queue is sampled 50 times a second, the one in detail a thousand times, and shown as the
/// least, the mean and the most. The rate that was achieved is shown. Nothing is changed.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Top {
    #[command(flatten)]
    pub selection: Selection,

    /// How often the screen changes; longer is kinder to a slow link
    #[arg(short, long, value_name = "TIME", default_value = "500ms", value_parser = parse_period)]
    pub delay: u64,
}

const AFTER_HELP: &str = "\
Keys: arrows or j k choose, Enter detail, s sort, / filter, p pause, q quit.
NO_COLOR is honoured; without a UTF-8 locale the curves are drawn in ASCII.
Exit codes: 0 done, 1 failed, 2 bad usage or no terminal, 77 cannot run here,
130 or 143 interrupted.";
