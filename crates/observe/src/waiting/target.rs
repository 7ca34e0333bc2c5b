//! A device and the sockets that send over it.

use std::fs;
use std::net::IpAddr;

use taut_linux::NetNs;
use taut_linux::observe::{Socket, Sysfs, addresses, sockets};

use crate::gather::Host;

/// Maximum number of descriptors of a process that are read.
const MAX_DESCRIPTORS: usize = 1 << 20;

/// Sockets, and the device that they send over.
#[derive(Debug)]
pub struct Target {
    /// Its name for people.
    pub title: String,
    /// The device.
    pub device: String,
    /// Addresses of the device.
    addresses: Vec<IpAddr>,
    filter: SocketFilter,
    /// What was not read, and why.
    pub unseen: Vec<String>,
}

/// Selects sockets of the device.
#[derive(Debug)]
enum SocketFilter {
    All,
    Port(u16),
    /// Inode numbers of a process's sockets.
    Inodes(Vec<u32>),
}

impl SocketFilter {
    fn matches(&self, socket: &Socket) -> bool {
        match self {
            Self::All => true,
            Self::Port(port) => socket.local.1 == *port || socket.remote.1 == *port,
            Self::Inodes(inodes) => inodes.contains(&socket.inode),
        }
    }
}

impl Target {
    /// Finds a device, a process or a port by its name or number.
    ///
    /// # Errors
    /// A sentence for the user: there is none, or it cannot be read.
    pub fn find(text: &str, host: &Host) -> Result<Self, String> {
        let names = host.sysfs.devices().map_err(|error| error.to_string())?;
        if names.iter().any(|name| name == text) {
            let addresses = match &host.namespace {
                Some(it) => addresses(it, text).map_err(|error| error.to_string())?,
                None => Vec::new(),
            };
            return Ok(Self {
                title: text.to_owned(),
                device: text.to_owned(),
                addresses,
                filter: SocketFilter::All,
                unseen: Vec::new(),
            });
        }
        let Some(namespace) = &host.namespace else {
            let names = names.join(", ");
            return Err(format!("no device {text:?}; there are: {names}"));
        };
        let (title, filter) = filter(text, &names)?;
        let all = sockets(namespace).map_err(|error| error.to_string())?;
        let own: Vec<&Socket> = all.iter().filter(|it| filter.matches(it)).collect();
        if own.is_empty() {
            return Err(format!("{title} has no TCP or UDP socket here"));
        }
        Self::of_sockets(title, filter, &own, &names, namespace)
    }

    /// Chooses the device over which most bytes of the sockets go.
    fn of_sockets(
        title: String,
        filter: SocketFilter,
        own: &[&Socket],
        names: &[String],
        namespace: &NetNs,
    ) -> Result<Self, String> {
        let mut found: Vec<(u64, usize, String, Vec<IpAddr>)> = Vec::new();
        for name in names {
            // The device may have been removed.
            let addresses = addresses(namespace, name).unwrap_or_default();
            let over = own.iter().filter(|it| addresses.contains(&it.local.0));
            let (bytes, number) = over.fold((0, 0), |(bytes, number), it| {
                (bytes + it.queued_bytes, number + 1)
            });
            if number > 0 {
                found.push((bytes, number, name.clone(), addresses));
            }
        }
        found.sort_by_key(|(bytes, number, ..)| std::cmp::Reverse((*bytes, *number)));
        let mut found = found.into_iter();
        let Some((_, _, device, addresses)) = found.next() else {
            return Err(format!(
                "no socket of {title} is bound to an address of a device; name the device"
            ));
        };
        let others: Vec<String> = found
            .map(|(_, number, name, _)| format!("{name} ({number})"))
            .collect();
        let mut unseen = Vec::new();
        if !others.is_empty() {
            unseen.push(format!(
                "its sockets over other devices: {}",
                others.join(", ")
            ));
        }
        Ok(Self {
            title,
            device,
            addresses,
            filter,
            unseen,
        })
    }

    /// Returns its sockets.
    ///
    /// # Errors
    /// If netlink cannot list them.
    pub fn sockets(&self, namespace: &NetNs) -> Result<Vec<Socket>, String> {
        let all = sockets(namespace).map_err(|error| error.to_string())?;
        let over = |it: &Socket| self.addresses.contains(&it.local.0) && self.filter.matches(it);
        Ok(all.into_iter().filter(over).collect())
    }

    /// Returns the bytes that the device has sent since it was created.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn sent_bytes(&self, sysfs: &Sysfs) -> Result<u64, String> {
        let device = sysfs
            .device(&self.device)
            .map_err(|error| error.to_string())?;
        Ok(device.tx_bytes.unwrap_or(0))
    }
}

fn filter(text: &str, names: &[String]) -> Result<(String, SocketFilter), String> {
    let no_such = || {
        let names = names.join(", ");
        format!("{text:?}: expected a device, a process or a port such as :443; devices: {names}")
    };
    let port = |text: &str| text.parse::<u16>().ok().filter(|&port| port > 0);
    if let Some(rest) = text.strip_prefix(':') {
        let port = port(rest).ok_or_else(no_such)?;
        return Ok((format!("port {port}"), SocketFilter::Port(port)));
    }
    let number: u32 = text.parse().map_err(|_| no_such())?;
    match fs::read_dir(format!("/proc/{number}/fd")) {
        Ok(descriptors) => {
            let inode = |entry: std::io::Result<fs::DirEntry>| {
                let link = fs::read_link(entry.ok()?.path()).ok()?;
                let name = link.to_str()?.strip_prefix("socket:[")?;
                name.strip_suffix(']')?.parse().ok()
            };
            let inodes = descriptors.take(MAX_DESCRIPTORS).filter_map(inode);
            Ok((
                format!("process {number}"),
                SocketFilter::Inodes(inodes.collect()),
            ))
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => Err(format!(
            "process {number} is another user's: name its device or port, or run as root"
        )),
        Err(_) => {
            let port = port(text).ok_or_else(no_such)?;
            Ok((format!("port {port}"), SocketFilter::Port(port)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_processes_are_distinguished() {
        let title = |text: &str| filter(text, &[]).map(|(title, _)| title);
        assert_eq!(title(":443"), Ok("port 443".to_owned()));
        let own = std::process::id().to_string();
        assert_eq!(title(&own), Ok(format!("process {own}")));
        for bad in ["eth7", ":", ":0", ":65536", "-1", ""] {
            assert!(
                title(bad)
                    .unwrap_err()
                    .contains("expected a device, a process or a port"),
                "{bad}"
            );
        }
    }
}
