//! Two hosts and a bridge host between them, whose link to the server is the slow one.

use taut_linux::NetNs;
use taut_linux::link::{self, OffloadControl, RootQdisc};

use super::case::{ForwardCase, Forwarder};
use crate::world::{CLIENT_DEVICE, Hosts, SERVER_DEVICE, bridge, shape};

/// The device of the bridge host on the fast link.
pub const FAST_DEVICE: &str = "taut-fast";
/// The device of the bridge host on the slow link.
pub const SLOW_DEVICE: &str = "taut-slow";

/// The bucket of the fast link: a GSO packet, so that GSO packets arrive at the bridge host.
const FAST_BURST_BYTES: u32 = 128 * 1024;
/// The bucket of the slow link: a few frames.
const SLOW_BURST_BYTES: u32 = 5 * 1024;
/// The capacity of the shapers if nothing else bounds it.
const SHAPER_LIMIT_BYTES: u32 = 8 << 20;
/// The queue length of a device.
const QUEUE_PACKETS: u32 = 1000;

/// Two hosts and the bridge host.
pub struct ForwardWorld {
    pub hosts: Hosts,
    pub between: NetNs,
}

impl ForwardWorld {
    /// Creates the hosts and links of `case`, and the kernel's bridge if it is the forwarder.
    pub fn new(case: &ForwardCase, fast_bits_per_s: u64) -> anyhow::Result<Self> {
        let (hosts, between) = (Hosts::new()?, NetNs::new()?);
        link::add_veth_pair(&hosts.client, CLIENT_DEVICE, &between, FAST_DEVICE)?;
        link::add_veth_pair(&between, SLOW_DEVICE, &hosts.server, SERVER_DEVICE)?;
        hosts.set_macs()?;
        // As `taut forward` does.
        let offloads = OffloadControl::new(&between)?;
        for device in [FAST_DEVICE, SLOW_DEVICE] {
            offloads.turn_off(device)?;
        }
        let tbf = |rate_bits_per_s, burst_bytes| RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes,
            limit_bytes: SHAPER_LIMIT_BYTES,
        };
        let fast = tbf(fast_bits_per_s, FAST_BURST_BYTES);
        shape(&hosts.client, CLIENT_DEVICE, fast)?;
        link::set_tx_queue_packets(&between, SLOW_DEVICE, QUEUE_PACKETS)?;
        shape(&between, SLOW_DEVICE, tbf(case.rate.0, SLOW_BURST_BYTES))?;
        link::set_pfifo_fast_in_tbf(&between, SLOW_DEVICE)?;
        if case.forwarder == Forwarder::Kernel {
            bridge(&between, [FAST_DEVICE, SLOW_DEVICE])?;
        }
        for device in [FAST_DEVICE, SLOW_DEVICE] {
            link::set_up(&between, device)?;
        }
        hosts.start()?;
        Ok(Self { hosts, between })
    }
}
