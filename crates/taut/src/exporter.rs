//! `taut exporter`: all queues for Prometheus, over HTTP or in a file for the node exporter.

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
    pub selection: SelectionArgs,

    /// Answer GET /metrics there, such as 127.0.0.1:9427
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,

    /// Write FILE again and again, for the node exporter's textfile collector; removed at the end
    #[arg(long, value_name = "FILE")]
    pub textfile: Option<PathBuf>,

    /// How often FILE is written
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = within(PERIODS),
          conflicts_with = "listen")]
    pub every: Time,
}

const AFTER_HELP: &str = "\
At most 128 connections are held, 10 s each; who is slow makes room for who is not.
Exit codes: 0 ended when asked to, 1 failed, 2 bad usage, 77 cannot run here.";

/// The longest wait before an interrupt is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// Maximum number of queues that are sampled at the fast rate, if devices were named.
const MAX_FAST_QUEUES: usize = 4;
const FAST_HZ: u64 = 1000;
const SLOW_HZ: u64 = 50;
const RESCAN_NS: u64 = 5_000_000_000;
/// Maximum number of queues that are sampled: more than any machine has.
const MAX_QUEUES: usize = 4096;

/// `taut exporter`.
pub fn exporter(options: &Exporter) -> ExitCode {
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(code) => code,
    }
}

fn failed(error: impl std::fmt::Display) -> ExitCode {
    exit::fail(exit::FAILED, error)
}

fn run(options: &Exporter) -> Result<(), ExitCode> {
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
        serve(server, &mut pages, &rate).map_err(failed)
    } else if let Some(path) = &options.textfile {
        let period = Duration::from_nanos(options.every.0);
        say!("taut: {} every {period:?}, {rate}", path.display());
        let written = write_until_interrupt(path, period, &mut pages);
        // Outdated metrics would be worse than none.
        let _ = std::fs::remove_file(path);
        written
    } else {
        Ok(())
    }
}

fn serve(mut server: Server, pages: &mut Pages<'_>, rate: &str) -> io::Result<()> {
    let address = server.address()?;
    say!("taut: http://{address}/metrics, {rate}");
    while interrupt::noted().is_none() {
        server.serve(LONGEST_WAIT, || pages.page())?;
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
            std::thread::sleep(LONGEST_WAIT.min(left));
        }
    }
}
