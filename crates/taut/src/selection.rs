//! Options of every verb that reads queues: which, and where.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_linux::NetNs;
use taut_linux::observe::Sysfs;
use taut_observe::{Host, QueueSet, Selection};
use taut_path::units::Rate;
use taut_report::{exit, say};

use crate::parse::{LINK_RATES, within};

/// Where queues are read.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// Devices in the network namespace NETNS: a name as `ip netns` has it, or a path
    #[arg(short = 'n', long, value_name = "NETNS", conflicts_with = "sysfs")]
    pub netns: Option<String>,

    /// A directory in place of /sys, such as a copy of one
    #[arg(long, value_name = "DIR")]
    pub sysfs: Option<PathBuf>,
}

/// Which queues, and how fast their links are.
#[derive(Debug, Clone, Args)]
pub struct SelectionArgs {
    /// Only these devices; all if none is said
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,

    /// Only these queues, such as 0-3,7
    #[arg(short = 'q', long = "queues", value_name = "QUEUES")]
    pub queues: Option<QueueSet>,

    /// Speed of the link, for times, instead of what the driver says
    #[arg(long, value_name = "RATE", value_parser = within(LINK_RATES))]
    pub rate: Option<Rate>,

    #[command(flatten)]
    pub place: PlaceArgs,
}

impl SelectionArgs {
    /// Returns the selected queues.
    pub fn selection(&self) -> Selection {
        Selection {
            devices: self.devices.clone(),
            queues: self.queues.clone(),
            rate_bits_per_s: self.rate.map(|rate| rate.0),
        }
    }
}

impl PlaceArgs {
    /// Returns the options as on a command line, with a space in front.
    pub fn to_arguments(&self) -> String {
        match (&self.sysfs, &self.netns) {
            (Some(directory), _) => format!(" --sysfs {}", directory.display()),
            (None, Some(name)) => format!(" -n {name}"),
            (None, None) => String::new(),
        }
    }

    /// Returns `true` if this machine's programs have queues among those that are read: not in a
    /// tree or namespace of another, unless their directory is set explicitly.
    fn has_paths(&self) -> bool {
        let is_set = std::env::var_os("TAUT_RUNTIME_DIR").is_some();
        (self.sysfs.is_none() && self.netns.is_none()) || is_set
    }

    /// Opens the tree, and the namespace that it belongs to if there is one. Prints errors.
    pub fn open(&self) -> Result<(Host, Option<NetNs>), ExitCode> {
        let (sysfs, namespace) = self.open_sysfs()?;
        let paths = self.has_paths();
        Ok((Host { sysfs, paths }, namespace))
    }

    fn open_sysfs(&self) -> Result<(Sysfs, Option<NetNs>), ExitCode> {
        if let Some(directory) = &self.sysfs {
            if !directory.join("class/net").is_dir() {
                let directory = directory.display();
                let message = format_args!(
                    "{directory} has no directory class/net: --sysfs takes what stands for /sys"
                );
                return Err(exit::fail(exit::USAGE, message));
            }
            return Ok((Sysfs::at(directory), None));
        }
        match &self.netns {
            // Without netlink, less can be read, which is not an error.
            None => Ok((Sysfs::of_process(), NetNs::current().ok())),
            Some(name) => netns(name).and_then(|namespace| {
                let sysfs = Sysfs::of_netns(&namespace).map_err(|error| denied(name, &error))?;
                Ok((sysfs, Some(namespace)))
            }),
        }
    }
}

/// Opens a namespace by its name or path. Prints errors.
pub fn netns(name: &str) -> Result<NetNs, ExitCode> {
    NetNs::open(&netns_path(name)).map_err(|error| denied(name, &error))
}

/// Returns the path of a namespace.
pub fn netns_path(name: &str) -> PathBuf {
    if name.contains('/') {
        PathBuf::from(name)
    } else {
        PathBuf::from("/run/netns").join(name)
    }
}

fn denied(name: &str, error: &std::io::Error) -> ExitCode {
    say!("taut: network namespace {name}: {error}");
    match error.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::Unsupported => {
            let message = "looking into another namespace needs root";
            exit::fail(exit::CANNOT_RUN_HERE, message)
        }
        _ => ExitCode::from(exit::FAILED),
    }
}
