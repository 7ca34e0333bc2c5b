//! One row.

use std::future::{Future, poll_fn};
use std::net::UdpSocket;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::{Duration, Instant};

use anyhow::Context;
use hdrhistogram::Histogram;
use quinn::{Connection, Endpoint, Runtime, TokioRuntime, TransportConfig, congestion};
use taut_linux::{interrupt, sched};
use taut_path::AnyLimit;
use taut_quinn::{Limited, Utilised};
use tokio::time;

use super::case::{Case, Variant};
use super::delay::Delay;
use super::options::Options;
use super::peers::{self, REQUEST_BYTES, Server};
use super::world::World;

const WARM_UP: Duration = Duration::from_secs(2);
const REQUEST_EACH: Duration = Duration::from_millis(50);
/// Longer than any request takes.
const PATIENCE: Duration = Duration::from_secs(10);
const SAMPLE_EACH: Duration = Duration::from_millis(5);
const MAX_BYTES: u64 = 1 << 32;
const LONGEST_NS: u64 = 20_000_000_000;

/// Interval of checks for an interrupt: short enough after Ctrl-C.
const INTERRUPT_EACH: Duration = Duration::from_millis(20);
/// Divisor of the rate in the middle third of a row with a rate drop.
const FALLEN_RATE_PART: u64 = 5;

/// The results of a row.
pub struct RunResult {
    pub request_ns: Histogram<u64>,
    pub goodput_bps: u64,
    pub received_bytes: u64,
    pub below_socket_bytes: Histogram<u64>,
    pub limit_bytes: Option<Histogram<u64>>,
    pub lost_datagrams: u64,
    pub cpu_percent: u64,
    pub cpu_ns: u64,
}

/// Runs a row; `None` after an interrupt.
pub fn run(options: &Options, case: &Case) -> anyhow::Result<Option<RunResult>> {
    let world = World::new(options.topology, options.rate.0)?;
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).enable_all().build()?;
    let ran = runtime.block_on(async {
        let mut work = pin!(measure(options, case, &world));
        let mut interrupt = pin!(interrupted());
        poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(ran) => Poll::Ready(ran.map(Some)),
            Poll::Pending => interrupt.as_mut().poll(context).map(|()| Ok(None)),
        })
        .await
    });
    // Ends the streams that are written without end.
    runtime.shutdown_background();
    ran
}

async fn interrupted() {
    while interrupt::noted().is_none() {
        time::sleep(INTERRUPT_EACH).await;
    }
}

async fn measure(options: &Options, case: &Case, world: &World) -> anyhow::Result<RunResult> {
    let ends = Endpoints::connect(options, case, world).await?;
    let mut stream = ends.bulk.open_uni().await?;
    tokio::spawn(async move { while stream.write_all(&[7; 65_536]).await.is_ok() {} });
    time::sleep(WARM_UP).await;

    let (cpu_ns, begin) = (sched::process_cpu_ns(), Instant::now());
    let (received, lost) = (ends.received_bytes(), ends.lost_datagrams());
    let mut request_ns = Histogram::new_with_bounds(1_000, LONGEST_NS, 3)?;
    let mut samples = Samples::new()?;
    {
        let end = begin + Duration::from_nanos(options.duration.0);
        let mut requests = pin!(requests(&ends.urgent, end, &mut request_ns));
        // Ends only with an error.
        let mut sampling = pin!(samples.take(&ends, world, Rate::new(options), begin));
        poll_fn(|context| match sampling.as_mut().poll(context) {
            Poll::Ready(failed) => Poll::Ready(failed),
            Poll::Pending => requests.as_mut().poll(context),
        })
        .await?;
    }
    let seconds = begin.elapsed().as_secs_f64();
    let moved = ends.received_bytes() - received;
    let busy_ns = sched::process_cpu_ns() - cpu_ns;
    Ok(RunResult {
        request_ns,
        goodput_bps: (moved as f64 * 8.0 / seconds) as u64,
        received_bytes: moved,
        below_socket_bytes: samples.below_socket_bytes,
        limit_bytes: ends.limited.is_some().then_some(samples.limit_bytes),
        lost_datagrams: ends.lost_datagrams() - lost,
        cpu_percent: (busy_ns as f64 / seconds / 1e7).round() as u64,
        cpu_ns: busy_ns,
    })
}

/// Both ends of a row, connected.
struct Endpoints {
    server: Server,
    /// The connections end with these two.
    _delay: Option<Delay>,
    _client: Endpoint,
    /// The client's socket.
    socket: UdpSocket,
    limited: Option<Limited<TokioRuntime>>,
    bulk: Connection,
    urgent: Connection,
}

impl Endpoints {
    async fn connect(options: &Options, case: &Case, world: &World) -> anyhow::Result<Self> {
        let server = Server::start(world.server_socket()?)?;
        let delay = match options.distance.0 {
            0 => None,
            distance_ns => Some(world.delay(server.address, distance_ns)?),
        };
        let address = delay.as_ref().map_or(server.address, |it| it.address);
        let socket = world.client_socket()?;
        if let Variant::Buffer(_, bytes) = case.variant {
            socket2::SockRef::from(&socket).set_send_buffer_size(bytes)?;
        }
        let limited = limited(case.variant);
        let runtime: Arc<dyn Runtime> = match &limited {
            Some(limited) => Arc::new(limited.clone()),
            None => Arc::new(TokioRuntime),
        };
        let transport = transport(case.variant);
        let client = peers::client(&server, socket.try_clone()?, runtime, transport)?;
        let connect = || async {
            let connecting = client.connect(address, "localhost")?;
            time::timeout(PATIENCE, connecting)
                .await?
                .context("no connection")
        };
        let bulk = connect().await?;
        let urgent = match case.connections {
            1 => bulk.clone(),
            _ => connect().await?,
        };
        Ok(Self {
            server,
            _delay: delay,
            _client: client,
            socket,
            limited,
            bulk,
            urgent,
        })
    }

    fn received_bytes(&self) -> u64 {
        self.server.received_bytes.load(Relaxed)
    }

    fn lost_datagrams(&self) -> u64 {
        let mut lost = self.bulk.stats().path.lost_packets;
        if self.bulk.stable_id() != self.urgent.stable_id() {
            lost += self.urgent.stats().path.lost_packets;
        }
        lost
    }
}

/// Samples of the bytes below the client's socket, and of its limit.
struct Samples {
    below_socket_bytes: Histogram<u64>,
    limit_bytes: Histogram<u64>,
}

impl Samples {
    fn new() -> anyhow::Result<Self> {
        Ok(Self {
            below_socket_bytes: Histogram::new_with_bounds(1, MAX_BYTES, 3)?,
            limit_bytes: Histogram::new_with_bounds(1, MAX_BYTES, 3)?,
        })
    }

    /// Samples until an error, and changes the rate of the link when that is due.
    async fn take(
        &mut self,
        ends: &Endpoints,
        world: &World,
        mut rate: Rate,
        begin: Instant,
    ) -> anyhow::Result<()> {
        loop {
            time::sleep(SAMPLE_EACH).await;
            if let Some(rate_bits_per_s) = rate.change_after(begin.elapsed()) {
                world.shape(rate_bits_per_s)?;
            }
            let bytes = match ends.limited.as_ref().and_then(Limited::stats) {
                Some(stats) => {
                    self.limit_bytes
                        .saturating_record(stats.socket.limit.into());
                    stats.socket.in_flight_bytes
                }
                None => taut_udp::send_queue_bytes(&ends.socket)?,
            };
            self.below_socket_bytes.saturating_record(bytes.into());
        }
    }
}

/// The rate of the slow link.
struct Rate {
    falls: bool,
    whole_bits_per_s: u64,
    third: Duration,
    now_bits_per_s: u64,
}

impl Rate {
    fn new(options: &Options) -> Self {
        Self {
            falls: options.falls,
            whole_bits_per_s: options.rate.0,
            third: Duration::from_nanos(options.duration.0) / 3,
            now_bits_per_s: options.rate.0,
        }
    }

    /// Returns the new rate, if it changes.
    fn change_after(&mut self, elapsed: Duration) -> Option<u64> {
        let middle = elapsed >= self.third && elapsed < self.third * 2;
        let rate = match self.falls && middle {
            true => self.whole_bits_per_s / FALLEN_RATE_PART,
            false => self.whole_bits_per_s,
        };
        (std::mem::replace(&mut self.now_bits_per_s, rate) != rate).then_some(rate)
    }
}

fn limited(variant: Variant) -> Option<Limited<TokioRuntime>> {
    match variant {
        Variant::Taut => Some(Limited::new(TokioRuntime)),
        Variant::Dql => {
            let builder = Limited::builder(TokioRuntime);
            Some(builder.limit(AnyLimit::dql()).cap_ns(0).build())
        }
        _ => None,
    }
}

fn transport(variant: Variant) -> TransportConfig {
    let mut transport = TransportConfig::default();
    match variant {
        Variant::Bbr => {
            let bbr = congestion::BbrConfig::default();
            transport.congestion_controller_factory(Arc::new(bbr));
        }
        Variant::Taut => {
            let cubic = Utilised::new(congestion::CubicConfig::default());
            transport.congestion_controller_factory(Arc::new(cubic));
        }
        _ => {}
    }
    transport
}

/// Sends a small request of high priority every 50 ms, until `end`.
async fn requests(
    connection: &Connection,
    end: Instant,
    times_ns: &mut Histogram<u64>,
) -> anyhow::Result<()> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.set_priority(10)?;
    let mut next = time::Instant::now();
    while Instant::now() < end {
        let asked = Instant::now();
        let mut request = [1; REQUEST_BYTES];
        send.write_all(&request).await?;
        let answer = time::timeout(PATIENCE, receive.read_exact(&mut request)).await;
        answer.context("a request was not answered within 10 s")??;
        times_ns.saturating_record(asked.elapsed().as_nanos() as u64);
        next = (next + REQUEST_EACH).max(time::Instant::now());
        time::sleep_until(next).await;
    }
    Ok(())
}
