//! A UDP sender held back by a byte queue limit: the device is the socket, and says how much of what
//! was sent is outstanding. Makes two network namespaces of its own with a shaper of 50 Mbit/s
//! between them; needs the privilege for that.
//!
//! Without a limit the socket's send buffer fills, some 200 KB that nothing can overtake; with it,
//! two looks' worth of datagrams wait.

use std::error::Error;
use std::net::{Ipv4Addr, UdpSocket};
use std::thread;
use std::time::Duration;

use taut_dql::Dql;
use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::{NetNs, ensure_privilege, sched, send_queue_bytes};

const BODY: [u8; 1472] = [0; 1472];
const RATE_BITS_PER_S: u64 = 50_000_000;
const RUN_NS: u64 = 1_000_000_000;
/// Between two looks at the socket: an interval of the limit.
const LOOK: Duration = Duration::from_micros(500);
const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const DESTINATION_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

/// Two namespaces, and a shaped link from the first to the second.
fn shaped_link() -> Result<(NetNs, NetNs), Box<dyn Error>> {
    let (near, far) = (NetNs::new()?, NetNs::new()?);
    link::add_veth_pair(&near, "near", &far, "far")?;
    let shaper = RootQdisc::Tbf {
        rate_bits_per_s: RATE_BITS_PER_S,
        burst_bytes: 5_000,
        limit_bytes: 4 << 20,
    };
    link::set_root_qdisc(&near, "near", shaper)?;
    link::add_address(&near, "near", SOURCE, 24)?;
    link::set_up(&far, "far")?;
    link::set_up(&near, "near")?;
    link::add_neighbour(&near, "near", DESTINATION, DESTINATION_MAC)?;
    Ok((near, far))
}

/// What the kernel counts for one datagram: the largest step over a few sends.
fn datagram_units(socket: &UdpSocket) -> Result<u32, Box<dyn Error>> {
    let mut units = 0;
    for _ in 0..8 {
        let before = send_queue_bytes(socket)?;
        socket.send(&BODY)?;
        units = units.max(send_queue_bytes(socket)?.saturating_sub(before));
    }
    while send_queue_bytes(socket)? > 0 {
        thread::sleep(LOOK);
    }
    Ok(units)
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Err(why) = ensure_privilege() {
        eprintln!("udp_sender: {why}");
        std::process::exit(77);
    }
    let (near, _far) = shaped_link()?;
    let socket = near.run(|| UdpSocket::bind((SOURCE, 0)))??;
    socket.connect((DESTINATION, 9))?;
    socket.set_nonblocking(true)?;
    let units = datagram_units(&socket)?;
    // A look that comes late is a longer interval, and the limit follows.
    sched::precise_timers()?;

    let begin_ns = sched::monotonic_ns();
    let mut dql = Dql::new(begin_ns);
    let (mut sent, mut refused, mut most) = (0_u64, 0_u64, 0);
    while sched::monotonic_ns() - begin_ns < RUN_NS {
        while dql.has_room() {
            dql.queued(units)?; // before the socket has it
            if socket.send(&BODY).is_err() {
                dql.unqueue(units)?; // no buffer space: it is not in the socket after all
                refused += 1;
                break;
            }
            sent += 1;
        }
        thread::sleep(LOOK);
        let level = send_queue_bytes(&socket)?;
        most = most.max(level);
        dql.observe_in_flight(level, sched::monotonic_ns())?;
    }
    let mbit = sent * (BODY.len() as u64 + 42) * 8 * 1_000 / RUN_NS;
    println!(
        "{mbit} Mbit/s; at most {most} units in the socket ({units} a datagram), limit {}; {refused} \
         sends refused",
        dql.limit()
    );
    Ok(())
}
