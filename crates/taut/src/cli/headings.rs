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
            "streams",
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
            "split",
            "splits",
            "sysfs",
        ],
    ),
    (
        "Run",
        &[
            "delay",
            "dry_run",
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

/// First lines of options that other crates define: theirs are too long for `-h`.
const SHORT_HELP: &[(&str, &str)] = &[
    ("pcap", "Write the frames on the wire to FILE, as pcapng"),
    (
        "pcap_max_size",
        "Maximum capture size; a longer capture is discarded",
    ),
    ("trace", "Write every event of the rows' queues to FILE"),
    (
        "trace_max_size",
        "Maximum trace size; a longer trace is discarded",
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
    let short = SHORT_HELP.iter().find(|(name, _)| *name == id);
    let arg = match short {
        Some((_, help)) => arg.help(*help),
        None => arg,
    };
    match HEADINGS.iter().find(|(_, ids)| ids.contains(&id.as_str())) {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}
