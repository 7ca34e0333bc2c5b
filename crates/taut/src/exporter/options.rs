//! What `taut exporter` accepts.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::observe::options::{Selection, parse_period};

/// All queues for Prometheus.
///
/// Gauges are read when they are asked for. What is in flight is sampled in between too, for a
/// histogram: a thousand times a second if devices were named and they have at most 4 queues, else
/// 50 times. `taut show --metrics` says what each figure is. Ctrl-C or SIGTERM ends it.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
#[group(id = "to", required = true, multiple = false, args = ["listen", "textfile"])]
pub struct Exporter {
    #[command(flatten)]
    pub selection: Selection,

    /// Answer GET /metrics there, such as 127.0.0.1:9427
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// Write FILE again and again, for the node exporter's textfile collector; removed at the end
    #[arg(long, value_name = "FILE")]
    pub textfile: Option<PathBuf>,

    /// How often FILE is written
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = parse_period,
          conflicts_with = "listen")]
    pub every: u64,
}

const AFTER_HELP: &str = "\
At most 128 connections are held, 10 s each; who is slow makes room for who is not.
Exit codes: 0 ended when asked to, 1 failed, 2 bad usage, 77 cannot run here.";
