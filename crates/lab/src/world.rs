//! Two hosts in network namespaces, their TCP, and the links between them. Only file descriptors of
//! this process keep them alive, so the kernel removes them when the process ends in any way.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::net::Ipv4Addr;

use anyhow::Context;
use taut_linux::NetNs;
use taut_linux::link::{self, MacAddress, RootQdisc};

/// The address of the host that sends the load.
pub const CLIENT_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The address of the host that receives the load.
pub const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const PREFIX_BITS: u8 = 24;
/// The hardware address of the client's device.
pub const CLIENT_MAC: MacAddress = MacAddress::local(1);
/// The hardware address of the server's device.
pub const SERVER_MAC: MacAddress = MacAddress::local(2);
/// The client's device.
pub const CLIENT_DEVICE: &str = "taut-client";
/// The server's device.
pub const SERVER_DEVICE: &str = "taut-server";

/// The namespaces of a client and a server in one IPv4 network.
#[derive(Debug, Clone)]
pub struct Hosts {
    /// The host that sends.
    pub client: NetNs,
    /// The host that receives, at [`SERVER_ADDRESS`].
    pub server: NetNs,
}

impl Hosts {
    /// Creates both namespaces, without devices.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn new() -> anyhow::Result<Self> {
        Ok(Self {
            client: NetNs::new()?,
            server: NetNs::new()?,
        })
    }

    /// Sets the addresses of both devices and takes them up.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn start(&self) -> anyhow::Result<()> {
        let (client, server) = (&self.client, &self.server);
        start(client, CLIENT_DEVICE, CLIENT_ADDRESS).context("set up the client's side")?;
        start(server, SERVER_DEVICE, SERVER_ADDRESS).context("set up the server's side")?;
        // Static neighbours: address resolution would have to pass a full queue.
        link::add_neighbour(client, CLIENT_DEVICE, SERVER_ADDRESS, SERVER_MAC)?;
        link::add_neighbour(server, SERVER_DEVICE, CLIENT_ADDRESS, CLIENT_MAC)?;
        Ok(())
    }
}

fn start(ns: &NetNs, device: &str, address: Ipv4Addr) -> io::Result<()> {
    link::add_address(ns, device, address, PREFIX_BITS)?;
    link::set_up(ns, device)
}

/// Sets a token bucket filter as the root discipline of `device`.
///
/// # Errors
/// Those of the kernel, which might have no TBF.
pub fn shape(ns: &NetNs, device: &str, tbf: RootQdisc) -> anyhow::Result<()> {
    link::set_root_qdisc(ns, device, tbf).context("this kernel has no TBF")
}

/// Bridges two devices of `ns` with the kernel's bridge.
///
/// # Errors
/// Those of the kernel, which might have no bridge.
pub fn bridge(ns: &NetNs, devices: [&str; 2]) -> anyhow::Result<()> {
    const BRIDGE: &str = "taut-bridge";
    link::add_bridge(ns, BRIDGE).context("this kernel has no bridge")?;
    for device in devices {
        link::add_to_bridge(ns, BRIDGE, device)?;
    }
    Ok(link::set_up(ns, BRIDGE)?)
}

/// The near end of a [`shaped_veth`].
pub const SHAPED_DEVICE: &str = "taut-shaped";

/// Two frames: a timer that is late by one frame must not lose link time.
const SHAPER_BURST_BYTES: u32 = 2 * 1514;

/// More than any ring. The sender would have to retransmit packets that the shaper drops.
const SHAPER_LIMIT_BYTES: u32 = 65_536 * 1514;

/// Creates a namespace with a veth to `server`, whose near end a TBF shapes if there is a rate.
/// Both ends have hardware addresses; only the near end is up.
///
/// # Errors
/// Those of the kernel.
pub fn shaped_veth(server: &NetNs, rate_bits_per_s: Option<u64>) -> anyhow::Result<NetNs> {
    let ns = NetNs::new()?;
    link::add_veth_pair(&ns, SHAPED_DEVICE, server, SERVER_DEVICE)?;
    link::set_mac(server, SERVER_DEVICE, SERVER_MAC)?;
    match rate_bits_per_s {
        Some(rate_bits_per_s) => {
            let tbf = RootQdisc::Tbf {
                rate_bits_per_s,
                burst_bytes: SHAPER_BURST_BYTES,
                limit_bytes: SHAPER_LIMIT_BYTES,
            };
            shape(&ns, SHAPED_DEVICE, tbf)?;
        }
        None => link::set_root_qdisc(&ns, SHAPED_DEVICE, RootQdisc::NoQueue)?,
    }
    link::set_up(&ns, SHAPED_DEVICE)?;
    Ok(ns)
}

/// Connections request ECN and accept it.
const ECN_ALWAYS: &[u8] = b"1";

const ECN_SETTING: &str = "/proc/sys/net/ipv4/tcp_ecn";

/// Counters of the namespace of the calling thread; `/proc/net` is that of the process.
const COUNTERS: &str = "/proc/thread-self/net/snmp";

/// Lets new connections of `ns` use ECN.
pub fn negotiate_ecn(ns: &NetNs) -> anyhow::Result<()> {
    ns.run(|| {
        let mut setting = OpenOptions::new().write(true).open(ECN_SETTING)?;
        setting.write_all(ECN_ALWAYS)
    })?
    .with_context(|| format!("write {ECN_SETTING}, for a discipline with ECN"))
}

/// Returns the number of segments that the TCP of `ns` retransmitted.
pub fn retransmits(ns: &NetNs) -> io::Result<u64> {
    let text = ns.run(|| fs::read_to_string(COUNTERS))??;
    counter(&text, "Tcp:", "RetransSegs").ok_or_else(|| {
        let what = format!("{COUNTERS} has no RetransSegs among its Tcp counters");
        io::Error::new(io::ErrorKind::InvalidData, what)
    })
}

/// Returns a counter of `/proc/net/snmp`. Each group has a line of names and a line of values.
fn counter(text: &str, group: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with(group));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|word| word == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_has_group_and_name() {
        let text = "Ip: Forwarding RetransSegs\nIp: 1 2\n\
                    Tcp: MaxConn InSegs RetransSegs InErrs\nTcp: -1 70 8 0\n";
        assert_eq!(counter(text, "Tcp:", "RetransSegs"), Some(8));
        assert_eq!(counter(text, "Ip:", "RetransSegs"), Some(2));
        assert_eq!(counter(text, "Tcp:", "MaxConn"), None);
        assert_eq!(counter(text, "Udp:", "InSegs"), None);
        assert_eq!(counter("Tcp: InSegs\n", "Tcp:", "InSegs"), None);
    }
}
