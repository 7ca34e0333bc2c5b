//! s2n-quic under load: bulk data, and a request of 100 bytes each 50 ms on the same connection.

// The links of the other example.
#[path = "../../noq/src/world.rs"]
mod world;

use std::net::UdpSocket;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Parser, ValueEnum};
use hdrhistogram::Histogram;
use s2n_quic::client::Connect;
use s2n_quic::provider::io::tokio as plain;
use s2n_quic::{Client, Connection, Server};
use taut_linux::{privilege, sched};
use taut_path::AnyLimit;
use taut_path::units::{Rate, Time};
use taut_s2n_quic::Io;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::{task, time};

use world::{Topology, World};

const CANNOT_RUN_HERE: u8 = 77;
const REQUEST_BYTES: usize = 100;
const WARM_UP: Duration = Duration::from_secs(2);
const REQUEST_EACH: Duration = Duration::from_millis(50);
/// Longer than any request takes.
const PATIENCE: Duration = Duration::from_secs(10);

/// s2n-quic under load, with and without a byte limit
///
/// Sends bulk data through a slow link in network namespaces of its own, and measures requests of
/// 100 bytes on the same connection. s2n-quic has no priorities of streams.
#[derive(Debug, Parser)]
#[command(
    name = "taut-s2n-quic",
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

    /// Print one JSON object on one line
    #[arg(short, long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LimitName {
    Plain,
    Dql,
    Taut,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    let options = Options::parse();
    if let Err(missing) = privilege() {
        eprintln!("taut-s2n-quic: {missing}");
        return CANNOT_RUN_HERE.into();
    }
    match measure(&options).await {
        Ok(row) if options.json => println!("{row}"),
        Ok(row) => println!("{row:#}"),
        Err(error) => {
            eprintln!("taut-s2n-quic: {error:#}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

async fn measure(options: &Options) -> anyhow::Result<serde_json::Value> {
    let world = World::new(options.topology, options.rate.0)?;
    let made = rcgen::generate_simple_self_signed(vec!["localhost".into()])?;
    let (certificate, key) = (made.cert.pem(), made.key_pair.serialize_pem());
    let socket = world.server_socket()?;
    let address = socket.local_addr()?;
    let io = plain::Provider::builder().with_rx_socket(socket)?.build()?;
    let server = Server::builder()
        .with_tls((certificate.as_str(), key.as_str()))?
        .with_io(io)?
        .start()?;
    let received_bytes = Arc::<AtomicU64>::default();
    task::spawn(serve(server, Arc::clone(&received_bytes)));

    let client = client(options.limit, world.client_socket()?, &certificate)?;
    let connect = Connect::new(address).with_server_name("localhost");
    let mut connection = time::timeout(PATIENCE, client.connect(connect)).await??;
    let mut bulk = connection.open_send_stream().await?;
    task::spawn(async move { while bulk.write_all(&[7; 1 << 16]).await.is_ok() {} });
    time::sleep(WARM_UP).await;

    let (begin, cpu_ns) = (Instant::now(), sched::process_cpu_ns());
    let bytes = received_bytes.load(Relaxed);
    let end = begin + Duration::from_nanos(options.duration.0);
    let times_ns = requests(&mut connection, end).await?;
    let (seconds, cpu_ns) = (begin.elapsed(), sched::process_cpu_ns() - cpu_ns);
    let bytes = received_bytes.load(Relaxed) - bytes;
    let us = |share| times_ns.value_at_quantile(share) / 1_000;
    Ok(serde_json::json!({
        "stack": "s2n-quic",
        "limit": format!("{:?}", options.limit).to_lowercase(),
        "rate_bps": options.rate.0,
        "topology": format!("{:?}", options.topology).to_lowercase(),
        "request_us": { "p50": us(0.5), "p99": us(0.99) },
        "goodput_bps": (bytes as f64 * 8.0 / seconds.as_secs_f64()) as u64,
        "cpu_ns_per_byte": cpu_ns as f64 / bytes.max(1) as f64,
        "load_average": std::fs::read_to_string("/proc/loadavg")?.split(' ').next(),
    }))
}

/// The only difference between a plain and a limited client is its IO provider.
fn client(limit: LimitName, socket: UdpSocket, certificate: &str) -> anyhow::Result<Client> {
    let builder = Client::builder().with_tls(certificate)?;
    let limited = match limit {
        LimitName::Plain => {
            let io = plain::Provider::builder().with_rx_socket(socket)?.build()?;
            return Ok(builder.with_io(io)?.start()?);
        }
        LimitName::Dql => Io::builder(socket).limit(AnyLimit::dql()).cap_ns(0).build(),
        LimitName::Taut => Io::new(socket),
    };
    Ok(builder.with_io(limited)?.start()?)
}

/// Answers requests, and counts the bytes of bulk data.
async fn serve(mut server: Server, count: Arc<AtomicU64>) {
    while let Some(connection) = server.accept().await {
        let (_, mut acceptor) = connection.split();
        let count = Arc::clone(&count);
        task::spawn(async move {
            while let Ok(Some(stream)) = acceptor.accept().await {
                let count = Arc::clone(&count);
                match stream {
                    s2n_quic::stream::PeerStream::Receive(mut bulk) => task::spawn(async move {
                        while let Ok(Some(chunk)) = bulk.receive().await {
                            count.fetch_add(chunk.len() as u64, Relaxed);
                        }
                    }),
                    s2n_quic::stream::PeerStream::Bidirectional(mut requests) => {
                        task::spawn(async move {
                            let mut request = [0; REQUEST_BYTES];
                            while requests.read_exact(&mut request).await.is_ok()
                                && requests.write_all(&request).await.is_ok()
                                && requests.flush().await.is_ok()
                            {}
                        })
                    }
                };
            }
        });
    }
}

/// Sends a request every 50 ms until `end`. Returns their times in ns.
async fn requests(connection: &mut Connection, end: Instant) -> anyhow::Result<Histogram<u64>> {
    let mut times_ns = Histogram::new_with_bounds(1_000, 20_000_000_000, 3)?;
    let mut stream = connection.open_bidirectional_stream().await?;
    let mut next = time::Instant::now();
    while Instant::now() < end {
        let (begin, mut request) = (Instant::now(), [1; REQUEST_BYTES]);
        stream.write_all(&request).await?;
        let answer = time::timeout(PATIENCE, stream.read_exact(&mut request)).await;
        answer.context("a request was not answered within 10 s")??;
        times_ns.saturating_record(begin.elapsed().as_nanos() as u64);
        next = (next + REQUEST_EACH).max(time::Instant::now());
        time::sleep_until(next).await;
    }
    Ok(times_ns)
}
