//! Every part of the way, and what is in it.

use taut_linux::NetNs;
use taut_linux::observe::{Qdisc, Socket, Sysfs, WhyNone, offload, qdiscs};

use super::target::Target;

/// Who can overtake what waits somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overtaken {
    /// Any packet of another flow, or another socket.
    Others,
    /// Packets of a higher band.
    Priority,
    /// Nothing: it can only be waited for.
    Nothing,
}

impl Overtaken {
    pub const fn text(self) -> &'static str {
        match self {
            Self::Others => "other flows overtake",
            Self::Priority => "priority overtakes",
            Self::Nothing => "nothing overtakes",
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Others => "other_flows",
            Self::Priority => "priority",
            Self::Nothing => "nothing",
        }
    }
}

/// Who overtakes in a discipline, and what would change that.
const DISCIPLINES: &[(&str, Overtaken)] = &[
    ("fq_codel", Overtaken::Others),
    ("fq", Overtaken::Others),
    ("fq_pie", Overtaken::Others),
    ("sfq", Overtaken::Others),
    ("cake", Overtaken::Others),
    ("drr", Overtaken::Others),
    ("hfsc", Overtaken::Others),
    ("htb", Overtaken::Others),
    ("pfifo_fast", Overtaken::Priority),
    ("prio", Overtaken::Priority),
];

/// One part of the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: String,
    /// Bytes there; `None` where nobody can know.
    pub bytes: Option<u64>,
    pub packets: Option<u64>,
    pub overtaken: Overtaken,
    /// Counts memory, which is more than the packets' own bytes.
    pub in_memory: bool,
    /// A part of the one before it: not to be added.
    pub within: bool,
    pub note: String,
}

/// The whole way.
#[derive(Debug)]
pub struct Picture {
    pub title: String,
    pub device: String,
    /// What the device is sending.
    pub rate_bits_per_s: u64,
    pub parts: Vec<Part>,
    pub advice: String,
    pub unseen: Vec<String>,
}

impl Picture {
    pub fn take(
        target: &Target,
        rate_bits_per_s: u64,
        sysfs: &Sysfs,
        namespace: &NetNs,
    ) -> Result<Self, String> {
        let text = |error: std::io::Error| error.to_string();
        let sockets = target.sockets(namespace)?;
        let disciplines = qdiscs(namespace, &target.device).map_err(text)?;
        let device = sysfs.device(&target.device).map_err(text)?;
        let mut parts = of_sockets(&sockets);
        parts.extend(of_disciplines(&disciplines));
        let slots = offload(namespace, &target.device)
            .ok()
            .and_then(|it| it.tx_ring_slots);
        let mut unseen = target.unseen.clone();
        parts.extend(of_queues(&device, slots, &mut unseen));
        unseen.push("packets that the kernel forwards or sends without a socket, but for the discipline and the ring".to_owned());
        if let Some(beyond) = beyond(&sockets) {
            unseen.push(beyond);
        }
        let advice = advice(&parts, &target.device, rate_bits_per_s);
        Ok(Self {
            title: target.title.clone(),
            device: target.device.clone(),
            rate_bits_per_s,
            parts,
            advice,
            unseen,
        })
    }

    /// How long the device needs for `bytes` at the rate that it is sending.
    pub fn time_ns(&self, bytes: u64) -> Option<u64> {
        let ns =
            (u128::from(bytes) * 8 * 1_000_000_000).checked_div(self.rate_bits_per_s.into())?;
        u64::try_from(ns).ok()
    }
}

fn of_sockets(sockets: &[Socket]) -> Vec<Part> {
    let sum = |figure: &dyn Fn(&Socket) -> Option<u64>| {
        sockets
            .iter()
            .filter_map(figure)
            .fold(0, u64::saturating_add)
    };
    let number = sockets.len();
    let note = format!("{number} socket{}", if number == 1 { "" } else { "s" });
    let part = |name: &str, bytes, in_memory, within, note: String| Part {
        name: name.to_owned(),
        bytes: Some(bytes),
        packets: None,
        overtaken: Overtaken::Others,
        in_memory,
        within,
        note,
    };
    let sent = |it: &Socket| {
        it.unsent_bytes
            .map(|unsent| it.queued_bytes.saturating_sub(unsent))
    };
    vec![
        part(
            "socket, not sent",
            sum(&|it| it.unsent_bytes),
            false,
            false,
            note,
        ),
        part(
            "sent, not acknowledged",
            sum(&sent),
            false,
            false,
            "here and on the way".to_owned(),
        ),
        part(
            "of it below the socket",
            sum(&|it| it.below_bytes),
            true,
            true,
            "in memory".to_owned(),
        ),
    ]
}

/// Disciplines and classes that have something in them, or the one at the top.
fn of_disciplines(all: &[Qdisc]) -> Vec<Part> {
    let has_children = |it: &Qdisc| {
        all.iter().any(|child| {
            !child.is_class
                && !it.is_class
                && child.parent >> 16 == it.handle >> 16
                && child.parent != Qdisc::ROOT
                && it.handle != child.handle
        })
    };
    let disciplines: Vec<&Qdisc> = all.iter().filter(|it| !it.is_class).collect();
    // What a parent holds is what its children hold.
    let leaves = disciplines.iter().filter(|it| {
        it.parent == Qdisc::ROOT && disciplines.len() == 1 || !is_bundle(it) && !has_children(it)
    });
    let shown = leaves.filter(|it| it.backlog_packets > 0 || disciplines.len() <= 2);
    let mut parts = Vec::new();
    for it in shown {
        let overtaken = DISCIPLINES.iter().find(|(kind, _)| *kind == it.kind);
        let queue = match it.parent {
            Qdisc::ROOT => String::new(),
            parent => format!(" below {}", handle(parent)),
        };
        parts.push(Part {
            name: format!("discipline {}{queue}", it.kind),
            bytes: Some(it.backlog_bytes),
            packets: Some(it.backlog_packets),
            overtaken: overtaken.map_or(Overtaken::Nothing, |&(_, overtaken)| overtaken),
            in_memory: false,
            within: false,
            note: drops(it),
        });
        let classes = all
            .iter()
            .filter(|class| class.is_class && class.kind == it.kind && class.backlog_packets > 0);
        for class in classes.take(MOST_CLASSES) {
            parts.push(Part {
                name: format!("class {}", handle(class.handle)),
                bytes: Some(class.backlog_bytes),
                packets: Some(class.backlog_packets),
                overtaken: Overtaken::Others,
                in_memory: false,
                within: true,
                note: drops(class),
            });
        }
    }
    parts
}

/// Classes of one discipline that are shown: a flow of `fq_codel` is one.
const MOST_CLASSES: usize = 8;

/// Holds nothing itself.
fn is_bundle(it: &Qdisc) -> bool {
    matches!(it.kind.as_str(), "mq" | "mqprio")
}

fn handle(number: u32) -> String {
    format!("{:x}:{:x}", number >> 16, number & 0xffff)
}

fn drops(it: &Qdisc) -> String {
    match it.drops {
        0 => String::new(),
        drops => format!("{drops} dropped so far"),
    }
}

fn of_queues(
    device: &taut_linux::observe::Device,
    slots: Option<u32>,
    unseen: &mut Vec<String>,
) -> Vec<Part> {
    let ring = slots.map_or(String::new(), |slots| format!(", ring of {slots} slots"));
    let why = device.why_none();
    if let Some(why) = why {
        let is_virtual = device.is_virtual;
        let note = match why {
            WhyNone::NeverReports => "the driver never reports",
            WhyNone::Idle => "nothing was sent yet",
            _ if is_virtual => "a virtual device: hands on at once",
            _ => "no byte limit",
        };
        if !is_virtual {
            unseen.push(format!("what is in the ring: {}", why.text()));
        }
        return vec![Part {
            name: "device".to_owned(),
            bytes: is_virtual.then_some(0),
            packets: None,
            overtaken: Overtaken::Nothing,
            in_memory: false,
            within: false,
            note: format!("{note}{ring}"),
        }];
    }
    let in_use = device.queues.iter().filter_map(|queue| {
        let limits = queue.limits?;
        Some((queue.number, limits.in_flight?, limits.limit?))
    });
    let busy = in_use.filter(|(_, in_flight, _)| *in_flight > 0 || device.queues.len() == 1);
    let part = |(number, in_flight, limit): (u32, u64, u64)| Part {
        name: format!("device, queue {number}"),
        bytes: Some(in_flight),
        packets: None,
        overtaken: Overtaken::Nothing,
        in_memory: false,
        within: false,
        note: format!("limit {limit}{ring}"),
    };
    busy.map(part).collect()
}

/// What the round trips say of the way beyond this host.
fn beyond(sockets: &[Socket]) -> Option<String> {
    let busy = sockets.iter().filter(|it| it.queued_bytes > 0);
    let waits = busy.filter_map(|it| {
        let (now, least) = (it.round_trip_us?, it.least_round_trip_us?);
        Some((now.saturating_sub(least), now, least))
    });
    let (_, now, least) = waits.max()?;
    Some(format!(
        "queues beyond this host: the round trip of a busy connection is {:.1} ms, {:.1} ms at \
         best; what is not explained above waits further on",
        now as f64 / 1000.0,
        least as f64 / 1000.0
    ))
}

/// A part is worth a remedy if it lasts longer than this at the rate that is sent, in ns.
const WORTH_NS: u64 = 1_000_000;

/// What would take away the largest part that nothing can overtake.
fn advice(parts: &[Part], device: &str, rate_bits_per_s: u64) -> String {
    if rate_bits_per_s == 0 {
        return "nothing is being sent: start the traffic that matters, and look again".to_owned();
    }
    let dark = parts.iter().filter(|it| it.overtaken == Overtaken::Nothing);
    let largest = dark
        .filter(|it| it.bytes.is_some())
        .max_by_key(|it| it.bytes);
    let unknown = parts.iter().any(|it| it.bytes.is_none());
    let lasts = |bytes: u64| u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate_bits_per_s);
    match largest.map(|it| (it, it.bytes.unwrap_or(0))) {
        Some((part, bytes)) if lasts(bytes) > u128::from(WORTH_NS) => {
            match part.name.starts_with("discipline") {
                true => format!(
                    "most of what nothing can overtake is in the {}: a fair one takes it away (tc \
                     qdisc replace dev {device} root fq_codel; below a shaper: as its child). A \
                     byte limit does nothing for that",
                    part.name
                ),
                false => format!(
                    "most of what nothing can overtake is in the {}: a smaller limit takes it away \
                     (taut doctor {device} judges it)",
                    part.name
                ),
            }
        }
        _ if unknown => format!(
            "what is in the ring cannot be seen: a shaper a little below the speed of the link \
             keeps it empty (taut doctor {device} says why there is no limit)"
        ),
        _ => "nothing here waits longer than 1 ms where it cannot be overtaken: a byte limit would do \
              nothing for this traffic"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qdisc(kind: &str, handle: u32, parent: u32, backlog: u64) -> Qdisc {
        Qdisc {
            kind: kind.to_owned(),
            handle,
            parent,
            backlog_bytes: backlog * 1514,
            backlog_packets: backlog,
            ..Qdisc::default()
        }
    }

    fn names(all: &[Qdisc]) -> Vec<String> {
        of_disciplines(all).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn what_a_shaper_and_its_child_hold_is_counted_once() {
        let root = Qdisc::ROOT;
        assert_eq!(
            names(&[qdisc("tbf", 0x8001_0000, root, 9)]),
            ["discipline tbf"]
        );
        let shaped = [
            qdisc("tbf", 0x1_0000, root, 9),
            qdisc("fq_codel", 0x2_0000, 0x1_0001, 9),
        ];
        assert_eq!(names(&shaped), ["discipline fq_codel below 1:1"]);
        let many = [
            qdisc("mq", 0x1_0000, root, 9),
            qdisc("pfifo_fast", 0, 0x1_0001, 0),
            qdisc("pfifo_fast", 0, 0x1_0002, 9),
        ];
        assert_eq!(names(&many), ["discipline pfifo_fast below 1:2"]);
    }

    fn part(name: &str, bytes: Option<u64>, overtaken: Overtaken) -> Part {
        Part {
            name: name.to_owned(),
            bytes,
            packets: None,
            overtaken,
            in_memory: false,
            within: false,
            note: String::new(),
        }
    }

    #[test]
    fn the_advice_is_for_the_largest_part_that_nothing_overtakes() {
        let rate = 100_000_000;
        let fifo = part("discipline pfifo", Some(500_000), Overtaken::Nothing);
        let fair = part("discipline fq_codel", Some(500_000), Overtaken::Others);
        let ring = |bytes| part("device, queue 0", bytes, Overtaken::Nothing);
        for (parts, words) in [
            (
                vec![fifo.clone(), ring(Some(100_000))],
                "A byte limit does nothing for that",
            ),
            (
                vec![fair.clone(), ring(Some(100_000))],
                "a smaller limit takes it away",
            ),
            (vec![fair.clone(), ring(None)], "cannot be seen"),
            (
                vec![fair.clone(), ring(Some(3_000))],
                "would do nothing for this traffic",
            ),
        ] {
            let advice = advice(&parts, "eth0", rate);
            assert!(advice.contains(words), "{advice}");
        }
        assert!(advice(&[fifo], "eth0", 0).contains("nothing is being sent"));
    }
}
