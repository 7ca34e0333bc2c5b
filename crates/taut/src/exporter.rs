//! `taut exporter`: exports all queues to Prometheus.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use taut_linux::interrupt;
use taut_observe::exporter::{Pages, Server};
use taut_observe::sampler::{Histogram, LiveSettings};
use taut_observe::{LiveSampler, Missing, gather};
use taut_report::{exit, say};

use crate::selection::SelectionArgs;

/// Export the metrics of all queues to Prometheus
///
/// Gauges are read on each request. Bytes in flight are also sampled in between, for a histogram:
/// 1000 times a second if devices are named and have at most 4 queues, otherwise 50 times a second.
/// `taut show --metrics` describes each metric. Ctrl-C or SIGTERM ends the command. It needs no
/// privilege, except with -n.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Exporter {
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Serve GET /metrics here, such as 127.0.0.1:9427
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,
}

const AFTER_HELP: &str = "\
At most 128 connections of 10 s each; slow clients are disconnected first.
Exit codes: 0 interrupted, 1 failed, 2 bad usage, 77 a privilege is missing.
Examples:
  taut exporter --listen 127.0.0.1:9427
  taut exporter eth0 eth1 --listen [::1]:9427";

/// Maximum wait before interrupts are checked.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// Maximum number of queues that are sampled at the fast rate, if devices were named.
const MAX_FAST_QUEUES: usize = 4;
const FAST_HZ: u64 = 1000;
const SLOW_HZ: u64 = 50;
const RESCAN_NS: u64 = 5_000_000_000;
/// Maximum number of queues that are sampled: more than any machine has.
const MAX_QUEUES: usize = 4096;

/// `taut exporter`.
pub fn exporter(options: &Exporter) -> Result<ExitCode, ExitCode> {
    let host = options.selection.place.open()?;
    let selection = options.selection.selection();
    let inventory = gather(&host, &selection, Missing::Error).map_err(exit::failed)?;
    let queues = inventory.rows().count();
    interrupt::note().map_err(exit::failed)?;
    let is_fast = !selection.devices.is_empty() && queues <= MAX_FAST_QUEUES;
    let hz = if is_fast { FAST_HZ } else { SLOW_HZ };
    let settings = LiveSettings {
        interval_ns: 1_000_000_000 / hz,
        rescan_ns: RESCAN_NS,
        rows: |inventory| inventory.rows().take(MAX_QUEUES).cloned().collect(),
        collector: Histogram::default,
    };
    let sampler = LiveSampler::start(host.clone(), selection.clone(), settings, &inventory);
    let sampler = sampler.map_err(exit::failed)?;
    let mut pages = Pages::new(&host, &selection, &sampler);
    let address = options.listen;
    let server = Server::bind(address);
    let mut server = server
        .map_err(|error| exit::failed(format_args!("cannot listen on {address}: {error}")))?;
    let address = server.address().map_err(exit::failed)?;
    say!("taut: http://{address}/metrics, {queues} queues, sampled {hz} times a second");
    while interrupt::noted().is_none() {
        let served = server.serve(MAX_WAIT, || pages.page());
        served.map_err(exit::failed)?;
    }
    Ok(ExitCode::SUCCESS)
}
