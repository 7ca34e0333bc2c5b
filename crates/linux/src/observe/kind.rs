//! What kind a device is, and the devices that it sends through.

use std::fs;
use std::path::Path;

use super::number;

/// Maximum number of directory entries read, devices or queues: far more than any machine has.
pub(super) const ENTRIES: usize = 16_384;

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
    let linked = names(directory).filter_map(|it| Some(it.strip_prefix("lower_")?.to_owned()));
    let mut lower: Vec<String> = linked.collect();
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
    let candidates: Vec<String> = names(all)
        .filter(|name| DeviceKind::of(&all.join(name)) == DeviceKind::Hardware)
        .collect();
    match (candidates.iter().find(has_index), &candidates[..]) {
        (Some(name), _) => Some(name.clone()),
        (None, [only]) => Some(only.clone()),
        _ => None,
    }
}

fn names(directory: &Path) -> impl Iterator<Item = String> {
    let entries = fs::read_dir(directory).into_iter().flatten().take(ENTRIES);
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}
