//! The stages of the transmit path, and the packets that can overtake those in each.

use taut_linux::observe::{Device, NoLimitReason, Qdisc, Socket, excess_bytes};

/// What can overtake the packets in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OvertakenBy {
    /// Packets of another flow or socket.
    OtherFlows,
    /// Packets of a higher band.
    Priority,
    /// Nothing: they leave in order.
    Nothing,
}

impl OvertakenBy {
    /// Returns a phrase for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::OtherFlows => "other flows overtake",
            Self::Priority => "priority overtakes",
            Self::Nothing => "nothing overtakes",
        }
    }

    /// Returns the value in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OtherFlows => "other_flows",
            Self::Priority => "priority",
            Self::Nothing => "nothing",
        }
    }
}

/// One stage of the transmit path of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Its name for people.
    pub name: String,
    /// Bytes in it; `None` where they cannot be read.
    pub bytes: Option<u64>,
    /// Packets in it, if they are counted.
    pub packets: Option<u64>,
    /// What can overtake them.
    pub overtaken_by: OvertakenBy,
    /// `bytes` counts memory, which exceeds the bytes of the packets.
    pub in_memory: bool,
    /// A part of the stage before it: its bytes are counted there, too.
    pub within: bool,
    /// A remark for people; can be empty.
    pub note: String,
}

impl Stage {
    /// A stage whose packets or memory are not counted.
    pub(super) fn new(
        name: impl Into<String>,
        bytes: Option<u64>,
        overtaken_by: OvertakenBy,
        note: String,
    ) -> Self {
        Self {
            name: name.into(),
            bytes,
            packets: None,
            overtaken_by,
            in_memory: false,
            within: false,
            note,
        }
    }
}

/// Returns what the sockets hold.
pub fn sockets(sockets: &[Socket]) -> Vec<Stage> {
    let sum = |value: &dyn Fn(&Socket) -> Option<u64>| {
        sockets
            .iter()
            .filter_map(value)
            .fold(0, u64::saturating_add)
    };
    let number = sockets.len();
    let note = format!("{number} socket{}", if number == 1 { "" } else { "s" });
    let sent = |it: &Socket| {
        it.unsent_bytes
            .map(|unsent| it.queued_bytes.saturating_sub(unsent))
    };
    let stage = |name: &str, bytes, note: String| {
        Stage::new(name, Some(bytes), OvertakenBy::OtherFlows, note)
    };
    vec![
        stage("socket, not sent", sum(&|it| it.unsent_bytes), note),
        stage(
            "sent, not acknowledged",
            sum(&sent),
            "here and on the way".to_owned(),
        ),
        Stage {
            in_memory: true,
            within: true,
            ..stage(
                "of it below the socket",
                sum(&|it| it.below_bytes),
                "in memory".to_owned(),
            )
        },
    ]
}

/// Returns what the device holds, and adds what cannot be read to `unseen`.
pub fn queues(device: &Device, slots: Option<u32>, unseen: &mut Vec<String>) -> Vec<Stage> {
    let ring = slots.map_or(String::new(), |slots| format!(", ring of {slots} slots"));
    let why = device.no_limit_reason();
    if let Some(why) = why {
        let has_no_ring = why.is_structural() && why != NoLimitReason::Wifi;
        if !has_no_ring {
            unseen.push(format!("the contents of the ring: {}", why.text()));
        }
        let (bytes, note) = (has_no_ring.then_some(0), format!("{}{ring}", why.text()));
        return vec![Stage::new("device", bytes, OvertakenBy::Nothing, note)];
    }
    let in_use = device.queues.iter().filter_map(|queue| {
        let limits = queue.limits?;
        Some((queue.number, limits.in_flight?, limits.limit?))
    });
    let busy = in_use.filter(|(_, in_flight, _)| *in_flight > 0 || device.queues.len() == 1);
    let stage = |(number, in_flight, limit): (u32, u64, u64)| {
        let name = format!("device, queue {number}");
        let (bytes, note) = match excess_bytes(in_flight) {
            None => (Some(in_flight), format!("limit {limit}{ring}")),
            Some(excess) => (None, format!("{excess} bytes more completed than queued")),
        };
        Stage::new(name, bytes, OvertakenBy::Nothing, note)
    };
    busy.map(stage).collect()
}

/// Returns what can overtake the packets in a discipline of this kind.
fn overtaken_by(kind: &str) -> OvertakenBy {
    match kind {
        "fq_codel" | "fq" | "fq_pie" | "sfq" | "cake" | "drr" | "hfsc" | "htb" => {
            OvertakenBy::OtherFlows
        }
        "pfifo_fast" | "prio" => OvertakenBy::Priority,
        _ => OvertakenBy::Nothing,
    }
}

/// Returns the disciplines and classes that hold packets, or the root discipline.
pub fn disciplines(all: &[Qdisc]) -> Vec<Stage> {
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
    // The backlog of a parent is that of its children.
    let leaves = disciplines.iter().filter(|it| {
        it.parent == Qdisc::ROOT && disciplines.len() == 1 || !is_bundle(it) && !has_children(it)
    });
    let shown = leaves.filter(|it| it.backlog_packets > 0 || disciplines.len() <= 2);
    let mut stages = Vec::new();
    for it in shown {
        let queue = match it.parent {
            Qdisc::ROOT => String::new(),
            parent => format!(" below {}", handle(parent)),
        };
        let name = format!("discipline {}{queue}", it.kind);
        stages.push(stage(it, name, overtaken_by(&it.kind)));
        let classes = all
            .iter()
            .filter(|class| class.is_class && class.kind == it.kind && class.backlog_packets > 0);
        for class in classes.take(MAX_CLASSES) {
            let name = format!("class {}", handle(class.handle));
            stages.push(Stage {
                within: true,
                ..stage(class, name, OvertakenBy::OtherFlows)
            });
        }
    }
    stages
}

fn stage(it: &Qdisc, name: String, overtaken_by: OvertakenBy) -> Stage {
    Stage {
        packets: Some(it.backlog_packets),
        ..Stage::new(name, Some(it.backlog_bytes), overtaken_by, drops(it))
    }
}

/// Maximum number of classes shown of one discipline: a flow of `fq_codel` is one.
const MAX_CLASSES: usize = 8;

/// Returns `true` if it holds no packets itself.
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
        disciplines(all).into_iter().map(|it| it.name).collect()
    }

    #[test]
    fn backlog_of_shaper_and_child_counts_once() {
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
}
