//! What every verb that looks at queues accepts.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_linux::NetNs;
use taut_linux::observe::Sysfs;
use taut_path::units;

use super::queue_set::QueueSet;
use crate::exit;
use crate::talk::say;

/// Where to look.
#[derive(Debug, Clone, Args)]
pub struct Place {
    /// Devices in the network namespace NETNS: a name as `ip netns` has it, or a path
    #[arg(short = 'n', long, value_name = "NETNS", conflicts_with = "sysfs")]
    pub netns: Option<String>,

    /// A directory in place of /sys, such as a copy of one
    #[arg(long, value_name = "DIR")]
    pub sysfs: Option<PathBuf>,
}

/// Which queues, and how fast their links are.
#[derive(Debug, Clone, Args)]
pub struct Selection {
    /// Only these devices; all if none is said
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,

    /// Only these queues, such as 0-3,7
    #[arg(short = 'q', long = "queues", value_name = "QUEUES")]
    pub queues: Option<QueueSet>,

    /// Speed of the link, for times, instead of what the driver says
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    pub rate: Option<u64>,

    #[command(flatten)]
    pub place: Place,
}

fn parse_rate(text: &str) -> Result<u64, String> {
    match units::parse_rate_bits_per_s(text) {
        Ok(0) => Err("a rate of 0: nothing would ever be sent".to_owned()),
        rate => rate.map_err(|error| error.to_string()),
    }
}

/// A time that is not 0.
pub fn parse_period(text: &str) -> Result<u64, String> {
    const LEAST_NS: u64 = 1_000_000;
    const MOST_NS: u64 = 86_400_000_000_000;
    match units::parse_time_ns(text) {
        Ok(ns) if !(LEAST_NS..=MOST_NS).contains(&ns) => Err("allowed: 1ms to 86400s".to_owned()),
        ns => ns.map_err(|error| error.to_string()),
    }
}

impl Place {
    /// As it is said on a command line, with a space before.
    pub fn spelled(&self) -> String {
        match (&self.sysfs, &self.netns) {
            (Some(directory), _) => format!(" --sysfs {}", directory.display()),
            (None, Some(name)) => format!(" -n {name}"),
            (None, None) => String::new(),
        }
    }

    /// Whether the programs of this machine are none of what is looked at. A directory for them that was
    /// said is meant.
    pub fn is_elsewhere(&self) -> bool {
        let said = std::env::var_os("TAUT_RUNTIME_DIR").is_some();
        (self.sysfs.is_some() || self.netns.is_some()) && !said
    }

    /// The tree to read, and the namespace that it is of, if it is of any.
    pub fn open(&self) -> Result<(Sysfs, Option<NetNs>), ExitCode> {
        if let Some(directory) = &self.sysfs {
            if !directory.join("class/net").is_dir() {
                say!(
                    "taut: {} has no directory class/net: --sysfs takes what stands for /sys",
                    directory.display()
                );
                return Err(ExitCode::from(exit::USAGE));
            }
            return Ok((Sysfs::at(directory), None));
        }
        match &self.netns {
            // Without netlink there is less to see, and no reason to fail.
            None => Ok((Sysfs::of_process(), NetNs::current().ok())),
            Some(name) => netns(name).and_then(|namespace| {
                let sysfs = Sysfs::of_netns(&namespace).map_err(|error| refused(name, &error))?;
                Ok((sysfs, Some(namespace)))
            }),
        }
    }
}

/// A namespace by its name or path.
pub fn netns(name: &str) -> Result<NetNs, ExitCode> {
    NetNs::open(&netns_path(name)).map_err(|error| refused(name, &error))
}

/// Where a namespace of this name is.
pub fn netns_path(name: &str) -> PathBuf {
    if name.contains('/') {
        PathBuf::from(name)
    } else {
        PathBuf::from("/run/netns").join(name)
    }
}

fn refused(name: &str, error: &std::io::Error) -> ExitCode {
    say!("taut: network namespace {name}: {error}");
    match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::Unsupported => {
            say!("taut: looking into another namespace needs root");
            ExitCode::from(exit::CANNOT_RUN_HERE)
        }
        _ => ExitCode::from(exit::FAILED),
    }
}
