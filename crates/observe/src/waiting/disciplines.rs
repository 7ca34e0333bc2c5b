//! The disciplines of a device, as stages.

use taut_linux::observe::Qdisc;

use super::stage::{OvertakenBy, Stage};

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
pub fn stages(all: &[Qdisc]) -> Vec<Stage> {
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
        stages(all).into_iter().map(|it| it.name).collect()
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
