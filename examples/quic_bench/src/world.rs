//! Two hosts, and a bridge or router with the slow link between them.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};

use anyhow::Context;
use clap::ValueEnum;
use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::{NetNs, ensure_privilege};

const CLIENT: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
/// The router's addresses on the client's link, a network of two addresses, and on the server's.
const ROUTER: [(Ipv4Addr, u8); 2] = [
    (Ipv4Addr::new(10, 77, 0, 0), 31),
    (Ipv4Addr::new(10, 77, 0, 9), 24),
];
const SHAPER_LIMIT_BYTES: u32 = 1 << 20;
const MIN_BURST_BYTES: u32 = 5_000;

/// What is between the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Topology {
    Bridged,
    Routed,
}

/// The two hosts, and the namespace between them.
pub struct World {
    client: NetNs,
    server: NetNs,
    _between: NetNs,
}

impl World {
    pub fn new(topology: Topology, rate_bits_per_s: u64) -> anyhow::Result<Self> {
        ensure_privilege()?;
        let (client, between, server) = (NetNs::new()?, NetNs::new()?, NetNs::new()?);
        let [client_mac, near_mac, far_mac, server_mac] = [1, 2, 3, 4].map(MacAddress::local);
        link::add_veth_pair(&client, "client", &between, "near")?;
        link::add_veth_pair(&between, "far", &server, "server")?;
        for (ns, device, mac) in [
            (&client, "client", client_mac),
            (&between, "near", near_mac),
            (&between, "far", far_mac),
            (&server, "server", server_mac),
        ] {
            link::set_mac(ns, device, mac)?;
            link::set_up(ns, device)?;
        }
        link::add_address(&client, "client", CLIENT, 24)?;
        link::add_address(&server, "server", SERVER, 24)?;
        let next_macs = match topology {
            Topology::Bridged => {
                link::add_bridge(&between, "bridge").context("this kernel has no bridge")?;
                link::add_to_bridge(&between, "bridge", "near")?;
                link::add_to_bridge(&between, "bridge", "far")?;
                link::set_up(&between, "bridge")?;
                (server_mac, client_mac)
            }
            Topology::Routed => {
                for (device, (address, bits)) in ["near", "far"].into_iter().zip(ROUTER) {
                    link::add_address(&between, device, address, bits)?;
                }
                link::add_neighbour(&between, "near", CLIENT, client_mac)?;
                link::add_neighbour(&between, "far", SERVER, server_mac)?;
                between.run(|| fs::write("/proc/sys/net/ipv4/ip_forward", "1"))??;
                (near_mac, far_mac)
            }
        };
        link::add_neighbour(&client, "client", SERVER, next_macs.0)?;
        link::add_neighbour(&server, "server", CLIENT, next_macs.1)?;
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            // At high rates the bytes of a millisecond, because the shaper's timer can be late.
            burst_bytes: MIN_BURST_BYTES.max((rate_bits_per_s / 8_000) as u32),
            limit_bytes: SHAPER_LIMIT_BYTES,
        };
        link::set_root_qdisc(&between, "far", shaper)?;
        Ok(Self {
            client,
            server,
            _between: between,
        })
    }

    pub fn client_socket(&self) -> anyhow::Result<UdpSocket> {
        Ok(self.client.run(|| UdpSocket::bind((CLIENT, 0)))??)
    }

    pub fn server_socket(&self) -> anyhow::Result<UdpSocket> {
        Ok(self.server.run(|| UdpSocket::bind((SERVER, 0)))??)
    }
}
