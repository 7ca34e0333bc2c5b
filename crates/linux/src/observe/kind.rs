//! What kind a device is, and the devices that it sends through.

use std::fs;
use std::io;
use std::path::Path;

use super::number;

/// Maximum number of directory entries read, devices or queues: far more than any machine has.
const ENTRIES: usize = 16_384;

/// Kinds of devices that differ in where a byte limit can apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceKind {
    /// A device with rings of its own.
    #[default]
    Hardware,
    /// No hardware: veth, TAP, bridge, bond, VLAN, loopback.
    Virtual,
    /// Wi-Fi, where the kernel limits airtime instead of bytes.
    Wifi,
    /// A port of a switch (DSA), which sends through the ring of its conduit.
    SwitchPort,
}

impl DeviceKind {
    pub(super) fn of(directory: &Path) -> Self {
        let has = |name: &str| directory.join(name).exists();
        if has("phy80211") || has("wireless") || has_type(directory, "wlan") {
            Self::Wifi
        } else if is_switch_port(directory) {
            Self::SwitchPort
        } else if has("device") {
            Self::Hardware
        } else {
            Self::Virtual
        }
    }
}

/// The kernel shows the type of a port in `uevent`, and `dsa/` at the conduit. A copy may lack
/// `uevent` and have `dsa/` at the port: a conduit does not belong to a switch.
fn is_switch_port(directory: &Path) -> bool {
    let switch = number::text(&directory.join("phys_switch_id")).unwrap_or_default();
    has_type(directory, "dsa") || (directory.join("dsa").is_dir() && !switch.is_empty())
}

fn has_type(directory: &Path, name: &str) -> bool {
    let uevent = number::text(&directory.join("uevent")).unwrap_or_default();
    uevent
        .lines()
        .any(|line| line.strip_prefix("DEVTYPE=") == Some(name))
}

/// Returns the devices that `directory` sends through: members, ports, the device below a VLAN, or
/// the conduit of a switch port.
pub(super) fn lower(directory: &Path, kind: DeviceKind) -> Vec<String> {
    let names = names(directory).unwrap_or_default();
    let linked = names.iter().filter_map(|it| it.strip_prefix("lower_"));
    let mut lower: Vec<String> = linked.map(str::to_owned).collect();
    if let (true, DeviceKind::SwitchPort, Some(all)) = (lower.is_empty(), kind, directory.parent())
    {
        lower.extend(conduit(directory, all));
    }
    lower.sort();
    lower
}

/// Finds the conduit of a port without links: by its index, or as the only device with a ring.
fn conduit(port: &Path, all: &Path) -> Option<String> {
    let index = number::of_path(&port.join("iflink")).ok();
    let has_index = |name: &&String| {
        index.is_some() && number::of_path(&all.join(name).join("ifindex")).ok() == index
    };
    let mut candidates = names(all).unwrap_or_default();
    candidates.retain(|name| DeviceKind::of(&all.join(name)) == DeviceKind::Hardware);
    match (candidates.iter().find(has_index), &candidates[..]) {
        (Some(name), _) => Some(name.clone()),
        (None, [only]) => Some(only.clone()),
        _ => None,
    }
}

/// Returns the names in a directory. A name that is not UTF-8 is omitted.
pub(super) fn names(directory: &Path) -> io::Result<Vec<String>> {
    let entries = fs::read_dir(directory)?.take(ENTRIES);
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    Ok(names.collect())
}
