//! Two hosts, and what is between them. Held by descriptors of this process, so that nothing is left
//! however it ends.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::Context;
use taut_linux::NetNs;
use taut_linux::link::{self, MacAddress, RootQdisc};

use super::options::Topology;
use super::relay::Relay;

const CLIENT_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 1);
const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 2);
/// The router's networks: the two on the client's side, and all.
const ROUTER_NEAR: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 0);
const ROUTER_FAR: Ipv4Addr = Ipv4Addr::new(10, 79, 0, 9);
const CLIENT_MAC: MacAddress = MacAddress::local(1);
const SERVER_MAC: MacAddress = MacAddress::local(2);
const NEAR_MAC: MacAddress = MacAddress::local(3);
const FAR_MAC: MacAddress = MacAddress::local(4);
const BURST_BYTES: u32 = 5_000;
/// What a box on the way holds as a rule: some 700 full packets.
const SHAPER_LIMIT_BYTES: u32 = 1 << 20;

/// Two hosts, and the box between them if there is one.
pub struct World {
    client: NetNs,
    server: NetNs,
    between: Option<NetNs>,
}

impl World {
    pub fn new(topology: Topology, rate_bits_per_s: u64) -> anyhow::Result<Self> {
        let (client, server) = (NetNs::new()?, NetNs::new()?);
        let between = match topology {
            Topology::Direct => {
                link::add_veth_pair(&client, "client", &server, "server")?;
                None
            }
            Topology::Routed | Topology::Bridged => {
                let between = NetNs::new()?;
                link::add_veth_pair(&client, "client", &between, "near")?;
                link::add_veth_pair(&between, "far", &server, "server")?;
                Some(between)
            }
        };
        for (ns, device, address, mac) in [
            (&client, "client", CLIENT_ADDRESS, CLIENT_MAC),
            (&server, "server", SERVER_ADDRESS, SERVER_MAC),
        ] {
            link::set_mac(ns, device, mac)?;
            link::add_address(ns, device, address, 24)?;
        }
        match (&between, topology) {
            (Some(between), Topology::Routed) => route(between)?,
            (Some(between), _) => bridge(between)?,
            (None, _) => {}
        }
        link::set_up(&client, "client")?;
        link::set_up(&server, "server")?;
        // Behind a router its devices answer for the other side.
        let (to_server, to_client) = match topology {
            Topology::Routed => (NEAR_MAC, FAR_MAC),
            _ => (SERVER_MAC, CLIENT_MAC),
        };
        link::add_neighbour(&client, "client", SERVER_ADDRESS, to_server)?;
        link::add_neighbour(&server, "server", CLIENT_ADDRESS, to_client)?;
        let world = Self {
            client,
            server,
            between,
        };
        world.shape(rate_bits_per_s)?;
        Ok(world)
    }

    /// Gives the slow link this rate; what waits there stays.
    pub fn shape(&self, rate_bits_per_s: u64) -> anyhow::Result<()> {
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            // A millisecond's worth at high rates, or the shaper itself is what is late.
            burst_bytes: BURST_BYTES.max((rate_bits_per_s / 8 / 1000) as u32),
            limit_bytes: SHAPER_LIMIT_BYTES,
        };
        match &self.between {
            Some(between) => link::set_root_qdisc(between, "far", shaper)?,
            None => link::set_root_qdisc(&self.client, "client", shaper)?,
        }
        Ok(())
    }

    /// What makes the server so far away.
    pub fn relay(&self, server: SocketAddr, distance_ns: u64) -> anyhow::Result<Relay> {
        link::set_up(&self.server, "lo")?;
        let one_way = Duration::from_nanos(distance_ns / 2);
        let (front, back) = (self.server_socket()?, self.server_socket()?);
        Ok(Relay::start(front, back, server, one_way)?)
    }

    pub fn client_socket(&self) -> anyhow::Result<UdpSocket> {
        Ok(self.client.run(|| UdpSocket::bind((CLIENT_ADDRESS, 0)))??)
    }

    pub fn server_socket(&self) -> anyhow::Result<UdpSocket> {
        Ok(self.server.run(|| UdpSocket::bind((SERVER_ADDRESS, 0)))??)
    }
}

/// All hosts are in one network; the router's two addresses make the routes.
fn route(between: &NetNs) -> anyhow::Result<()> {
    link::set_mac(between, "near", NEAR_MAC)?;
    link::set_mac(between, "far", FAR_MAC)?;
    link::add_address(between, "near", ROUTER_NEAR, 31)?;
    link::add_address(between, "far", ROUTER_FAR, 24)?;
    for device in ["near", "far"] {
        link::set_up(between, device)?;
    }
    link::add_neighbour(between, "near", CLIENT_ADDRESS, CLIENT_MAC)?;
    link::add_neighbour(between, "far", SERVER_ADDRESS, SERVER_MAC)?;
    between
        .run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))?
        .context("cannot make a namespace route: write /proc/sys/net/ipv4/ip_forward")
}

fn bridge(between: &NetNs) -> anyhow::Result<()> {
    link::add_bridge(between, "bridge").context("this kernel has no bridge")?;
    for device in ["near", "far"] {
        link::add_to_bridge(between, "bridge", device)?;
        link::set_up(between, device)?;
    }
    Ok(link::set_up(between, "bridge")?)
}
