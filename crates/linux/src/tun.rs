//! TAP devices: an Ethernet device for the kernel, a file of frames for this process. TUN devices
//! have IP packets instead.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{Errno, read, retry_on_intr, write, writev};

use crate::error::{Context, check_buffer, failed, invalid};
use crate::link::{self, MacAddress};
use crate::netns::NetNs;
use crate::sys;
use crate::vnet_header::VirtioNetHeader;

const DEVICE: &str = "/dev/net/tun";
/// Ethernet header and one VLAN tag, which the MTU does not include.
const LINK_HEADER_BYTES: usize = 14 + 4;
/// The longest IP packet, and so the largest GSO packet.
const IP_LIMIT_BYTES: usize = 65_535;

/// While the reader is late, the kernel stops the device's queue instead of dropping packets.
const IFF_BACKPRESSURE: libc::c_int = 0x0080;

/// Settings of a TAP device, and the offloads that its reader supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TapConfig {
    /// The kernel leaves checksums partial, and accepts partial or unverified ones from the writer.
    pub checksum_offload: bool,
    /// The kernel passes GSO packets of up to 64 KB: TCP, and since Linux 6.2 UDP datagrams of one
    /// size. Needs `checksum_offload`.
    pub segmentation_offload: bool,
    /// Hardware address of the kernel's side; random if `None`.
    pub mac: Option<MacAddress>,
    /// The MTU in bytes, without the Ethernet header: 68..=65521.
    pub mtu_bytes: u32,
    /// Maximum number of packets that wait to be read. Further packets are dropped.
    pub tx_queue_packets: u32,
}

impl Default for TapConfig {
    /// A TAP device without segmentation offload.
    fn default() -> Self {
        Self {
            checksum_offload: true,
            segmentation_offload: false,
            mac: None,
            mtu_bytes: 1500,
            tx_queue_packets: 1000,
        }
    }
}

/// The result of writing a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a rejected frame is lost: count it"]
pub enum WriteOutcome {
    /// The kernel received it.
    Accepted,
    /// The kernel rejected it: it has no room (`EAGAIN`) or no memory for it (`ENOBUFS`, `ENOMEM`),
    /// the device is down (`EIO`), or it is not a frame that fits its virtio-net header (`EINVAL`).
    Rejected,
}

/// A TAP device with one queue. It is removed when this is dropped.
///
/// Frames that the kernel transmits on the device are read here. The kernel receives the frames
/// that are written here. Each follows a [`VirtioNetHeader`]. No call blocks. One thread can read
/// while another writes.
#[derive(Debug)]
pub struct Tap {
    fd: OwnedFd,
    name: String,
    read_limit_bytes: usize,
}

impl Tap {
    /// Creates the device `name` in `ns`. It is down.
    ///
    /// # Errors
    /// `InvalidInput` for an invalid name, MTU or combination of offloads; `NotFound` if the kernel
    /// has no TAP; `PermissionDenied` without CAP_NET_ADMIN or access to `/dev/net/tun`;
    /// `ResourceBusy` if a device of this name exists.
    pub fn open(ns: &NetNs, name: &str, config: TapConfig) -> io::Result<Self> {
        link::check_name(name)?;
        let (offloads, if_known) = offloads(config)?;
        // The device is created in the namespace in which its file was opened.
        let fd = ns.run(open_device)??;
        let flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR | libc::IFF_TUN_EXCL;
        sys::device::attach_tun(&fd, name, flags).context("TUNSETIFF", name)?;
        sys::device::set_vnet_header_bytes(&fd, VirtioNetHeader::BYTES as libc::c_int)
            .context("TUNSETVNETHDRSZ", name)?;
        sys::device::set_tun_offload(&fd, offloads | if_known)
            .or_else(|error| match error {
                Errno::INVAL => sys::device::set_tun_offload(&fd, offloads),
                _ => Err(error),
            })
            .context("TUNSETOFFLOAD", name)?;
        if let Some(mac) = config.mac {
            link::set_mac(ns, name, mac)?;
        }
        link::set_mtu(ns, name, config.mtu_bytes)?;
        link::set_tx_queue_packets(ns, name, config.tx_queue_packets)?;
        let largest = if config.segmentation_offload {
            IP_LIMIT_BYTES
        } else {
            config.mtu_bytes as usize
        };
        let read_limit_bytes = VirtioNetHeader::BYTES + LINK_HEADER_BYTES + largest;
        Ok(Self {
            fd,
            name: name.to_owned(),
            read_limit_bytes,
        })
    }

    /// Returns the device's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the length of the longest frame with its virtio-net header: the minimum size of a
    /// buffer for [`read`](Self::read).
    pub fn read_limit_bytes(&self) -> usize {
        self.read_limit_bytes
    }

    /// Reads one frame with its virtio-net header. Returns their length, or `None` if none is
    /// waiting.
    ///
    /// # Errors
    /// `InvalidInput` if `into` is shorter than [`read_limit_bytes`](Self::read_limit_bytes),
    /// because the kernel would truncate the frame; otherwise the error of `read` on the device.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        check_buffer(into.len(), self.read_limit_bytes)?;
        read_waiting(&self.fd, &self.name, into)
    }

    /// Writes one frame with its virtio-net header. A rejected frame is not an error.
    ///
    /// # Errors
    /// Another error of `write` on the device: it was removed.
    pub fn write(&self, header_and_frame: &[u8]) -> io::Result<WriteOutcome> {
        self.outcome(retry_on_intr(|| write(&self.fd, header_and_frame)))
    }

    /// As [`write`](Self::write), for a frame in several parts, in order.
    ///
    /// # Errors
    /// As for [`write`](Self::write).
    pub fn write_parts(&self, parts: &[IoSlice<'_>]) -> io::Result<WriteOutcome> {
        self.outcome(retry_on_intr(|| writev(&self.fd, parts)))
    }

    fn outcome(&self, written: rustix::io::Result<usize>) -> io::Result<WriteOutcome> {
        match written {
            Ok(_) => Ok(WriteOutcome::Accepted),
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::IO | Errno::INVAL) => {
                Ok(WriteOutcome::Rejected)
            }
            Err(error) => Err(failed("write", &self.name, error)),
        }
    }
}

impl AsFd for Tap {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Reads one packet of the device `name`; `None` if none is waiting.
fn read_waiting(fd: &OwnedFd, name: &str, into: &mut [u8]) -> io::Result<Option<usize>> {
    match retry_on_intr(|| read(fd, &mut *into)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(failed("read", name, error)),
    }
}

fn open_device() -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    open(DEVICE, flags, Mode::empty()).context("open", DEVICE)
}

/// Returns the offloads that the reader supports, and further ones that older kernels lack.
fn offloads(config: TapConfig) -> io::Result<(libc::c_uint, libc::c_uint)> {
    match (config.checksum_offload, config.segmentation_offload) {
        (false, false) => Ok((0, 0)),
        (true, false) => Ok((libc::TUN_F_CSUM, 0)),
        (true, true) => Ok((
            libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6 | libc::TUN_F_TSO_ECN,
            libc::TUN_F_USO4 | libc::TUN_F_USO6,
        )),
        (false, true) => Err(invalid("segmentation offload needs checksum offload")),
    }
}

/// A TUN device with one queue. It is removed when this is dropped. No call blocks.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    name: String,
    mtu_bytes: u32,
    has_backpressure: bool,
}

impl Tun {
    /// Creates the device `name` in `ns`. It is down. Requests backpressure if the kernel has it.
    ///
    /// # Errors
    /// Those of [`Tap::open`](crate::Tap::open).
    pub fn open(ns: &NetNs, name: &str, mtu_bytes: u32) -> io::Result<Self> {
        link::check_name(name)?;
        let fd = ns.run(open_device)??;
        let features = sys::device::tun_features(&fd).context("TUNGETFEATURES", name)?;
        let backpressure = supported_backpressure(features);
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | backpressure;
        sys::device::attach_tun(&fd, name, flags).context("TUNSETIFF", name)?;
        link::set_mtu(ns, name, mtu_bytes)?;
        Ok(Self {
            fd,
            name: name.to_owned(),
            mtu_bytes,
            has_backpressure: backpressure != 0,
        })
    }

    /// Returns `true` if the kernel stops the device's queue while the reader is late, and `false`
    /// if it then drops packets.
    pub fn has_backpressure(&self) -> bool {
        self.has_backpressure
    }

    /// Reads one IP packet. Returns its length, or `None` if none is waiting.
    ///
    /// # Errors
    /// `InvalidInput` if `into` is shorter than the MTU at opening, because the kernel would
    /// truncate the packet; otherwise the error of `read` on the device.
    pub fn read(&self, into: &mut [u8]) -> io::Result<Option<usize>> {
        check_buffer(into.len(), self.mtu_bytes as usize)?;
        read_waiting(&self.fd, &self.name, into)
    }

    /// Writes one IP packet, which the kernel then receives.
    ///
    /// # Errors
    /// `InvalidInput` if it is not an IP packet; otherwise the device is down or was removed.
    pub fn write(&self, packet: &[u8]) -> io::Result<usize> {
        retry_on_intr(|| write(&self.fd, packet)).context("write", &self.name)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Returns the flag if `features`, the kernel's response to `TUNGETFEATURES`, contains it. An older
/// kernel would reject it.
fn supported_backpressure(features: libc::c_uint) -> libc::c_int {
    features as libc::c_int & IFF_BACKPRESSURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_need_checksums() {
        let config = TapConfig::default();
        assert_eq!(offloads(config).expect("default"), (libc::TUN_F_CSUM, 0));
        let neither = TapConfig {
            checksum_offload: false,
            ..config
        };
        assert_eq!(offloads(neither).expect("neither"), (0, 0));
        let wrong = TapConfig {
            segmentation_offload: true,
            ..neither
        };
        let error = offloads(wrong).expect_err("refused");
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn backpressure_is_requested_only_if_reported() {
        // Linux 6.18 reports TUN, TAP, NO_PI, ONE_QUEUE, VNET_HDR, MULTI_QUEUE, NAPI, NAPI_FRAGS.
        let linux_6_18 = 0x7133;
        assert_eq!(supported_backpressure(linux_6_18), 0);
        assert_eq!(supported_backpressure(linux_6_18 | 0x80), 0x80);
        assert_eq!(supported_backpressure(u32::MAX), 0x80);
    }
}
