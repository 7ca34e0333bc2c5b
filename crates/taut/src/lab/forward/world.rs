//! Two hosts and a box between them. All of it is held by descriptors of this process, so that nothing
//! is left however it ends.

use std::net::Ipv4Addr;

use anyhow::Context;
use taut_linux::NetNs;
use taut_linux::link::{self, MacAddress, OffloadControl, RootQdisc};

use super::case::{Case, Forwarder};

const CLIENT_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 1);
const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 2);
const PREFIX_BITS: u8 = 24;
const CLIENT_MAC: MacAddress = MacAddress::local(1);
const SERVER_MAC: MacAddress = MacAddress::local(2);
const CLIENT_DEVICE: &str = "taut-client";
const SERVER_DEVICE: &str = "taut-server";
/// The ends of both links in the box.
pub const FAST_DEVICE: &str = "taut-fast";
pub const SLOW_DEVICE: &str = "taut-slow";
const BRIDGE: &str = "taut-bridge";

/// The bucket of the fast side: a whole super-packet, so that these arrive at the box.
const FAST_BURST_BYTES: u32 = 128 * 1024;
/// The bucket of the slow side: a few frames.
const SLOW_BURST_BYTES: u32 = 5 * 1024;
/// What the shapers may hold where nothing else bounds it.
const SHAPER_LIMIT_BYTES: u32 = 8 << 20;
/// What a device's own queue holds.
const QUEUE_PACKETS: u32 = 1000;

/// Two hosts and the box.
pub struct World {
    pub client: NetNs,
    pub server: NetNs,
    pub between: NetNs,
    /// Where the server listens.
    pub address: Ipv4Addr,
}

impl World {
    /// Makes the hosts and links of `case`, and the kernel's bridge if that is what forwards.
    pub fn new(case: &Case, fast_bits_per_s: u64) -> anyhow::Result<Self> {
        let (client, server, between) = (NetNs::new()?, NetNs::new()?, NetNs::new()?);
        link::add_veth_pair(&client, CLIENT_DEVICE, &between, FAST_DEVICE)?;
        link::add_veth_pair(&between, SLOW_DEVICE, &server, SERVER_DEVICE)?;
        link::set_mac(&client, CLIENT_DEVICE, CLIENT_MAC)?;
        link::set_mac(&server, SERVER_DEVICE, SERVER_MAC)?;
        // As the forwarder does.
        let offloads = OffloadControl::new(&between)?;
        for device in [FAST_DEVICE, SLOW_DEVICE] {
            offloads.turn_off(device)?;
        }
        shape(&client, CLIENT_DEVICE, fast_bits_per_s, FAST_BURST_BYTES)?;
        link::set_tx_queue_packets(&between, SLOW_DEVICE, QUEUE_PACKETS)?;
        shape(&between, SLOW_DEVICE, case.rate.0, SLOW_BURST_BYTES)?;
        link::set_pfifo_fast_in_tbf(&between, SLOW_DEVICE)?;
        if case.forwarder == Forwarder::Kernel {
            link::add_bridge(&between, BRIDGE).context("this kernel has no bridge")?;
            for device in [FAST_DEVICE, SLOW_DEVICE] {
                link::add_to_bridge(&between, BRIDGE, device)?;
            }
            link::set_up(&between, BRIDGE)?;
        }
        for device in [FAST_DEVICE, SLOW_DEVICE] {
            link::set_up(&between, device)?;
        }
        start(&client, CLIENT_DEVICE, CLIENT_ADDRESS)?;
        start(&server, SERVER_DEVICE, SERVER_ADDRESS)?;
        // Known to each other from the start: no address resolution behind a full queue.
        link::add_neighbour(&client, CLIENT_DEVICE, SERVER_ADDRESS, SERVER_MAC)?;
        link::add_neighbour(&server, SERVER_DEVICE, CLIENT_ADDRESS, CLIENT_MAC)?;
        Ok(Self {
            client,
            server,
            between,
            address: SERVER_ADDRESS,
        })
    }
}

fn start(ns: &NetNs, device: &str, address: Ipv4Addr) -> std::io::Result<()> {
    link::add_address(ns, device, address, PREFIX_BITS)?;
    link::set_up(ns, device)
}

fn shape(ns: &NetNs, device: &str, rate_bits_per_s: u64, burst_bytes: u32) -> anyhow::Result<()> {
    let shaper = RootQdisc::Tbf {
        rate_bits_per_s,
        burst_bytes,
        limit_bytes: SHAPER_LIMIT_BYTES,
    };
    link::set_root_qdisc(ns, device, shaper).context("this kernel has no TBF")
}
