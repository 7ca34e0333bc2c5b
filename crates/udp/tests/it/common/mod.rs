//! Links of the live tests. Each test creates its own namespaces.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::{NetNs, privilege};
use taut_udp::{Datagram, LimitedUdp};
use tokio::runtime::{Builder, Runtime};

/// Test timeout, far longer than on any busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const FAR_MAC: MacAddress = MacAddress::local(2);
const NEAR_MAC: MacAddress = MacAddress::local(1);

/// Returns `true` if live tests can run here. With `CI=true`, it fails instead of returning
/// `false`.
pub fn allowed() -> bool {
    match privilege() {
        Ok(_) => true,
        Err(missing) if std::env::var("CI").as_deref() == Ok("true") => panic!("{missing}"),
        Err(missing) => {
            eprintln!("skipped: {missing}");
            false
        }
    }
}

/// A runtime of tokio with this many threads.
pub fn runtime(threads: usize) -> Runtime {
    let mut builder = match threads {
        1 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    builder.enable_all().build().expect("runtime")
}

/// Waits until `condition` holds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Two namespaces and a link from the first to the second.
pub struct Link {
    pub near: NetNs,
    pub far: NetNs,
}

impl Link {
    /// Without a shaper: packets do not queue.
    pub fn plain() -> Self {
        let (near, far) = (
            NetNs::new().expect("namespace"),
            NetNs::new().expect("namespace"),
        );
        link::add_veth_pair(&near, "near", &far, "far").expect("veth");
        link::set_mac(&near, "near", NEAR_MAC).expect("mac");
        link::set_mac(&far, "far", FAR_MAC).expect("mac");
        link::add_address(&near, "near", NEAR, 24).expect("address");
        link::add_address(&far, "far", FAR, 24).expect("address");
        link::set_up(&far, "far").expect("up");
        let link = Self { near, far };
        link.up();
        link::add_neighbour(&link.far, "far", NEAR, NEAR_MAC).expect("neighbour");
        link
    }

    /// Sets the near device up, with its neighbour entry.
    pub fn up(&self) {
        link::set_up(&self.near, "near").expect("up");
        link::add_neighbour(&self.near, "near", FAR, FAR_MAC).expect("neighbour");
    }

    pub fn shaped(rate_bits_per_s: u64) -> Self {
        let link = Self::plain();
        link.shape(rate_bits_per_s, 4 << 20);
        link
    }

    pub fn shape(&self, rate_bits_per_s: u64, limit_bytes: u32) {
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: 5_000,
            limit_bytes,
        };
        link::set_root_qdisc(&self.near, "near", shaper).expect("shaper");
    }

    pub fn bind(&self) -> UdpSocket {
        let socket = self.near.run(|| UdpSocket::bind((NEAR, 0)));
        socket.expect("thread").expect("socket")
    }

    /// A socket of the near side, connected to `to`.
    pub fn connected(&self, to: SocketAddr) -> UdpSocket {
        let socket = self.bind();
        socket.connect(to).expect("connects");
        socket
    }

    /// A socket of the far side that receives, and its address.
    pub fn receiver(&self) -> (UdpSocket, SocketAddr) {
        let socket = self.far.run(|| UdpSocket::bind((FAR, 0)));
        let socket = socket.expect("thread").expect("socket");
        socket.set_nonblocking(true).expect("option");
        let address = socket.local_addr().expect("address");
        (socket, address)
    }
}

/// Reads all received datagrams, and returns their number of bytes.
pub fn read_all(socket: &UdpSocket) -> usize {
    let mut buffer = [0; 65536];
    let mut count = 0;
    while socket.recv(&mut buffer).is_ok() {
        count += 1;
    }
    count
}

/// Sends `count` datagrams of `bytes` and waits until all are accounted for.
pub fn send_and_finish(socket: &LimitedUdp, bytes: usize, count: usize) {
    let payload = vec![7; bytes];
    let start = Instant::now();
    let mut left = count;
    while left > 0 {
        let batch = vec![Datagram::new(&payload); left.min(16)];
        let sent = socket.send(&batch).expect("sends");
        assert_eq!(sent.stop, None);
        left -= sent.count;
        assert!(
            start.elapsed() < PATIENCE,
            "{left} left: {:?}",
            socket.snapshot()
        );
    }
    finish(socket);
}

/// Waits until nothing is in flight.
pub fn finish(socket: &LimitedUdp) {
    let start = Instant::now();
    while socket.snapshot().in_flight > 0 {
        let _ = socket.wait(None).expect("waits");
        assert!(
            start.elapsed() < PATIENCE,
            "in flight for ever: {:?}",
            socket.snapshot()
        );
    }
}
