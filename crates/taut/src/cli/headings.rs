//! Headings of the options in the help of all verbs.

use clap::{Arg, Command};

/// Headings, and the identifiers of the arguments below each.
const HEADINGS: &[(&str, &str)] = &[
    (
        "Traffic",
        "count dst_mac fast_rate flows passes pattern peer_mac rate rates seed seeds size \
         speed streams timing",
    ),
    (
        "Queue",
        "coalesce depths device driver drivers late_segmentation limit limits link_rate netns \
         qdisc queue queues ring row sysfs",
    ),
    (
        "Run",
        "delay dry_run duration force jobs no_real_time only repeat resume \
         stall_threshold strict sweep time warm_up watch yes",
    ),
    (
        "Output",
        "csv explain json json_lines list listen metrics output pcap pcap_max_size pcap_row \
         report rules trace trace_max_size trace_row verbose",
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
    match HEADINGS
        .iter()
        .find(|(_, ids)| ids.split(' ').any(|it| it == id))
    {
        Some((heading, _)) => arg.help_heading(*heading),
        None => arg,
    }
}
