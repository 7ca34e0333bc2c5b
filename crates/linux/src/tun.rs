//! TUN devices: a network device for the kernel, a file of IP packets for this process.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};

use crate::error::naming;
use crate::link;
use crate::netns::NetNs;
use crate::sys;
use crate::tap::open_device;

/// While the reader is late, the kernel stops the device's queue instead of dropping packets.
const IFF_BACKPRESSURE: libc::c_int = 0x0080;

/// A TUN device with one queue. It is removed when this is dropped. No call blocks.
#[derive(Debug)]
pub struct Tun {
    file: File,
    has_backpressure: bool,
}

impl Tun {
    /// Creates the device `name` in `ns`. It is down. Requests backpressure if the kernel has it.
    ///
    /// # Errors
    /// Those of [`Tap::open`](crate::Tap::open).
    pub fn open(ns: &NetNs, name: &str, mtu_bytes: u32) -> io::Result<Self> {
        link::check_name(name)?;
        let file = ns.run(open_device)??;
        let features = sys::tun::features(file.as_fd()).map_err(naming("TUNGETFEATURES", name))?;
        let backpressure = supported_backpressure(features);
        let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_TUN_EXCL | backpressure;
        sys::tun::attach(file.as_fd(), name, flags).map_err(naming("TUNSETIFF", name))?;
        link::set_mtu(ns, name, mtu_bytes)?;
        Ok(Self {
            file,
            has_backpressure: backpressure != 0,
        })
    }

    /// Returns `true` if the kernel stops the device's queue while the reader is late, and `false`
    /// if it then drops packets.
    pub fn has_backpressure(&self) -> bool {
        self.has_backpressure
    }

    /// Reads one IP packet. `into` must have room for the MTU, because the kernel truncates.
    ///
    /// # Errors
    /// `WouldBlock` if none is waiting; another error if the device was removed.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        (&self.file).read(into)
    }

    /// Writes one IP packet, which the kernel then receives.
    ///
    /// # Errors
    /// `InvalidInput` if it is not an IP packet; otherwise the device is down or was removed.
    pub fn write(&self, packet: &[u8]) -> io::Result<usize> {
        (&self.file).write(packet)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
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
    fn backpressure_is_requested_only_if_reported() {
        // Linux 6.18 reports TUN, TAP, NO_PI, ONE_QUEUE, VNET_HDR, MULTI_QUEUE, NAPI, NAPI_FRAGS.
        let linux_6_18 = 0x7133;
        assert_eq!(supported_backpressure(linux_6_18), 0);
        assert_eq!(supported_backpressure(linux_6_18 | 0x80), 0x80);
        assert_eq!(supported_backpressure(u32::MAX), 0x80);
    }
}
