//! Headings of the options in the help of all verbs.

use clap::{Arg, Command};

/// Options and the heading of each, by the identifier of the argument.
const HEADINGS: &[(&str, &[&str])] = &[
    (
        "Traffic",
        &[
            "count",
            "fast_rate",
            "flows",
            "passes",
            "pattern",
            "peer_mac",
            "rate",
            "rates",
            "seed",
            "seeds",
            "size",
            "speed",
            "streams",
            "timing",
            "dst_mac",
        ],
    ),
    (
        "Queue",
        &[
            "coalesce",
            "depths",
            "device",
            "driver",
            "drivers",
            "limit",
            "limits",
            "link_rate",
            "netns",
            "qdisc",
            "queue",
            "queues",
            "ring",
            "row",
            "rule",
            "late_segmentation",
            "late_segmentation",
            "sysfs",
        ],
    ),
    (
        "Run",
        &[
            "delay",
            "dry_run",
            "force",
            "duration",
            "interval",
            "hz",
            "jobs",
            "no_real_time",
            "only",
            "resume",
            "repeat",
            "stall_threshold",
            "strict",
            "sweep",
            "time",
            "warm_up",
            "watch",
            "yes",
        ],
    ),
    (
        "Output",
        &[
            "csv",
            "explain",
            "json",
            "json_lines",
            "list",
            "listen",
            "metrics",
            "output",
            "pcap",
            "pcap_max_size",
            "pcap_row",
            "report",
            "rules",
            "svg",
            "tables",
            "textfile",
            "trace",
            "trace_max_size",
            "trace_row",
            "verbose",
        ],
    ),
];

/// Puts the options of `command` and of its subcommands under headings.
pub fn add(command: Command) -> Command {
    command.mut_args(with_heading).mut_subcommands(add)
}

fn with_heading(arg: Arg) -> Arg {
    if arg.is_positional() {
        return arg;
    }
    let id = arg.get_id().to_string();
    match HEADINGS.iter().find(|(_, ids)| ids.contains(&id.as_str())) {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}
