//! Claims of devices, so that two programs do not forward the frames of the same one.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen};

use crate::error::Context;
use crate::netns::NetNs;
use crate::sys;

/// The claim of a device, until this is dropped or the process ends.
///
/// It is an abstract Unix socket that is named after the device's index. The kernel has such names
/// for each network namespace, and removes them with the process, also after `kill -9`.
#[derive(Debug)]
pub struct DeviceClaim {
    ns: NetNs,
    index: u32,
    _socket: OwnedFd,
}

impl DeviceClaim {
    /// Claims the device with this index. Errors name it `device`.
    ///
    /// # Errors
    /// [`ClaimedDevice`] of kind `ResourceBusy` if another process has claimed it; otherwise the
    /// error of `socket`, `bind` or `listen`.
    pub fn new(ns: &NetNs, device: &str, index: u32) -> io::Result<Self> {
        let socket = open(ns)?;
        let name = format!("taut-forward-{index}");
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
        match bind(&socket, &address) {
            Err(Errno::ADDRINUSE) => {
                let claimed = ClaimedDevice {
                    device: device.to_owned(),
                    holder: match holder(ns, &address) {
                        Some(pid) => format!("process {pid}"),
                        None => "another process".to_owned(),
                    },
                };
                return Err(io::Error::new(io::ErrorKind::ResourceBusy, claimed));
            }
            bound => bound.context("bind", &name)?,
        }
        // Others connect to find the process; none is accepted.
        listen(&socket, i32::MAX).context("listen", &name)?;
        Ok(Self {
            ns: ns.clone(),
            index,
            _socket: socket,
        })
    }

    /// Claims another device instead. After an error, the first one is still claimed.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn replace(&mut self, device: &str, index: u32) -> io::Result<()> {
        if index != self.index {
            *self = Self::new(&self.ns, device, index)?;
        }
        Ok(())
    }
}

/// Another process has claimed a device.
#[derive(Debug, thiserror::Error)]
#[error("{holder} forwards the frames of {device} already")]
pub struct ClaimedDevice {
    device: String,
    holder: String,
}

fn open(ns: &NetNs) -> io::Result<OwnedFd> {
    let (kind, flags) = (SocketType::STREAM, SocketFlags::NONBLOCK);
    ns.socket(AddressFamily::UNIX, kind, flags)?
        .context("socket", "AF_UNIX")
}

/// Returns the process that listens on `address`. `None` if it is not visible here, as in another
/// PID namespace.
fn holder(ns: &NetNs, address: &SocketAddrUnix) -> Option<u32> {
    let socket = open(ns).ok()?;
    connect(&socket, address).ok()?;
    let credentials =
        sys::socket::option::<3>(&socket, libc::SOL_SOCKET, libc::SO_PEERCRED).ok()?;
    // `struct ucred`: process, user, group.
    let [pid, ..] = credentials;
    Some(pid).filter(|&pid| pid != 0)
}
