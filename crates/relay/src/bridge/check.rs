//! Checks of the interfaces of a bridge.

use taut_linux::NetNs;
use taut_linux::link::{self, Description};

/// Checks that the interfaces can be bridged. Returns their properties, and remarks for the user.
///
/// # Errors
/// Returns an error if one is missing or carries no Ethernet frames, or if a bridge of both would
/// be a loop.
pub fn check(ns: &NetNs, names: [&str; 2]) -> anyhow::Result<([Description; 2], Vec<String>)> {
    let [a, b] = names;
    let describe = |name: &str| {
        let found = link::describe(ns, name)?;
        if !found.is_ethernet() {
            let kind = found.kind;
            anyhow::bail!("{name}: link type is {kind}; allowed: Ethernet (1)");
        }
        Ok(found)
    };
    let found = [describe(a)?, describe(b)?];
    let [at_a, at_b] = found;
    if at_a.index == at_b.index {
        anyhow::bail!("{a} and {b} are the same interface; a bridge needs two");
    }
    if at_a.other_end == Some(at_b.index) || at_b.other_end == Some(at_a.index) {
        anyhow::bail!(
            "{a} and {b} are connected to each other: each frame would loop for ever; bridge \
             interfaces of two different links"
        );
    }
    Ok((found, remarks(names, &found)))
}

fn remarks(names: [&str; 2], found: &[Description; 2]) -> Vec<String> {
    let mut remarks = Vec::new();
    let ([a, b], [at_a, at_b]) = (names, found);
    if at_a.mtu_bytes != at_b.mtu_bytes {
        let ((short, min), (long, max)) = match at_a.mtu_bytes < at_b.mtu_bytes {
            true => ((a, at_a.mtu_bytes), (b, at_b.mtu_bytes)),
            false => ((b, at_b.mtu_bytes), (a, at_a.mtu_bytes)),
        };
        remarks.push(format!(
            "{long} has an MTU of {max} bytes, {short} of {min} bytes: packets from {long} longer \
             than {min} are dropped (too_long)"
        ));
    }
    for (name, at) in names.iter().zip(found) {
        if at.master.is_some() {
            remarks.push(format!(
                "{name} is a port of another device already (a bridge, a bond): its frames are \
                 forwarded twice"
            ));
        }
        if !at.is_up {
            remarks.push(format!("{name} is down: no frame passes until it is up"));
        }
    }
    remarks
}
