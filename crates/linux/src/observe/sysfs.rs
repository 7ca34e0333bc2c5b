//! The directory of devices.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::device::{self, Device};
use super::kind;
use super::number;
use crate::error::{Context, failed};
use crate::link::check_name;
use crate::netns::NetNs;

/// A tree with the layout of `/sys`.
#[derive(Debug, Clone)]
pub struct Sysfs {
    root: PathBuf,
    /// Holds a mount that has no path.
    _mount: Option<Arc<OwnedFd>>,
}

impl Sysfs {
    /// The tree at `/sys`: usually the devices of the namespace in which the process was started.
    pub fn of_process() -> Self {
        Self::at("/sys")
    }

    /// The tree at `root` instead of `/sys`: a copy, or one built by a test.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            _mount: None,
        }
    }

    /// Mounts a sysfs with the devices of `namespace`, which is unmounted with this value.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_SYS_ADMIN; the error of fsopen(2) (Linux 5.2) and related
    /// calls.
    pub fn of_netns(namespace: &NetNs) -> io::Result<Self> {
        let mount = namespace.mount_sysfs()?;
        Ok(Self {
            root: format!("/proc/self/fd/{}", mount.as_raw_fd()).into(),
            _mount: Some(Arc::new(mount)),
        })
    }

    /// Returns the names of all devices, in natural order. A name that is not UTF-8 is omitted,
    /// because it could not be selected.
    ///
    /// # Errors
    /// The error of reading the directory `class/net`; `NotFound` if it only has links that lead
    /// nowhere, as in a copy of the links alone.
    pub fn devices(&self) -> io::Result<Vec<String>> {
        let path = self.root.join("class/net");
        let mut names = kind::names(&path).context("read", &path)?;
        names.retain(|name| check_name(name).is_ok());
        // A device that was removed meanwhile has no link either.
        let leads_nowhere_at = |name: &&String| {
            let link = path.join(name);
            !link.exists() && link.is_symlink()
        };
        let dangling = names.iter().find(leads_nowhere_at).cloned();
        // Skips files such as `bonding_masters`, which are not devices.
        names.retain(|name| path.join(name).is_dir());
        if let (Some(name), true) = (dangling, names.is_empty()) {
            return Err(dangling_link(&path.join(name)));
        }
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        Ok(names)
    }

    /// Reads a device and its queues.
    ///
    /// # Errors
    /// `NotFound` if there is no such device, even if it was removed during the call;
    /// `InvalidInput` for an invalid name.
    pub fn device(&self, name: &str) -> io::Result<Device> {
        device::read(&self.directory_of(name)?, name)
    }

    /// Sets whether a thread of its own polls the device, instead of the softirq. The driver must
    /// use NAPI: of a veth, the end with an XDP program.
    ///
    /// # Errors
    /// `NotFound` if the device does not exist; `PermissionDenied` without CAP_NET_ADMIN;
    /// `Unsupported` if the driver does not poll.
    pub fn set_threaded_polling(&self, device: &str, is_threaded: bool) -> io::Result<()> {
        let path = self.directory_of(device)?.join("threaded");
        std::fs::write(path, if is_threaded { "1" } else { "0" })
            .context("write /sys/class/net/DEV/threaded", device)
    }

    /// Returns the directory of a device.
    pub(super) fn directory_of(&self, device: &str) -> io::Result<PathBuf> {
        check_name(device)?;
        let path = self.root.join("class/net").join(device);
        match path.metadata() {
            Ok(found) if found.is_dir() => Ok(path),
            Ok(_) => Err(no_device(device)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(no_device(device)),
            Err(error) => Err(failed("stat", &path, error)),
        }
    }

    /// Returns the directory of a queue's byte limit.
    pub(super) fn limits_of(&self, device: &str, queue: u32) -> io::Result<PathBuf> {
        let queue = format!("queues/tx-{queue}/byte_queue_limits");
        Ok(self.directory_of(device)?.join(queue))
    }
}

fn no_device(name: &str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, format!("no device {name:?}"))
}

fn dangling_link(link: &Path) -> io::Error {
    let link = link.display();
    let text = format!("{link} is a dangling symbolic link; copy with cp -rL");
    io::Error::new(io::ErrorKind::NotFound, text)
}

/// Sort key that orders `eth10` after `eth9`: the name in parts, either text or a number.
fn natural(name: &str) -> Vec<(&[u8], u64)> {
    let is_same_kind = |a: &u8, b: &u8| a.is_ascii_digit() == b.is_ascii_digit();
    let parts = name.as_bytes().chunk_by(is_same_kind);
    let key = |part| number::parse(part).map_or((part, 0), |number| (&[][..], number));
    parts.map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_natural_order() {
        let mut names = ["eth10", "lo", "eth9", "eth10.2", "br-a", "eth10.10"];
        names.sort_by(|a, b| natural(a).cmp(&natural(b)));
        assert_eq!(
            names,
            ["br-a", "eth9", "eth10", "eth10.2", "eth10.10", "lo"]
        );
    }
}
