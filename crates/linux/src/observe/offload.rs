//! Driver settings, as in ethtool(8).

use std::io;
use std::os::fd::AsFd;

use crate::link::{self, check_name};
use crate::netns::NetNs;
use crate::sys::ethtool::{self, Query};

/// Position of the current number of transmit descriptors in the response about rings.
const TX_PENDING: usize = 7;

/// Maximum size of one object, and number of slots of the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offload {
    /// The device segments GSO packets (TSO); `None` if it does not report that.
    pub segmentation: Option<bool>,
    /// Maximum length of a GSO packet that the stack builds for it, in bytes.
    pub longest_object_bytes: Option<u64>,
    /// Descriptors of each transmit ring; `None` if the driver does not report them.
    pub tx_ring_slots: Option<u32>,
}

/// Queries the driver of `device`. No privilege is needed; unsupported values are `None`.
///
/// # Errors
/// `NotFound` if there is no such device; the error of opening a socket.
pub fn offload(ns: &NetNs, device: &str) -> io::Result<Offload> {
    check_name(device)?;
    let fd = link::control_socket(ns)?;
    let link = link::describe(ns, device)?;
    let tso = ethtool::query(fd.as_fd(), device, Query::Tso);
    let ring = ethtool::query(fd.as_fd(), device, Query::Ring);
    Ok(Offload {
        segmentation: tso.ok().map(|[on, ..]| on != 0),
        longest_object_bytes: link.longest_object_bytes.map(u64::from),
        tx_ring_slots: ring.ok().map(|it| it[TX_PENDING]).filter(|&it| it > 0),
    })
}
