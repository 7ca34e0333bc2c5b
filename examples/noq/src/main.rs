//! noq under load: bulk data, and a request of 100 bytes each 50 ms on the same connection.

mod peers;
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Parser, ValueEnum};
use hdrhistogram::Histogram;
use noq::congestion::CubicConfig;
use noq::{Connection, PathId, Runtime, TokioRuntime, TransportConfig};
use taut_linux::{privilege, sched};
use taut_noq::{Limited, Utilised};
use taut_path::AnyLimit;
use taut_path::units::{Rate, Time};
use tokio::{task, time};

use peers::{REQUEST_BYTES, Server};
use world::{Topology, World};

const CANNOT_RUN_HERE: u8 = 77;
const WARM_UP: Duration = Duration::from_secs(2);
const REQUEST_EACH: Duration = Duration::from_millis(50);
/// Longer than any request takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// noq under load, with and without a byte limit
///
/// Sends bulk data through a slow link in network namespaces of its own, and measures requests of
/// 100 bytes with a higher priority on the same connection.
#[derive(Debug, Parser)]
#[command(
    name = "taut-noq",
    after_help = "Needs root. Exit codes: 0 done, 1 failed, 2 bad usage, 77 cannot run here."
)]
struct Options {
    /// Limit of the endpoint: none, Linux's rule without a cap, or the default of the adapter
    #[arg(long, value_enum, default_value_t = LimitName::Taut)]
    limit: LimitName,

    /// Rate of the slow link, in tc's syntax
    #[arg(long, value_name = "RATE", default_value = "20mbit")]
    rate: Rate,

    /// What is between the hosts, with the slow link behind it
    #[arg(long, value_enum, default_value_t = Topology::Bridged)]
    topology: Topology,

    /// Measurement time, after a warm-up of 2 s
    #[arg(long, value_name = "TIME", default_value = "5s")]
    duration: Time,

    /// Print one JSON object instead of text
    #[arg(short, long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LimitName {
    Plain,
    Dql,
    Taut,
}

impl LimitName {
    fn limited(self) -> Option<Limited<TokioRuntime>> {
        match self {
            Self::Plain => None,
            Self::Dql => {
                let builder = Limited::builder(TokioRuntime).limit(AnyLimit::dql());
                Some(builder.cap_ns(0).build())
            }
            Self::Taut => Some(Limited::new(TokioRuntime)),
        }
    }

    /// A window that grows only while it is used belongs to the default of the adapter.
    fn transport(self) -> TransportConfig {
        let mut transport = TransportConfig::default();
        if self == Self::Taut {
            let cubic = Utilised::new(CubicConfig::default());
            transport.congestion_controller_factory(Arc::new(cubic));
        }
        transport
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    if let Err(missing) = privilege() {
        eprintln!("taut-noq: {missing}");
        return CANNOT_RUN_HERE.into();
    }
    match measure(&options).await {
        Ok(row) if options.json => println!("{row}"),
        Ok(row) => println!("{row:#}"),
        Err(error) => {
            eprintln!("taut-noq: {error:#}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn measure(options: &Options) -> anyhow::Result<serde_json::Value> {
    let world = World::new(options.topology, options.rate.0)?;
    let server = Server::start(world.server_socket()?)?;
    let limited = options.limit.limited();
    let runtime: Arc<dyn Runtime> = match &limited {
        Some(limited) => Arc::new(limited.clone()),
        None => Arc::new(TokioRuntime),
    };
    let transport = options.limit.transport();
    let client = peers::client(&server, world.client_socket()?, runtime, transport)?;
    let connecting = client.connect(server.address, "localhost")?;
    let connection = time::timeout(PATIENCE, connecting).await??;
    let mut bulk = connection.open_uni().await?;
    task::spawn(async move { while bulk.write_all(&[7; 1 << 16]).await.is_ok() {} });
    time::sleep(WARM_UP).await;

    let (begin, cpu_ns) = (Instant::now(), sched::process_cpu_ns());
    let (sent, bytes) = (connection.stats(), server.received_bytes.load(Relaxed));
    let end = begin + Duration::from_nanos(options.duration.0);
    let times_ns = requests(&connection, end).await?;
    let (seconds, cpu_ns) = (begin.elapsed(), sched::process_cpu_ns() - cpu_ns);
    let bytes = server.received_bytes.load(Relaxed) - bytes;
    let after = connection.stats();
    let datagrams = after.udp_tx.datagrams - sent.udp_tx.datagrams;
    let us = |share| times_ns.value_at_quantile(share) / 1_000;
    let stats = limited.as_ref().and_then(Limited::stats);
    Ok(serde_json::json!({
        "stack": "noq",
        "limit": format!("{:?}", options.limit).to_lowercase(),
        "rate_bps": options.rate.0,
        "topology": format!("{:?}", options.topology).to_lowercase(),
        "request_us": { "p50": us(0.5), "p99": us(0.99) },
        "goodput_bps": (bytes as f64 * 8.0 / seconds.as_secs_f64()) as u64,
        "cpu_ns_per_byte": cpu_ns as f64 / bytes.max(1) as f64,
        "datagrams": datagrams,
        "all_datagrams": after.udp_tx.datagrams,
        "lost_datagrams": after.lost_packets - sent.lost_packets,
        "window_bytes": connection.path_stats(PathId::ZERO).map(|it| it.cwnd),
        "limit_bytes": stats.map(|it| it.socket.limit),
        "completion_quality": stats.map(|it| format!("{:?}", it.socket.completion_quality)),
        "load_average": std::fs::read_to_string("/proc/loadavg")?.split(' ').next(),
    }))
}

/// Sends a request of high priority every 50 ms until `end`. Returns their times in ns.
async fn requests(connection: &Connection, end: Instant) -> anyhow::Result<Histogram<u64>> {
    let mut times_ns = Histogram::new_with_bounds(1_000, 20_000_000_000, 3)?;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.set_priority(10)?;
    let mut next = time::Instant::now();
    while Instant::now() < end {
        let (begin, mut request) = (Instant::now(), [1; REQUEST_BYTES]);
        send.write_all(&request).await?;
        let answer = time::timeout(PATIENCE, receive.read_exact(&mut request)).await;
        answer.context("a request was not answered within 10 s")??;
        times_ns.saturating_record(begin.elapsed().as_nanos() as u64);
        next = (next + REQUEST_EACH).max(time::Instant::now());
        time::sleep_until(next).await;
    }
    Ok(times_ns)
}
