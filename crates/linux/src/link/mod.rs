//! Configuring network devices over route netlink, without `ip` or `tc`.

mod change;
mod claim;
mod describe;
pub(crate) mod message;
pub mod monitor;
mod offload;
mod qdisc;
pub(crate) mod route_socket;
mod state;

use std::fmt;
use std::io;
use std::str::FromStr;

use crate::error::invalid;

pub use change::{
    add_address, add_bridge, add_macvlan, add_neighbour, add_to_bridge, add_veth_pair,
    add_veth_pair_with_queues, delete, index, rename, set_down, set_mac, set_mtu, set_namespace,
    set_tx_queue_packets, set_up,
};
pub use claim::{ClaimedDevice, DeviceClaim};
pub use describe::{Description, LinkStatistics, describe, statistics};
pub use monitor::{DeliveryTally, LinkMonitor, is_absent};
pub use offload::{OffloadControl, ReceiveOffloads, receive_queues};
pub use qdisc::{RootQdisc, set_pfifo_fast_in_tbf, set_root_qdisc};
pub use state::{LinkState, LinkStatus};

pub(crate) use offload::{control_socket, socket_queues};
pub(crate) use route_socket::RouteSocket;

/// Maximum length of a device's name, without the terminating zero (`IFNAMSIZ` - 1).
const NAME_LIMIT_BYTES: usize = libc::IFNAMSIZ - 1;

/// A hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MacAddress(pub [u8; 6]);

impl MacAddress {
    /// Returns the `number`-th locally administered unicast address: `02:00` and the number.
    pub const fn local(number: u32) -> Self {
        let [a, b, c, d] = number.to_be_bytes();
        Self([0x02, 0, a, b, c, d])
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Six bytes in hexadecimal, with colons between them.
impl FromStr for MacAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let byte = |part: &str| match part.len() {
            1 | 2 if part.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
                u8::from_str_radix(part, 16).ok()
            }
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text.split(':').map(byte).collect();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes
            .map(Self)
            .ok_or("allowed: six bytes in hex, such as 02:00:00:00:00:02")
    }
}

/// Rejects names that the kernel would reject or, worse, use as a pattern (`%d`).
pub(crate) fn check_name(name: &str) -> io::Result<()> {
    let plain = |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'/' | b':' | b'%');
    let length_fits = (1..=NAME_LIMIT_BYTES).contains(&name.len());
    if length_fits && name.bytes().all(plain) && name != "." && name != ".." {
        return Ok(());
    }
    Err(invalid(format!(
        "device name is {name:?}; allowed: 1 to {NAME_LIMIT_BYTES} printable ASCII characters \
         except / : %"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_devices() {
        for good in ["lo", "taut0", "eth0.100", "fifteen-letters"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            ".",
            "..",
            "a/b",
            "tap%d",
            "a b",
            "sixteen-letters!",
            "eth\u{e4}",
            "a\0",
        ] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn mac_addresses() {
        assert_eq!(
            MacAddress::local(0x0102_03ff).to_string(),
            "02:00:01:02:03:ff"
        );
    }
}
