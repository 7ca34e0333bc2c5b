//! What a device's driver says of itself, as ethtool(8) shows it.

use std::io;
use std::os::fd::AsFd;

use crate::link::{self, check_name};
use crate::netns::NetNs;
use crate::sys::ethtool::{self, Question};

/// Where the current number of transmit descriptors is in the answer about rings.
const TX_PENDING: usize = 7;

/// How large one object can be, and how many slots the ring has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// Whether the device cuts GSO packets itself (TSO); `None` if it does not say.
    pub segmentation: Option<bool>,
    /// The longest GSO packet that the stack makes for it, in bytes.
    pub longest_object_bytes: Option<u64>,
    /// Descriptors of each transmit ring; `None` if it does not say.
    pub tx_ring_slots: Option<u32>,
}

/// Asks the driver of `device`. No privilege is needed; what a driver does not know is `None`.
///
/// # Errors
/// `NotFound` if there is no such device; what making a socket fails with.
pub fn offload(ns: &NetNs, device: &str) -> io::Result<Offload> {
    check_name(device)?;
    let fd = link::control_socket(ns)?;
    let link = link::read_link(ns, device)?;
    let tso = ethtool::ask::<1>(fd.as_fd(), device, Question::Tso);
    let ring = ethtool::ask::<8>(fd.as_fd(), device, Question::Ring);
    Ok(Offload {
        segmentation: tso.ok().map(|[on]| on != 0),
        longest_object_bytes: link.longest_object_bytes.map(u64::from),
        tx_ring_slots: ring.ok().map(|it| it[TX_PENDING]).filter(|&it| it > 0),
    })
}
