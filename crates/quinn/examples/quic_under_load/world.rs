//! Two hosts, and the router or bridge between them.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use anyhow::Context;
use taut_lab::world::{
    CLIENT_ADDRESS, CLIENT_DEVICE, CLIENT_MAC, Hosts, SERVER_ADDRESS, SERVER_DEVICE, SERVER_MAC,
    bridge, shape,
};
use taut_linux::NetNs;
use taut_linux::link::{self, MacAddress, RootQdisc};

use super::delay::Delay;
use super::options::Topology;

/// The router's networks: the two addresses of the client, and all.
const ROUTER_NEAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 0);
const ROUTER_FAR: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 9);
const NEAR_MAC: MacAddress = MacAddress::local(3);
const FAR_MAC: MacAddress = MacAddress::local(4);
const NEAR_DEVICE: &str = "near";
const FAR_DEVICE: &str = "far";
const BURST_BYTES: u32 = 5_000;
/// Typical buffer of a middlebox: about 700 full packets.
const SHAPER_LIMIT_BYTES: u32 = 1 << 20;

/// Two hosts, and the middlebox between them if there is one.
pub struct World {
    hosts: Hosts,
    between: Option<NetNs>,
}

impl World {
    pub fn new(topology: Topology, rate_bits_per_s: u64) -> anyhow::Result<Self> {
        let hosts = Hosts::new()?;
        let (client, server) = (&hosts.client, &hosts.server);
        let between = match topology {
            Topology::Direct => {
                link::add_veth_pair(client, CLIENT_DEVICE, server, SERVER_DEVICE)?;
                None
            }
            Topology::Routed | Topology::Bridged => {
                let between = NetNs::new()?;
                link::add_veth_pair(client, CLIENT_DEVICE, &between, NEAR_DEVICE)?;
                link::add_veth_pair(&between, FAR_DEVICE, server, SERVER_DEVICE)?;
                Some(between)
            }
        };
        hosts.set_macs()?;
        match (&between, topology) {
            (Some(between), Topology::Routed) => {
                route(between)?;
                hosts.start_through(NEAR_MAC, FAR_MAC)?;
            }
            (Some(between), _) => {
                bridge(between, [NEAR_DEVICE, FAR_DEVICE])?;
                link::set_up(between, NEAR_DEVICE)?;
                link::set_up(between, FAR_DEVICE)?;
                hosts.start()?;
            }
            (None, _) => hosts.start()?,
        }
        let world = Self { hosts, between };
        world.shape(rate_bits_per_s)?;
        Ok(world)
    }

    /// Sets the rate of the slow link; queued packets stay.
    pub fn shape(&self, rate_bits_per_s: u64) -> anyhow::Result<()> {
        let tbf = RootQdisc::Tbf {
            rate_bits_per_s,
            // At high rates, at least the bytes of a millisecond, because the shaper's timer can be
            // late.
            burst_bytes: BURST_BYTES.max((rate_bits_per_s / 8 / 1000) as u32),
            limit_bytes: SHAPER_LIMIT_BYTES,
        };
        match &self.between {
            Some(between) => shape(between, FAR_DEVICE, tbf),
            None => shape(&self.hosts.client, CLIENT_DEVICE, tbf),
        }
    }

    /// Delays the datagrams to and from `server` by half of a round trip each.
    pub fn delay(&self, server: SocketAddr, round_trip_ns: u64) -> anyhow::Result<Delay> {
        link::set_up(&self.hosts.server, "lo")?;
        let one_way = Duration::from_nanos(round_trip_ns / 2);
        let (front, back) = (self.server_socket()?, self.server_socket()?);
        Ok(Delay::start(front, back, server, one_way)?)
    }

    pub fn client_socket(&self) -> anyhow::Result<UdpSocket> {
        let bind = || UdpSocket::bind((CLIENT_ADDRESS, 0));
        Ok(self.hosts.client.run(bind)??)
    }

    pub fn server_socket(&self) -> anyhow::Result<UdpSocket> {
        let bind = || UdpSocket::bind((SERVER_ADDRESS, 0));
        Ok(self.hosts.server.run(bind)??)
    }
}

/// All hosts are in one network; the router's two addresses make the routes.
fn route(between: &NetNs) -> anyhow::Result<()> {
    link::set_mac(between, NEAR_DEVICE, NEAR_MAC)?;
    link::set_mac(between, FAR_DEVICE, FAR_MAC)?;
    link::add_address(between, NEAR_DEVICE, ROUTER_NEAR, 31)?;
    link::add_address(between, FAR_DEVICE, ROUTER_FAR, 24)?;
    for device in [NEAR_DEVICE, FAR_DEVICE] {
        link::set_up(between, device)?;
    }
    link::add_neighbour(between, NEAR_DEVICE, CLIENT_ADDRESS, CLIENT_MAC)?;
    link::add_neighbour(between, FAR_DEVICE, SERVER_ADDRESS, SERVER_MAC)?;
    between
        .run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))?
        .context("cannot make a namespace route: write /proc/sys/net/ipv4/ip_forward")
}
