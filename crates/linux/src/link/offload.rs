//! Receive offloads, which merge frames or remove their VLAN tags before a socket receives them.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketFlags, SocketType};

use super::check_name;
use crate::error::{Context, errno, failed};
use crate::netns::NetNs;
use crate::sys;
use crate::sys::ethtool::{Feature, Query};

/// Their names in the long form of `ethtool -k`: in the kernel, in the card, and in the card in a
/// reversible way.
const JOINING: [&str; 3] = ["rx-gro", "rx-lro", "rx-gro-hw"];

/// Removal of VLAN tags, of customers and of providers. The tag is then in metadata, which a packet
/// socket reads and an AF_XDP socket does not.
const TAKING_TAGS: [&str; 2] = ["rx-vlan-hw-parse", "rx-vlan-stag-hw-parse"];

/// Some of a device's receive offloads.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReceiveOffloads {
    names: Vec<&'static str>,
}

impl ReceiveOffloads {
    /// Returns `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns these and those of `others`, each once.
    pub fn with(mut self, others: &Self) -> Self {
        for name in &others.names {
            if !self.names.contains(name) {
                self.names.push(name);
            }
        }
        self
    }
}

/// The names as in `ethtool -K`, separated by commas.
impl fmt::Display for ReceiveOffloads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names.join(", "))
    }
}

/// Changes receive offloads. The socket that it holds keeps it in its network namespace.
#[derive(Debug)]
pub struct OffloadControl {
    fd: OwnedFd,
    names: Vec<&'static str>,
}

impl OffloadControl {
    /// Controls the merging offloads of the devices of `ns`.
    ///
    /// # Errors
    /// The error of `socket`.
    pub fn new(ns: &NetNs) -> io::Result<Self> {
        Ok(Self {
            fd: control_socket(ns)?,
            names: JOINING.to_vec(),
        })
    }

    /// Also controls the removal of VLAN tags, for receiving with [AF_XDP](crate::af_xdp).
    pub fn with_tags(mut self) -> Self {
        self.names.extend(TAKING_TAGS);
        self
    }

    /// Returns the current name of the device with this index.
    ///
    /// # Errors
    /// `NotFound` (or `ENODEV`) if the device is absent.
    pub fn name(&self, index: u32) -> io::Result<String> {
        index_to_name(&self.fd, index).context("SIOCGIFNAME", index.to_string())
    }

    /// Returns the active receive offloads of the device.
    ///
    /// # Errors
    /// `NotFound` (or `ENODEV`) if there is no such device.
    pub fn active(&self, device: &str) -> io::Result<ReceiveOffloads> {
        let features = self.features(device)?;
        let is_on = |name: &&str| features.iter().any(|it| it.name == **name && it.is_active);
        let names = self.names.iter().copied().filter(is_on).collect();
        Ok(ReceiveOffloads { names })
    }

    /// Turns off all active receive offloads of the device that can be turned off, and returns
    /// them.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_NET_ADMIN; as for [`active`](Self::active).
    pub fn turn_off(&self, device: &str) -> io::Result<ReceiveOffloads> {
        let before = self.active(device)?;
        if before.is_empty() {
            return Ok(before);
        }
        self.set(device, &before, false)?;
        let after = self.active(device)?;
        let gone = |name: &&str| !after.names.contains(name);
        let names = before.names.into_iter().filter(gone).collect();
        Ok(ReceiveOffloads { names })
    }

    /// Turns `offloads` of the device on.
    ///
    /// # Errors
    /// As for [`turn_off`](Self::turn_off).
    pub fn turn_on(&self, device: &str, offloads: &ReceiveOffloads) -> io::Result<()> {
        self.set(device, offloads, true)
    }

    fn set(&self, device: &str, offloads: &ReceiveOffloads, on: bool) -> io::Result<()> {
        let features = self.features(device)?;
        let mut changes = vec![[0; 2]; features.len().div_ceil(32)];
        for (at, feature) in features.iter().enumerate() {
            if feature.can_change && offloads.names.contains(&feature.name.as_str()) {
                let (block, bit) = (at / 32, 1 << (at % 32));
                changes[block][0] |= bit;
                changes[block][1] |= if on { bit } else { 0 };
            }
        }
        sys::ethtool::set_features(self.fd.as_fd(), device, &changes)
            .context("ETHTOOL_SFEATURES", device)
    }

    fn features(&self, device: &str) -> io::Result<Vec<Feature>> {
        check_name(device)?;
        sys::ethtool::features(self.fd.as_fd(), device).context("ethtool features", device)
    }
}

/// Returns the number of receive queues of the device, at least 1. Without a report from the
/// driver, it is 1.
///
/// # Errors
/// `NotFound` (or `ENODEV`) if there is no such device.
pub fn receive_queues(ns: &NetNs, device: &str) -> io::Result<u32> {
    check_name(device)?;
    let fd = control_socket(ns)?;
    match sys::ethtool::query(fd.as_fd(), device, Query::Channels) {
        // Four maximums, then the current numbers: receive only, send only, other, and combined.
        Ok([.., receive, _, _, both]) => Ok(receive.saturating_add(both).max(1)),
        Err(error) if errno(&error) == Some(libc::EOPNOTSUPP) => Ok(1),
        Err(error) => Err(failed("ETHTOOL_GCHANNELS", device, error)),
    }
}

/// Returns the number of queues to which an AF_XDP socket can bind. `None` if the driver does not
/// report it.
pub(crate) fn socket_queues(ns: &NetNs, device: &str) -> Option<u32> {
    let fd = control_socket(ns).ok()?;
    let channels = sys::ethtool::query(fd.as_fd(), device, Query::Channels);
    let [.., receive, send, _, both] = channels.ok()?;
    Some(receive.max(send).saturating_add(both)).filter(|&queues| queues > 0)
}

/// Opens a socket for the ioctls of the namespace's devices.
pub(crate) fn control_socket(ns: &NetNs) -> io::Result<OwnedFd> {
    let (kind, flags) = (SocketType::DGRAM, SocketFlags::empty());
    ns.socket(AddressFamily::INET, kind, flags)?
        .context("socket", "AF_INET")
}
