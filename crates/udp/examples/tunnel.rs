//! A tunnel, as VPNs are built: frames of a TAP in datagrams of a UDP socket. Its limit keeps the
//! kernel's queue below the socket short, so what waits does so in an `fq_codel` of the tunnel's
//! own, where a request overtakes the bulk. Makes network namespaces of its own, with a link of 20
//! Mbit/s.

mod support;

use std::error::Error;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use taut_linux::link::{self, MacAddress};
use taut_linux::{NetNs, Tap, TapConfig, VirtioNetHeader, poll, sched};
use taut_path::classify::classify;
use taut_path::pool::FramePool;
use taut_path::{AnyLimit, AnyQdisc, PacketSink, Qdisc};
use taut_udp::{Datagram, LimitedUdp, Source};

const PAUSE: Duration = Duration::from_millis(50);
/// The default cap.
const CAP_NS: u64 = 5_000_000;

/// Fewer packets than the pool has frames, so that the discipline drops from the largest flow,
/// instead of the next packet.
const FQ_CODEL: &str = "fq_codel limit 1000";
const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];

/// One way of the tunnel: from a TAP through a discipline and a limited socket.
fn forward(
    tap: &Tap,
    socket: &LimitedUdp,
    qdisc: &str,
    events: &Events,
) -> Result<(), Box<dyn Error>> {
    let mut qdisc: AnyQdisc = qdisc.parse()?;
    let mut pool = FramePool::new(2048, 2048);
    let mut frame = vec![0; tap.read_limit_bytes()];
    let mut next = None; // taken from the discipline, and not from its user's hands yet
    while !events.stop.load(Relaxed) {
        if events.pause.swap(false, Relaxed) {
            thread::sleep(PAUSE);
        }
        // What the TAP has is read at once: its own queue cannot be reordered, and drops silently.
        while let Some(bytes) = tap.read(&mut frame)? {
            let Ok(mut packet) = pool.packet(&frame[..bytes]) else {
                continue;
            };
            if let Some((_, inner)) = VirtioNetHeader::split(&frame[..bytes]) {
                packet.flow = classify(inner).flow;
            }
            qdisc.enqueue(packet, sched::monotonic_ns(), &mut pool);
        }
        socket.complete()?;
        // Ask for room only with a packet at hand: an answer below 0 counts as a block.
        while (next.is_some() || qdisc.backlog().packets > 0) && socket.room() >= 0 {
            let dequeued = next
                .take()
                .or_else(|| qdisc.dequeue(sched::monotonic_ns(), &mut pool));
            let Some(packet) = dequeued else { break };
            let bytes = packet.wire_bytes() as usize;
            let sent = pool.with(packet.frame(), |space| {
                socket.try_send(&[Datagram::new(&space[..bytes])])
            })??;
            match sent.stop {
                Some(taut_udp::Stop::NoRoom | taut_udp::Stop::BufferFull) => {
                    next = Some(packet);
                    break;
                }
                _ => pool.freed(packet),
            }
        }
        let soon_ns = sched::monotonic_ns() + 20_000_000;
        let until_ns = socket
            .next_wakeup()
            .map_or(soon_ns, |at_ns| at_ns.min(soon_ns));
        poll::wait(&[tap.as_fd(), socket.as_fd()], Some(until_ns))?;
    }
    Ok(())
}

/// The other end: what comes goes into the far TAP, and the answers come back past all this.
fn far_end(tap: &Tap, socket: &UdpSocket, stop: &AtomicBool) -> std::io::Result<()> {
    let mut buffer = vec![0; 65_536];
    while !stop.load(Relaxed) {
        poll::wait(&[socket.as_fd()], Some(sched::monotonic_ns() + 20_000_000))?;
        while let Ok(bytes) = socket.recv(&mut buffer) {
            let _ = tap.write(&buffer[..bytes])?;
        }
    }
    Ok(())
}

fn inside(name: &str, side: usize) -> std::io::Result<(NetNs, Tap)> {
    let ns = NetNs::new()?;
    let mac = |side| MacAddress::local(side as u32 + 10);
    let config = TapConfig {
        mac: Some(mac(side)),
        mtu_bytes: 1400,
        ..TapConfig::default()
    };
    let tap = Tap::open(&ns, name, config)?;
    link::add_address(&ns, name, INNER[side], 24)?;
    link::set_up(&ns, name)?;
    link::add_neighbour(&ns, name, INNER[1 - side], mac(1 - side))?;
    Ok((ns, tap))
}

/// What the threads of a run do next.
#[derive(Default)]
struct Events {
    stop: AtomicBool,
    /// The forwarder sleeps for [`PAUSE`].
    pause: AtomicBool,
}

/// Ends the threads of a run.
struct StopOnDrop<'a>(&'a Events);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop.store(true, Relaxed);
    }
}

/// The median of how long 40 requests of another flow take.
fn requests(client: &UdpSocket, server: &UdpSocket) -> Result<Duration, Box<dyn Error>> {
    let mut delays = vec![];
    for _ in 0..40 {
        let asked = Instant::now();
        let _ = client.send_to(b"?", (INNER[1], 7));
        while server.recv(&mut [0; 9]).is_err() && asked.elapsed() < Duration::from_secs(2) {
            poll::wait(&[server.as_fd()], Some(sched::monotonic_ns() + 100_000_000))?;
        }
        delays.push(asked.elapsed());
        thread::sleep(Duration::from_millis(10));
    }
    delays.sort();
    Ok(delays[delays.len() / 2])
}

/// The median delay of a request beside twice as much bulk as the link carries, the same a second
/// after a pause of the forwarder, and the Mbit/s of the link.
fn run(
    limit: AnyLimit,
    cap_ns: u64,
    qdisc: &str,
    source: Source,
) -> Result<(Duration, Duration, f64), Box<dyn Error>> {
    let link = support::shaped_link(20_000_000);
    let (near, near_tap) = inside("near", 0)?;
    let (far, far_tap) = inside("far", 1)?;
    let socket = LimitedUdp::builder(link.connected_socket()?)
        .limit(limit)
        .cap_ns(cap_ns)
        .source(source)
        .build()?;
    let far_socket = link.far_socket()?;
    let server = far.run(|| UdpSocket::bind((INNER[1], 7)))??;
    server.set_nonblocking(true)?;
    // The ports are fixed, so that the flows share no queue of fq_codel.
    let client = near.run(|| UdpSocket::bind((INNER[0], 20_000)))??;
    client.set_nonblocking(true)?; // The TAP drops what it has no room for, so no send blocks.
    let bulk: Vec<UdpSocket> = (20_001..20_009)
        .map(|port| near.run(|| UdpSocket::bind((INNER[0], port)))?)
        .collect::<Result<_, _>>()?;
    bulk.iter()
        .try_for_each(|flow| flow.set_nonblocking(true))?;
    let events = Events::default();
    thread::scope(|scope| {
        let stopped = StopOnDrop(&events); // An error below also ends the threads.
        let forwarder = scope
            .spawn(|| forward(&near_tap, &socket, qdisc, &events).map_err(|it| it.to_string()));
        scope.spawn(|| far_end(&far_tap, &far_socket, &events.stop));
        scope.spawn(|| {
            while !events.stop.load(Relaxed) {
                for flow in &bulk {
                    let _ = flow.send_to(&[0; 1200], (INNER[1], 9));
                }
                thread::sleep(Duration::from_millis(2));
            }
        });
        thread::sleep(Duration::from_secs(1));
        let (since, before) = (Instant::now(), socket.snapshot().totals.completed_bytes);
        let delay = requests(&client, &server)?;
        let bytes = socket.snapshot().totals.completed_bytes - before;
        let mbit = bytes as f64 * 8e-6 / since.elapsed().as_secs_f64();
        events.pause.store(true, Relaxed);
        thread::sleep(PAUSE + Duration::from_secs(1));
        let delay_after = requests(&client, &server)?;
        drop(stopped);
        forwarder.join().map_err(|_| "the forwarder panicked")??;
        Ok((delay, delay_after, mbit))
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("The median of 40 requests through the tunnel, beside 8 bulk flows:");
    println!("{:<26} {:>9}   a second after a pause", "", "delay");
    let show = |name, limit, cap_ns, qdisc, source| -> Result<(), Box<dyn Error>> {
        let (delay, after, mbit) = run(limit, cap_ns, qdisc, source)?;
        println!("{name:<26} {delay:>9.2?} {after:>9.2?}   {mbit:.1} Mbit/s");
        Ok(())
    };
    show(
        "no limit, pfifo",
        AnyLimit::off(),
        0,
        "pfifo",
        Source::Timestamps,
    )?;
    show("no limit", AnyLimit::off(), 0, FQ_CODEL, Source::Timestamps)?;
    for source in [Source::Timestamps, Source::ZeroCopy] {
        println!("completions from {source:?}:");
        show("dql", AnyLimit::dql(), 0, FQ_CODEL, source)?;
        show("taut", AnyLimit::taut(), 0, FQ_CODEL, source)?;
        show("taut, cap 5 ms", AnyLimit::taut(), CAP_NS, FQ_CODEL, source)?;
    }
    Ok(())
}
