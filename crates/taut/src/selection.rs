//! Options of every verb that reads queues: the queues, and where to read them.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_linux::NetNs;
use taut_linux::observe::Sysfs;
use taut_observe::{Host, QueueSet, Selection};
use taut_path::units::Rate;
use taut_report::{exit, say};

use crate::missing;
use crate::parse::{LINK_RATES, within};

/// The place where queues are read.
#[derive(Debug, Clone, Args)]
pub struct PlaceArgs {
    /// Network namespace: a name of `ip netns`, or a path (needs CAP_SYS_ADMIN)
    #[arg(short = 'n', long, value_name = "NETNS", conflicts_with = "sysfs")]
    pub netns: Option<String>,

    /// Directory to read instead of /sys, such as a copy
    #[arg(long, value_name = "DIR")]
    pub sysfs: Option<PathBuf>,
}

/// The selected queues, and the speed of their links.
#[derive(Debug, Clone, Args)]
pub struct SelectionArgs {
    /// Devices [default: all]
    #[arg(value_name = "DEV")]
    pub devices: Vec<String>,

    /// Queues, such as 0-3,7 [default: all]
    #[arg(short = 'q', long = "queues", value_name = "QUEUES")]
    pub queues: Option<QueueSet>,

    /// Link speed, to convert bytes to time [default: reported by the driver]
    #[arg(long = "rate", value_name = "RATE", value_parser = within(LINK_RATES))]
    pub link_rate: Option<Rate>,

    #[command(flatten)]
    pub place: PlaceArgs,
}

impl SelectionArgs {
    /// Returns the selected queues.
    pub fn selection(&self) -> Selection {
        Selection {
            devices: self.devices.clone(),
            queues: self.queues.clone(),
            rate_bits_per_s: self.link_rate.map(|rate| rate.0),
        }
    }
}

impl PlaceArgs {
    /// Returns the options as on a command line, with a leading space.
    pub fn to_arguments(&self) -> String {
        match (&self.sysfs, &self.netns) {
            (Some(directory), _) => format!(" --sysfs {}", directory.display()),
            (None, Some(name)) => format!(" -n {name}"),
            (None, None) => String::new(),
        }
    }

    /// Opens the tree and its network namespace, if it has one. Prints errors.
    pub fn open(&self) -> Result<Host, ExitCode> {
        // The queues of this machine's programs are not read with another tree or namespace, unless
        // their directory is set explicitly.
        let paths = std::env::var_os("TAUT_RUNTIME_DIR").is_some();
        match (&self.sysfs, &self.netns) {
            (Some(directory), _) if !directory.join("class/net").is_dir() => {
                let directory = directory.display();
                let message =
                    format!("{directory} has no directory class/net: --sysfs needs a copy of /sys");
                Err(exit::fail(exit::USAGE, message))
            }
            (Some(directory), _) => Ok(Host {
                sysfs: Sysfs::at(directory),
                namespace: None,
                paths,
            }),
            (None, None) => Ok(Host::local()),
            (None, Some(name)) => {
                let namespace = namespace(Some(name))?;
                Ok(Host {
                    sysfs: Sysfs::of_netns(&namespace).map_err(|error| denied(name, error))?,
                    namespace: Some(namespace),
                    paths,
                })
            }
        }
    }
}

/// Opens a namespace by its name or path, or that of this process. Prints errors.
pub fn namespace(name: Option<&str>) -> Result<NetNs, ExitCode> {
    let Some(name) = name else {
        return NetNs::current().map_err(exit::failed);
    };
    let path = match name.contains('/') {
        true => PathBuf::from(name),
        false => PathBuf::from("/run/netns").join(name),
    };
    NetNs::open(&path).map_err(|error| denied(name, error))
}

fn denied(name: &str, error: io::Error) -> ExitCode {
    let kind = error.kind();
    let error = missing::explained(&error.into());
    let message = format!("network namespace {name}: {error}");
    match kind {
        io::ErrorKind::NotFound => exit::failed(missing::netns(name)),
        io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported => {
            say!("taut: {message}");
            let needed = "another network namespace needs root";
            exit::fail(exit::CANNOT_RUN_HERE, needed)
        }
        _ => exit::failed(message),
    }
}
