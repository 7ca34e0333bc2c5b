//! Namespaces and devices, which end with the process.

use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, Instant};
use std::{io, thread};

use taut_linux::NetNs;
use taut_linux::link::{self, LinkMonitor, LinkState, MacAddress, RootQdisc};

use crate::packet::{self, BYTES};
use crate::xsk::{Shape, Xsk};

/// The device of the sender.
pub const NEAR: &str = "near";
/// The device of the receiver.
pub const FAR: &str = "far";
/// The bucket of the shaper: three frames.
const BURST_BYTES: u32 = 5_000;
/// Backlog of the shaper: no frame is dropped there.
const BACKLOG_BYTES: u32 = 64 << 20;
/// How long links take to come up at most.
const PATIENCE: Duration = Duration::from_secs(20);

/// Two namespaces, with a veth pair between them, or a bridge with a shaper behind the first pair.
/// Behind a shaper, a packet completes when the shaper sends it; a plain pair completes it at once.
pub struct World {
    pub near: NetNs,
    pub far: NetNs,
    /// Of the shaper, if there is one, in bits a second.
    pub rate: Option<u64>,
}

impl World {
    pub fn new(rate: Option<u64>) -> io::Result<Self> {
        let (near, far) = (NetNs::new()?, NetNs::new()?);
        let world = Self { near, far, rate };
        if let Some(rate) = rate {
            link::add_bridge(&world.near, "bridge")?;
            link::add_veth_pair(&world.near, "out", &world.far, FAR)?;
            link::set_up(&world.near, "bridge")?;
            link::set_up(&world.near, "out")?;
            link::add_to_bridge(&world.near, "bridge", "out")?;
            world.set_rate(rate)?;
        }
        world.add_device()?;
        link::set_mac(&world.far, FAR, MacAddress::local(2))?;
        link::set_up(&world.far, FAR)?;
        world.wait_for_links()?;
        Ok(world)
    }

    /// Creates the device of the sender.
    pub fn add_device(&self) -> io::Result<()> {
        if self.rate.is_none() {
            link::add_veth_pair(&self.near, NEAR, &self.far, FAR)?;
        } else {
            link::add_veth_pair(&self.near, NEAR, &self.near, "port")?;
            link::add_to_bridge(&self.near, "bridge", "port")?;
            link::set_up(&self.near, "port")?;
        }
        link::set_mac(&self.near, NEAR, MacAddress::local(1))?;
        link::set_up(&self.near, NEAR)
    }

    /// Changes the rate of the shaper, which keeps its packets.
    pub fn set_rate(&self, rate_bits_per_s: u64) -> io::Result<()> {
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: BURST_BYTES,
            limit_bytes: BACKLOG_BYTES,
        };
        link::set_root_qdisc(&self.near, "out", shaper)
    }

    /// Sends a packet through the shaper. It sleeps until the time that its old rate gave, and
    /// reads the new rate when it gets another packet.
    pub fn wake_shaper(&self) -> io::Result<()> {
        let peer = Ipv4Addr::new(10, 0, 0, 2);
        link::add_address(&self.near, "bridge", Ipv4Addr::new(10, 0, 0, 1), 24)?;
        link::add_neighbour(&self.near, "bridge", peer, MacAddress::local(2))?;
        let send = || UdpSocket::bind("0.0.0.0:0")?.send_to(b"wake", (peer, 9));
        self.near.run(send)?.map(|_| ())
    }

    /// The kernel detects a carrier some time after a device is up; a bridge drops frames before.
    pub fn wait_for_links(&self) -> io::Result<()> {
        let ports: &[&str] = if self.rate.is_some() {
            &[NEAR, "port", "out"]
        } else {
            &[NEAR]
        };
        let start = Instant::now();
        for device in ports {
            while LinkMonitor::open(&self.near, device)?.state() != LinkState::Running {
                if start.elapsed() > PATIENCE {
                    return Err(io::Error::other(format!("{device} has no carrier")));
                }
                thread::sleep(Duration::from_millis(1));
            }
        }
        Ok(())
    }
}

/// Returns the load average of the last minute.
pub fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ')
        .next()
        .and_then(|first| first.parse().ok())
        .unwrap_or(0.0)
}

/// Opens a socket with a packet in each frame. The kernel refuses for some milliseconds after
/// another one was closed.
pub fn open<X: Xsk>(shape: Shape) -> Result<X, String> {
    let start = Instant::now();
    let mut rings = loop {
        match X::open(NEAR, shape) {
            Err(_) if start.elapsed() < Duration::from_secs(1) => {
                thread::sleep(Duration::from_millis(10));
            }
            result => break result?,
        }
    };
    let template = packet::template();
    for frame in 0..shape.frames {
        rings.with_bytes(frame, BYTES, |bytes| bytes.copy_from_slice(&template));
    }
    Ok(rings)
}
