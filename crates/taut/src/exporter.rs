//! `taut exporter`: exports all queues to Prometheus, over HTTP or in a file.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use taut_linux::interrupt;
use taut_observe::exporter::{Pages, Server};
use taut_observe::sampler::{Histogram, LiveSettings};
use taut_observe::{LiveSampler, Missing, gather};
use taut_path::units::Time;
use taut_report::{emit as output, file};
use taut_report::{exit, say};

use crate::parse::{PERIODS, within};
use crate::selection::SelectionArgs;

/// Export the metrics of all queues to Prometheus
///
/// Gauges are read on each request, or on each write of FILE. Bytes in flight are also sampled in
/// between, for a histogram: 1000 times a second if devices are named and have at most 4 queues,
/// otherwise 50 times a second. `taut show --metrics` describes each metric. Ctrl-C or SIGTERM ends
/// the command. It needs no privilege, except with -n.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
#[group(id = "to", required = true, multiple = false, args = ["listen", "textfile"])]
pub struct Exporter {
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Serve GET /metrics here, such as 127.0.0.1:9427
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// Write FILE periodically, for the textfile collector of node_exporter
    ///
    /// The file is removed at the end: outdated metrics are worse than none.
    #[arg(long, value_name = "FILE")]
    pub textfile: Option<PathBuf>,

    /// Write interval of FILE
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = within(PERIODS),
          conflicts_with = "listen")]
    pub interval: Time,
}

const AFTER_HELP: &str = "\
At most 128 connections of 10 s each; slow clients are disconnected first.
Exit codes: 0 interrupted, 1 failed, 2 bad usage, 77 a privilege is missing.
Examples:
  taut exporter --listen 127.0.0.1:9427
  taut exporter eth0 --textfile /var/lib/node_exporter/taut.prom --interval 30s";

/// Maximum wait before interrupts are checked.
const MAX_WAIT: Duration = Duration::from_millis(100);
/// Maximum number of queues that are sampled at the fast rate, if devices were named.
const MAX_FAST_QUEUES: usize = 4;
const FAST_HZ: u64 = 1000;
const SLOW_HZ: u64 = 50;
const RESCAN_NS: u64 = 5_000_000_000;
/// Maximum number of queues that are sampled: more than any machine has.
const MAX_QUEUES: usize = 4096;

fn failed(error: impl std::fmt::Display) -> ExitCode {
    exit::fail(exit::FAILED, error)
}

/// `taut exporter`.
pub fn exporter(options: &Exporter) -> Result<ExitCode, ExitCode> {
    let (host, _) = options.selection.place.open()?;
    let selection = options.selection.selection();
    let inventory = gather(&host, &selection, Missing::Error).map_err(failed)?;
    let queues = inventory.rows().count();
    output::check("text file", options.textfile.as_deref())?;
    interrupt::note().map_err(failed)?;
    let is_fast = !selection.devices.is_empty() && queues <= MAX_FAST_QUEUES;
    let hz = if is_fast { FAST_HZ } else { SLOW_HZ };
    let settings = LiveSettings {
        interval_ns: 1_000_000_000 / hz,
        rescan_ns: RESCAN_NS,
        rows: |inventory| inventory.rows().take(MAX_QUEUES).cloned().collect(),
        collector: Histogram::default,
    };
    let sampler = LiveSampler::start(host.clone(), selection.clone(), settings, &inventory);
    let sampler = sampler.map_err(failed)?;
    let mut pages = Pages::new(&host, &selection, &sampler);
    let rate = format!("{queues} queues, sampled {hz} times a second");
    if let Some(address) = options.listen {
        let server = Server::bind(address);
        let server =
            server.map_err(|error| failed(format!("cannot listen on {address}: {error}")))?;
        serve(server, &mut pages, &rate).map_err(failed)?;
    } else if let Some(path) = &options.textfile {
        let period = Duration::from_nanos(options.interval.0);
        say!("taut: {} every {period:?}, {rate}", path.display());
        let written = write_until_interrupt(path, period, &mut pages);
        // Outdated metrics are worse than none.
        let _ = std::fs::remove_file(path);
        written?;
    }
    Ok(ExitCode::SUCCESS)
}

fn serve(mut server: Server, pages: &mut Pages<'_>, rate: &str) -> io::Result<()> {
    let address = server.address()?;
    say!("taut: http://{address}/metrics, {rate}");
    while interrupt::noted().is_none() {
        server.serve(MAX_WAIT, || pages.page())?;
    }
    Ok(())
}

fn write_until_interrupt(
    path: &Path,
    period: Duration,
    pages: &mut Pages<'_>,
) -> Result<(), ExitCode> {
    loop {
        let text = String::from_utf8_lossy(&pages.page()).into_owned();
        file::replace(path, &text)
            .map_err(|error| output::write_failed("text file", path, &error))?;
        let next = Instant::now() + period;
        while Instant::now() < next {
            if interrupt::noted().is_some() {
                return Ok(());
            }
            let left = next.saturating_duration_since(Instant::now());
            std::thread::sleep(MAX_WAIT.min(left));
        }
    }
}
