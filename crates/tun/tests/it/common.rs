//! Packets, links and patience of the tests.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::{NetNs, privilege};

/// Test timeout, far longer than on any busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// An IPv4 packet with UDP of a flow, of `bytes`.
pub fn packet(flow: u32, bytes: usize) -> Vec<u8> {
    let mut packet = vec![0; bytes];
    packet[0] = 0x45;
    packet[1] = 2; // ECN-capable.
    packet[2..4].copy_from_slice(&(bytes as u16).to_be_bytes());
    (packet[8], packet[9]) = (64, 17);
    packet[12..16].copy_from_slice(&(0x0a00_0000 | flow >> 16).to_be_bytes());
    packet[16..20].copy_from_slice(&[10, 1, 0, 1]);
    packet[20..22].copy_from_slice(&(flow as u16).to_be_bytes());
    packet
}

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

/// The directory of a publisher.
pub fn directory(name: &str) -> PathBuf {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    root.join(format!("tunnel-{name}-{}", std::process::id()))
}

/// Waits until `condition` holds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "no success within 60 s: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A namespace with a link to another, shaped by a token bucket.
pub struct Link {
    pub near: NetNs,
    pub far: NetNs,
}

impl Link {
    pub fn shaped(rate_bits_per_s: u64) -> Self {
        let namespace = || NetNs::new().expect("namespace");
        let (near, far) = (namespace(), namespace());
        link::add_veth_pair(&near, "near", &far, "far").expect("veth");
        let ends = [
            (&near, "near", NEAR, 1, FAR, 2),
            (&far, "far", FAR, 2, NEAR, 1),
        ];
        for (ns, device, address, mac, peer, peer_mac) in ends {
            link::set_mac(ns, device, MacAddress::local(mac)).expect("mac");
            link::add_address(ns, device, address, 24).expect("address");
            link::set_up(ns, device).expect("up");
            let peer_mac = MacAddress::local(peer_mac);
            link::add_neighbour(ns, device, peer, peer_mac).expect("neighbour");
        }
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: 5_000,
            limit_bytes: 4 << 20,
        };
        link::set_root_qdisc(&near, "near", shaper).expect("shaper");
        Self { near, far }
    }

    pub fn near_socket(&self) -> UdpSocket {
        bind(&self.near, NEAR)
    }

    /// A socket of the far side that receives, and its address.
    pub fn receiver(&self) -> (UdpSocket, SocketAddr) {
        let socket = bind(&self.far, FAR);
        socket
            .set_read_timeout(Some(Duration::from_millis(100)))
            .expect("option");
        let address = socket.local_addr().expect("address");
        (socket, address)
    }
}

pub fn bind(ns: &NetNs, address: Ipv4Addr) -> UdpSocket {
    let socket = ns.run(move || UdpSocket::bind((address, 0)));
    socket.expect("thread").expect("socket")
}
