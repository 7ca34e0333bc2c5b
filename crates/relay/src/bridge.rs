//! Two interfaces and a direction from each to the other: the engine of `taut forward`.

use std::io;

use anyhow::Context;
use taut_linux::link::{self, Description, LinkMonitor};
use taut_linux::{GsoFrames, NetNs, sched};
use taut_path::AnyLimit;
use taut_path::qdisc::{AnyQdisc, Qdisc, Shaped};

use crate::direction::{Direction, DirectionConfig};
use crate::egress::Egress;
use crate::interface::{Interface, InterfaceConfig, LINK_HEADER_BYTES};
use crate::relay::serve;
use crate::run::raise_priority;
use crate::run_control::{Policy, RunControl};
use crate::source::{BATCH_PACKETS, ReceivedFrames};

const POLICY: Policy = Policy {
    drops_waiting: true,
    link_timeout_ns: None,
    drain_ns: 1_000_000_000,
    follows_mtu: true,
};

/// Frames in addition to those of the backlog and the ring: a batch of GSO packets is segmented at
/// once.
const SPARE_FRAMES: u32 = BATCH_PACKETS * 46;
/// Frames for the backlog of a discipline without a limit.
const WAITING_PACKETS: u32 = 1_000;
/// Burst of a software shaper, in ns of link time.
const SHAPER_BURST_NS: u64 = 1_000_000;

/// Settings of each direction of a bridge.
#[derive(Debug, Clone)]
pub struct PathSettings {
    /// Queueing discipline, in the syntax of `tc`.
    pub qdisc: String,
    pub limit: AnyLimit,
    /// Rates of the shapers from the first interface to the second, and in the other direction.
    pub rates_bits_per_s: [Option<u64>; 2],
    pub ring_slots: u32,
    /// Coalescing interval of completions, in ns.
    pub coalesce_ns: u64,
    /// Stall threshold: after this time without a completion, the ring is reopened, in ns.
    pub stall_ns: u64,
    /// Forward although another process forwards the frames of an interface.
    pub is_forced: bool,
}

impl Default for PathSettings {
    fn default() -> Self {
        Self {
            qdisc: "fq_codel ecn".to_owned(),
            limit: AnyLimit::dql(),
            rates_bits_per_s: [None; 2],
            ring_slots: 1_024,
            coalesce_ns: 250_000,
            stall_ns: 2_000_000_000,
            is_forced: false,
        }
    }
}

impl PathSettings {
    /// Returns the GSO packets that are stored whole, in each direction. Without a limit, they are
    /// segmented on entry, because the rings accept no GSO packets.
    fn gso_packets(&self) -> u32 {
        match self.limit.is_off() {
            true => 0,
            false => GsoFrames::MAX_GSO_FRAMES,
        }
    }

    /// Returns the maximum backlog of the discipline, for which frames must exist.
    fn waiting_packets(&self) -> u32 {
        let qdisc = self.qdisc.parse::<AnyQdisc>().ok();
        let max_packets = qdisc.and_then(|qdisc| qdisc.max_packets());
        max_packets.unwrap_or(WAITING_PACKETS)
    }

    /// Returns the frames of each interface.
    fn frames(&self) -> anyhow::Result<u32> {
        let waiting_packets = self.waiting_packets();
        let frames = waiting_packets.checked_add(self.ring_slots + SPARE_FRAMES);
        let qdisc = &self.qdisc;
        frames.with_context(|| {
            format!("qdisc {qdisc:?} stores up to {waiting_packets} packets, which is too many")
        })
    }

    /// Returns the settings of the direction from one of the interfaces.
    fn config(&self, from: usize) -> anyhow::Result<DirectionConfig> {
        let rate_bits_per_s = self.rates_bits_per_s[from];
        let inner: AnyQdisc = self.qdisc.parse()?;
        let qdisc = match rate_bits_per_s {
            Some(rate) => {
                let name = format!("{inner} behind a shaper");
                AnyQdisc::new(&name, Shaped::new(inner, rate, SHAPER_BURST_NS))
            }
            None => inner,
        };
        Ok(DirectionConfig {
            qdisc,
            limit: self.limit.clone(),
            coalesce_ns: self.coalesce_ns,
            stall_ns: self.stall_ns,
            rate_bits_per_s,
        })
    }
}

/// Two interfaces and the directions between them.
pub struct Bridge<I: Interface> {
    directions: [Direction<ReceivedFrames<I>>; 2],
    egresses: [Egress; 2],
}

impl<I: Interface> Bridge<I> {
    /// Opens both interfaces, in both directions.
    ///
    /// # Errors
    /// Returns an error if one of them cannot be bridged or opened, or if the settings are invalid.
    pub fn open(ns: &NetNs, names: [&str; 2], path: &PathSettings) -> anyhow::Result<Self> {
        let (found, _) = check(ns, names)?;
        let now_ns = sched::monotonic_ns();
        let frames = path.frames()?;
        let max_mtu_bytes = found[0].mtu_bytes.max(found[1].mtu_bytes);
        let open = |at: usize| {
            I::open(&InterfaceConfig {
                ns,
                device: names[at],
                ring_slots: path.ring_slots,
                frames,
                gso_packets: path.gso_packets(),
                // The user can raise the lower MTU to the higher while frames are forwarded.
                frame_bytes: max_mtu_bytes + LINK_HEADER_BYTES,
            })
        };
        // The link monitors open before the rings, so they see every later change.
        let monitored = |name| LinkMonitor::open(ns, name).map(Egress::new);
        let mut egresses = [monitored(names[1])?, monitored(names[0])?];
        if !path.is_forced {
            for egress in &mut egresses {
                egress.claim(ns)?;
            }
        }
        let (port_a, frames_a, from_a) = open(0)?;
        let (port_b, frames_b, from_b) = open(1)?;
        let direction = |from: usize, interface, out| {
            let source = ReceivedFrames::new(interface, egresses[from].mtu_bytes());
            Direction::new(path.config(from)?, source, out, ((), None), now_ns)
        };
        let directions = [
            direction(0, from_a, (port_b, frames_b))?,
            direction(1, from_b, (port_a, frames_a))?,
        ];
        Ok(Self {
            directions,
            egresses,
        })
    }

    /// Returns the direction from the first interface to the second, and the opposite one.
    pub fn directions(&self) -> &[Direction<ReceivedFrames<I>>; 2] {
        &self.directions
    }

    /// Returns remarks about the interfaces for the user.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        let directions = self.directions().iter();
        let remarks = directions.filter_map(|it| it.source().interface.remark());
        I::REMARK.map(str::to_owned).into_iter().chain(remarks)
    }

    /// Forwards until `control` ends it, then waits up to 1 s for the packets in the devices.
    ///
    /// # Errors
    /// Returns an error if polling fails.
    pub fn run(&mut self, control: &mut impl RunControl) -> io::Result<()> {
        raise_priority();
        serve(&mut self.directions, &mut self.egresses, POLICY, control)
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_suffice_for_a_full_discipline() {
        let waiting = |qdisc: &str| {
            let path = PathSettings {
                qdisc: qdisc.to_owned(),
                ..PathSettings::default()
            };
            path.waiting_packets()
        };
        assert_eq!(waiting("pfifo limit 50"), 50);
        assert_eq!(waiting("pfifo_fast limit 50"), 150);
        assert_eq!(waiting("pfifo_fast"), 3000);
        assert_eq!(waiting("fq_codel"), 10_240);
        assert_eq!(waiting("codel"), 1000);
        assert_eq!(waiting("pfifo limit 1000000"), 1_000_000);
    }

    #[test]
    fn too_many_waiting_packets_are_an_error() {
        let path = PathSettings {
            ring_slots: u32::MAX - SPARE_FRAMES,
            ..PathSettings::default()
        };
        assert!(path.frames().is_err());
    }
}
