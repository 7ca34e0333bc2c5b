//! The disciplines of a device and their backlogs, over route netlink.

use std::io;

use crate::link;
use crate::link::message::{LIST, Message, attribute, u32_at, u64_at};
use crate::netns::NetNs;

/// `struct tcmsg`, which the attributes follow.
const FIXED_BYTES: usize = 20;
/// Attributes inside `TCA_STATS2`, from gen_stats.h.
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;

/// A discipline, or a class of one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Qdisc {
    /// Its name: `fq_codel`, `mq`, ...
    pub kind: String,
    /// Its own handle: major number in the upper 16 bits.
    pub handle: u32,
    /// The parent class; [`Qdisc::ROOT`] at the root.
    pub parent: u32,
    /// It is a class of a discipline, not a discipline.
    pub is_class: bool,
    /// Its backlog including that of its children, in bytes.
    pub backlog_bytes: u64,
    /// Its backlog in packets.
    pub backlog_packets: u64,
    /// Bytes dequeued.
    pub sent_bytes: u64,
    /// Packets dropped.
    pub drops: u64,
}

impl Qdisc {
    /// The parent of the root discipline.
    pub const ROOT: u32 = u32::MAX;

    /// Returns `true` if all queues of the device share the discipline.
    pub fn is_root(&self) -> bool {
        self.parent == Self::ROOT
    }

    /// Returns the discipline that feeds the transmit queue `queue` of its device: the child of
    /// `mq` (or of `mqprio`) for it, or the root.
    pub fn feeding(all: &[Self], queue: u32) -> Option<&Self> {
        let mut disciplines = all.iter().filter(|it| !it.is_class);
        let root = disciplines.clone().find(|it| it.parent == Self::ROOT)?;
        if !matches!(root.kind.as_str(), "mq" | "mqprio") {
            return Some(root);
        }
        let class = root.handle | (queue + 1);
        disciplines.find(|it| it.parent == class)
    }

    /// Parses a message of type `RTM_NEWQDISC` or `RTM_NEWTCLASS` if it is about the device
    /// `index`.
    fn parse(payload: &[u8], index: u32, is_class: bool) -> Option<Self> {
        if u32_at(payload, 4)? != index {
            return None;
        }
        let all = payload.get(FIXED_BYTES..)?;
        let kind = String::from_utf8_lossy(attribute(all, libc::TCA_KIND).unwrap_or_default());
        let statistics = attribute(all, libc::TCA_STATS2).unwrap_or_default();
        let basic = attribute(statistics, STATS_BASIC).unwrap_or_default();
        let queue = attribute(statistics, STATS_QUEUE).unwrap_or_default();
        // `struct gnet_stats_queue`: qlen, backlog, drops, requeues, overlimits.
        let word = |position: usize| u32_at(queue, position * 4).unwrap_or(0).into();
        Some(Self {
            kind: kind.trim_end_matches('\0').to_owned(),
            handle: u32_at(payload, 8)?,
            parent: u32_at(payload, 12)?,
            is_class,
            backlog_packets: word(0),
            backlog_bytes: word(1),
            drops: word(2),
            sent_bytes: u64_at(basic, 0).unwrap_or(0),
        })
    }
}

/// Returns the disciplines of a device, and their classes, in the kernel's order.
///
/// # Errors
/// `NotFound` if there is no such device; the error of netlink. No privilege is needed.
pub fn qdiscs(ns: &NetNs, device: &str) -> io::Result<Vec<Qdisc>> {
    let index = link::index(ns, device)?;
    let mut found = Vec::new();
    for (call, question, response) in [
        ("RTM_GETQDISC", libc::RTM_GETQDISC, libc::RTM_NEWQDISC),
        ("RTM_GETTCLASS", libc::RTM_GETTCLASS, libc::RTM_NEWTCLASS),
    ] {
        let mut fixed = [0; FIXED_BYTES];
        fixed[4..8].copy_from_slice(&index.to_ne_bytes());
        let request = Message::new(question, LIST, &fixed);
        ns.request(call, device, request, |kind, payload| {
            if kind == response {
                let is_class = response == libc::RTM_NEWTCLASS;
                found.extend(Qdisc::parse(payload, index, is_class));
            }
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn qdisc(kind: &str, handle: u32, parent: u32) -> Qdisc {
        Qdisc {
            kind: kind.to_owned(),
            handle,
            parent,
            ..Qdisc::default()
        }
    }

    #[test]
    fn queue_is_fed_by_mq_child_or_root() {
        let one = [qdisc("fq", 0x8001_0000, Qdisc::ROOT)];
        assert_eq!(
            Qdisc::feeding(&one, 3).map(|it| it.kind.as_str()),
            Some("fq")
        );
        let many = [
            qdisc("mq", 0, Qdisc::ROOT),
            qdisc("fq_codel", 0, 2),
            qdisc("pfifo_fast", 0, 1),
        ];
        let feeding = |queue| Qdisc::feeding(&many, queue).map(|it| it.kind.as_str());
        assert_eq!(feeding(0), Some("pfifo_fast"));
        assert_eq!((feeding(1), feeding(2)), (Some("fq_codel"), None));
        assert_eq!(Qdisc::feeding(&[], 0), None);
    }

    #[test]
    fn values_are_read_from_their_offsets() {
        let mut fixed = [0; FIXED_BYTES];
        fixed[4] = 7;
        fixed[12..16].copy_from_slice(&Qdisc::ROOT.to_ne_bytes());
        let words: Vec<u8> = [3u32, 4500, 5, 6, 8]
            .iter()
            .flat_map(|it| it.to_ne_bytes())
            .collect();
        let bytes = Message::new(libc::RTM_NEWQDISC, 0, &fixed)
            .text(libc::TCA_KIND, "fq_codel")
            .nested(libc::TCA_STATS2, |inside| {
                inside
                    .attribute(STATS_BASIC, &[9u64.to_ne_bytes(), [0; 8]].concat())
                    .attribute(STATS_QUEUE, &words)
            })
            .finish(1);
        let read = Qdisc::parse(&bytes[16..], 7, false).expect("a discipline");
        assert_eq!((read.kind.as_str(), read.parent), ("fq_codel", Qdisc::ROOT));
        assert_eq!((read.backlog_packets, read.backlog_bytes), (3, 4500));
        assert_eq!((read.drops, read.sent_bytes), (5, 9));
        assert_eq!(
            Qdisc::parse(&bytes[16..], 8, false),
            None,
            "another device's"
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let index = u32_at(&bytes, 4).unwrap_or(0);
            let _ = Qdisc::parse(&bytes, index, true);
        }
    }
}
