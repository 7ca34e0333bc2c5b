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
use taut_udp::{Datagram, LimitedUdp};

/// Fewer packets than the pool has frames: then the fattest flow loses one, and not whoever comes
/// next.
const FQ_CODEL: &str = "fq_codel limit 1000";
const INNER: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 0, 1), Ipv4Addr::new(10, 9, 0, 2)];

/// One way of the tunnel: from a TAP through a discipline and a limited socket.
fn forward(
    tap: &Tap,
    socket: &LimitedUdp,
    qdisc: &str,
    stop: &AtomicBool,
) -> Result<(), Box<dyn Error>> {
    let mut qdisc: AnyQdisc = qdisc.parse()?;
    let mut pool = FramePool::new(2048, 2048);
    let mut frame = vec![0; tap.read_limit_bytes()];
    let mut next = None; // taken from the discipline, and not from its user's hands yet
    while !stop.load(Relaxed) {
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
        while socket.room() >= 0 {
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

/// Ends the threads that look at it.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// What a request of another flow waits beside twice as much bulk as the link carries, and what
/// passes.
fn run(limit: AnyLimit, qdisc: &str) -> Result<(Duration, f64), Box<dyn Error>> {
    let link = support::shaped_link(20_000_000);
    let (near, near_tap) = inside("near", 0)?;
    let (far, far_tap) = inside("far", 1)?;
    let socket = LimitedUdp::builder(link.connected_socket()?)
        .limit(limit)
        .build()?;
    let far_socket = link.far_socket()?;
    let server = far.run(|| UdpSocket::bind((INNER[1], 7)))??;
    server.set_nonblocking(true)?;
    let client = near.run(|| UdpSocket::bind((INNER[0], 0)))??;
    client.set_nonblocking(true)?; // what the TAP has no room for is lost, and hangs nobody
    let bulk = client.try_clone()?;
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let stopped = StopOnDrop(&stop); // also where this fails
        let forwarder =
            scope.spawn(|| forward(&near_tap, &socket, qdisc, &stop).map_err(|it| it.to_string()));
        scope.spawn(|| far_end(&far_tap, &far_socket, &stop));
        scope.spawn(|| {
            while !stop.load(Relaxed) {
                (0..8).for_each(|_| drop(bulk.send_to(&[0; 1200], (INNER[1], 9))));
                thread::sleep(Duration::from_millis(2));
            }
        });
        thread::sleep(Duration::from_secs(1));
        let (mut waits, since) = (vec![], Instant::now());
        let before = socket.snapshot().totals.completed_bytes;
        for _ in 0..40 {
            let asked = Instant::now();
            let _ = client.send_to(b"?", (INNER[1], 7));
            while server.recv(&mut [0; 9]).is_err() && asked.elapsed() < Duration::from_secs(2) {
                poll::wait(&[server.as_fd()], Some(sched::monotonic_ns() + 100_000_000))?;
            }
            waits.push(asked.elapsed());
            thread::sleep(Duration::from_millis(10));
        }
        let bytes = socket.snapshot().totals.completed_bytes - before;
        let mbit = bytes as f64 * 8e-6 / since.elapsed().as_secs_f64();
        drop(stopped);
        forwarder.join().map_err(|_| "the forwarder panicked")??;
        waits.sort();
        Ok((waits[waits.len() / 2], mbit))
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("a request through the tunnel, beside bulk, in the middle of 40:");
    for (name, limit, qdisc) in [
        ("no limit, pfifo", AnyLimit::off(), "pfifo"),
        ("no limit, fq_codel", AnyLimit::off(), FQ_CODEL),
        ("dql, fq_codel", AnyLimit::dql(), FQ_CODEL),
        ("taut, fq_codel", AnyLimit::taut(), FQ_CODEL),
    ] {
        let (wait, mbit) = run(limit, qdisc)?;
        println!("{name:<20} {wait:>10.2?}, while {mbit:.1} Mbit/s pass");
    }
    Ok(())
}
