//! Two hosts, with the slow link between them.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{self, Command};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::net::sockopt::set_socket_send_buffer_size;
use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::{NetNs, ensure_privilege};

use crate::delay;
use crate::options::{Fault, Options, Topology};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The router's addresses on the client's link, a network of two addresses, and on the server's.
const ROUTER: [(Ipv4Addr, u8); 2] = [
    (Ipv4Addr::new(10, 77, 0, 0), 31),
    (Ipv4Addr::new(10, 77, 0, 9), 24),
];
const SHAPER_LIMIT_BYTES: u32 = 1 << 20;
const MIN_BURST_BYTES: u32 = 5_000;
const FAULT: Duration = Duration::from_secs(1);
/// Divisor of the rate while it is reduced.
const FALLEN_RATE_PART: u64 = 5;

/// The two hosts, and the slow link.
pub struct World {
    client: NetNs,
    server: NetNs,
    /// Of the next hop of the client, and of the server.
    next_macs: (MacAddress, MacAddress),
    link: SlowLink,
}

/// A device with a shaper.
#[derive(Clone)]
struct SlowLink {
    ns: NetNs,
    device: &'static str,
    rate_bits_per_s: u64,
}

impl World {
    pub fn new(options: &Options) -> anyhow::Result<Self> {
        ensure_privilege()?;
        let (client, server) = (NetNs::new()?, NetNs::new()?);
        let [client_mac, server_mac, near_mac, far_mac] = [1, 2, 3, 4].map(MacAddress::local);
        let mut next_macs = (server_mac, client_mac);
        let (ns, device) = if options.topology == Topology::Direct {
            link::add_veth_pair(&client, "client", &server, "server")?;
            (client.clone(), "client")
        } else {
            let between = NetNs::new()?;
            link::add_veth_pair(&client, "client", &between, "near")?;
            link::add_veth_pair(&between, "far", &server, "server")?;
            for (device, mac) in [("near", near_mac), ("far", far_mac)] {
                link::set_mac(&between, device, mac)?;
                link::set_up(&between, device)?;
            }
            if options.topology == Topology::Routed {
                route(&between, client_mac, server_mac)?;
                next_macs = (near_mac, far_mac);
            } else {
                bridge(&between)?;
            }
            (between, "far")
        };
        for (ns, device, mac, address, next, next_mac) in [
            (&client, "client", client_mac, CLIENT, SERVER, next_macs.0),
            (&server, "server", server_mac, SERVER, CLIENT, next_macs.1),
        ] {
            link::set_mac(ns, device, mac)?;
            link::add_address(ns, device, address, 24)?;
            link::set_up(ns, device)?;
            link::add_neighbour(ns, device, next, next_mac)?;
        }
        let link = SlowLink {
            ns,
            device,
            rate_bits_per_s: options.rate.0,
        };
        link.shape(link.rate_bits_per_s)?;
        Ok(Self {
            client,
            server,
            next_macs,
            link,
        })
    }

    /// Returns a socket with the send buffer of the options.
    pub fn client_socket(&self, options: &Options) -> anyhow::Result<UdpSocket> {
        let socket = self.client.run(|| UdpSocket::bind((CLIENT, 0)))??;
        if let Some(buffer) = options.buffer {
            set_socket_send_buffer_size(&socket, usize::try_from(buffer.0)?)?;
        }
        Ok(socket)
    }

    pub fn server_socket(&self) -> anyhow::Result<UdpSocket> {
        Ok(self.server.run(|| UdpSocket::bind((SERVER, 0)))??)
    }

    /// Returns the address at which the client reaches `server`, at the distance of the options.
    pub fn address(&self, server: SocketAddr, options: &Options) -> anyhow::Result<SocketAddr> {
        if options.distance.0 == 0 {
            return Ok(server);
        }
        link::set_up(&self.server, "lo")?;
        let (front, back) = (self.server_socket()?, self.server_socket()?);
        let address = front.local_addr()?;
        let one_way = Duration::from_nanos(options.distance.0 / 2);
        delay::start(front, back, server, one_way)?;
        Ok(address)
    }

    /// Injects `fault` after this time. A rebound endpoint is a matter of the program.
    pub(crate) fn inject(&self, fault: Fault, after: Duration) -> JoinHandle<anyhow::Result<()>> {
        let (client, server) = (self.client.clone(), self.server.clone());
        let next_macs = self.next_macs;
        thread::spawn(move || {
            thread::sleep(after);
            match fault {
                Fault::LinkDown => outage(&client, "client", SERVER, next_macs.0),
                Fault::PeerDown => outage(&server, "server", CLIENT, next_macs.1),
                Fault::Stopped => stop(),
                Fault::Rebound => Ok(()),
            }
        })
    }

    /// Reduces the rate in the middle third of a measurement that begins now.
    pub(crate) fn reduce_rate(&self, duration: Duration) -> JoinHandle<anyhow::Result<()>> {
        let link = self.link.clone();
        thread::spawn(move || {
            for divisor in [FALLEN_RATE_PART, 1] {
                thread::sleep(duration / 3);
                link.shape(link.rate_bits_per_s / divisor)?;
            }
            Ok(())
        })
    }
}

impl SlowLink {
    /// Sets the rate; queued packets stay.
    fn shape(&self, rate_bits_per_s: u64) -> anyhow::Result<()> {
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            // At high rates the bytes of a millisecond, because the shaper's timer can be late.
            burst_bytes: MIN_BURST_BYTES.max((rate_bits_per_s / 8_000) as u32),
            limit_bytes: SHAPER_LIMIT_BYTES,
        };
        link::set_root_qdisc(&self.ns, self.device, shaper).context("this kernel has no TBF")
    }
}

/// Turns an interface off and on. The kernel forgets its neighbours.
fn outage(ns: &NetNs, device: &str, next: Ipv4Addr, next_mac: MacAddress) -> anyhow::Result<()> {
    link::set_down(ns, device)?;
    thread::sleep(FAULT);
    link::set_up(ns, device)?;
    Ok(link::add_neighbour(ns, device, next, next_mac)?)
}

/// Stops this process. A stopped process cannot continue by itself.
fn stop() -> anyhow::Result<()> {
    let (id, seconds) = (process::id(), FAULT.as_secs());
    let script = format!("kill -STOP {id}; sleep {seconds}; kill -CONT {id}");
    let status = Command::new("sh").args(["-c", &script]).status()?;
    ensure!(status.success(), "{script}: {status}");
    Ok(())
}

fn bridge(between: &NetNs) -> anyhow::Result<()> {
    link::add_bridge(between, "bridge").context("this kernel has no bridge")?;
    link::add_to_bridge(between, "bridge", "near")?;
    link::add_to_bridge(between, "bridge", "far")?;
    Ok(link::set_up(between, "bridge")?)
}

fn route(between: &NetNs, client_mac: MacAddress, server_mac: MacAddress) -> anyhow::Result<()> {
    for (device, (address, bits)) in ["near", "far"].into_iter().zip(ROUTER) {
        link::add_address(between, device, address, bits)?;
    }
    link::add_neighbour(between, "near", CLIENT, client_mac)?;
    link::add_neighbour(between, "far", SERVER, server_mac)?;
    Ok(between.run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))??)
}
