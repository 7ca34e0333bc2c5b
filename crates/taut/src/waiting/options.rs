//! What `taut where` accepts.

use clap::Args;
use taut_path::units;

use crate::observe::options::Place;

/// Where bytes wait on their way out: socket, discipline, limit, ring.
///
/// One drawing of the whole way of what is sent, each part in bytes and in time at the rate that is
/// being sent, and whether a packet of another flow or of higher priority can overtake what is
/// there. Says what it cannot see, and what would take away the largest part that nothing can
/// overtake. Nothing is changed, and no privilege is needed.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Where {
    /// A device, a process, or a port (:443, or a number that is no process)
    #[arg(value_name = "DEV|PID|PORT")]
    pub target: String,

    /// How long to look, to know the rate
    #[arg(short, long, value_name = "TIME", default_value = "500ms", value_parser = parse_time)]
    pub time: u64,

    /// Look again and again
    #[arg(short, long)]
    pub watch: bool,

    /// Print one JSON document; with -w one a line
    #[arg(short, long)]
    pub json: bool,

    #[command(flatten)]
    pub place: NetnsOnly,
}

/// A namespace: a copy of /sys has no sockets.
#[derive(Debug, Clone, Args)]
pub struct NetnsOnly {
    /// In the network namespace NETNS: a name as `ip netns` has it, or a path
    #[arg(short = 'n', long, value_name = "NETNS")]
    netns: Option<String>,
}

impl NetnsOnly {
    pub fn open(
        &self,
    ) -> Result<(taut_linux::observe::Sysfs, Option<taut_linux::NetNs>), std::process::ExitCode>
    {
        Place {
            netns: self.netns.clone(),
            sysfs: None,
        }
        .open()
    }
}

fn parse_time(text: &str) -> Result<u64, String> {
    match units::parse_time_ns(text) {
        Ok(ns) if !(10_000_000..=60_000_000_000).contains(&ns) => {
            Err("allowed: 10ms to 60s".to_owned())
        }
        ns => ns.map_err(|error| error.to_string()),
    }
}

const AFTER_HELP: &str = "\
Times need a unit (500ms).
Exit codes: 0 done, 1 failed (no such device, process or port), 2 bad usage,
77 cannot run here.";
