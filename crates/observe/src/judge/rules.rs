//! The table of rules.

use super::blocked;
use super::checks;
use super::evidence::Evidence;
use super::finding::Judged;

/// One thing that can be wrong.
#[derive(Debug)]
pub struct Rule {
    /// Its name, as `--explain` takes it.
    pub name: &'static str,
    /// What it looks for, in one line.
    pub help: &'static str,
    /// When it reports something.
    pub threshold: &'static str,
    /// Where the threshold comes from.
    pub source: &'static str,
    /// Why that is a problem.
    pub why: &'static str,
    /// What to do; `DEV` stands for the device.
    pub advice: &'static str,
    /// Returns the finding; `None` if the rule does not apply to the queue or device.
    pub judge: fn(&Evidence) -> Judged,
}

/// Every rule, one row each: verdicts, `--rules` and `--explain` use this table.
/// Each has a check in `checks.rs` and cases in `cases.rs`.
pub const RULES: &[Rule] = &[
    Rule {
        name: "no-limit",
        help: "the kernel has no byte limit for this device",
        threshold: "the device is virtual, or its queues have no byte_queue_limits",
        source: "sysfs; Linux has none for devices without a queue of their own",
        why: "Without a limit the whole ring fills, and packets in the ring can be neither \
              reordered nor dropped.",
        advice: "use a kernel with CONFIG_BQL, or a driver that uses the kernel's queue; until \
                 then, shape a little below the speed of the link",
        judge: checks::no_limit,
    },
    Rule {
        name: "never-reports",
        help: "the driver never reports completions to the limit",
        threshold: "limit and in flight stay 0 while the device sends 10 packets or more",
        source: "DQL raises a limit of 0 at the first completion; a limit that stays 0 means \
                 that none was reported (amzn-drivers#262)",
        why: "The directory exists for every driver, whether it reports or not. A limit without \
              reports blocks nothing: the ring fills.",
        advice: "ask the driver's maintainer for byte queue limits, or look for a driver option \
                 or a later kernel; until then, shape a little below the speed of the link, or \
                 use a smaller ring (ethtool -G)",
        judge: checks::never_reports,
    },
    Rule {
        name: "completions-lost",
        help: "the queue is blocked, and nothing completes",
        threshold: "in flight is at or above the limit and both are constant. This lasts for at \
                    least 100 ms and 4 times the transmission time of the limit (only in the \
                    second half: a warning)",
        source: "openwrt#16419 (a reset of queue 0 only), openwrt#24122 (lost completions)",
        why: "The kernel starts a blocked queue again when the driver reports a completion. \
              Without one, the queue never sends again.",
        advice: "ip link set DEV down, then up, resets the counters if the driver resets every \
                 queue; otherwise load the driver again. Report it to the driver's maintainer, \
                 with the kernel's log",
        judge: blocked::completions_lost,
    },
    Rule {
        name: "excess-completions",
        help: "the driver completed more bytes than it queued",
        threshold: "in flight is 2^31 or more, which is a negative number of 32 bits",
        source: "the kernel's counters have 32 bits",
        why: "The driver counted a completion twice, or completed packets that were sent before \
              a reset. The limit is computed from wrong numbers.",
        advice: "ip link set DEV down, then up, resets the counters; report it to the driver's \
                 maintainer",
        judge: blocked::excess_completions,
    },
    Rule {
        name: "unreadable",
        help: "a file of the device's queues cannot be read",
        threshold: "a file of byte_queue_limits is missing, forbidden or not a number",
        source: "sysfs; stall_thrs, stall_cnt and stall_max exist since Linux 6.9",
        why: "Checks that need the value skip the queue.",
        advice: "read it as root, or copy the tree again (cp -rL /sys/class/net)",
        judge: checks::unreadable,
    },
    Rule {
        name: "pinned-at-max",
        help: "the limit is at a configured limit_max, which blocks the queue",
        threshold: "limit is limit_max all the time, and blocked the queue in at least 20 % of the \
                    busy samples",
        source: "field reports of scripts that set limit_max to 3000, 4096 or 8192 blindly",
        why: "DQL would raise the limit, because the device ran dry. A maximum below the required \
              in-flight bytes costs throughput.",
        advice: "compare the throughput with limit_max at max; if it is better, leave it there \
                 (taut set DEV limit_max max)",
        judge: checks::pinned_at_max,
    },
    Rule {
        name: "limit-max-set",
        help: "a configured limit_max, and whether it has an effect",
        threshold: "limit_max is 0, or it is not 1879048192 and the limit stays below it",
        source: "field reports; 1879048192 is the kernel's default",
        why: "A maximum that is never reached has no effect until the speed of the link is \
              raised. A maximum of 0 blocks the queue after each packet.",
        advice: "remove it: taut set DEV limit_max max",
        judge: checks::max_set,
    },
    Rule {
        name: "pinned-at-min",
        help: "the limit is at a configured limit_min",
        threshold: "limit is limit_min, which is not 0, in most samples of the first and the last \
                    quarter",
        source: "DQL never chooses a limit below limit_min",
        why: "DQL would choose a lower limit: more bytes wait in the ring than the link needs.",
        advice: "lower limit_min (taut set DEV limit_min 0) and see whether throughput holds",
        judge: checks::pinned_at_min,
    },
    Rule {
        name: "limit-oversized",
        help: "the limit is far above the maximum in flight",
        threshold: "in flight stays below 50 % of the limit. The link also needs more than 1 ms \
                    for the limit, or the limit exceeds 125,000 bytes if the speed is unknown",
        source: "1 ms is the default of TCP small queues for a flow; the factor is a choice of \
                 this project",
        why: "With more traffic, the ring would fill up to the limit. Slack reduces the limit at \
              most once per hold time.",
        advice: "set a shorter hold time (taut set DEV hold_time 100ms), which decreases the \
                 limit sooner; or cap it with a limit_max of twice the maximum in flight",
        judge: checks::far_above_need,
    },
    Rule {
        name: "collapsed",
        help: "the limit fell to two packets: completions come one by one",
        threshold: "limit at most twice the largest packet all the time, and it blocked the queue \
                    in at least 20 % of the busy samples",
        source: "measured on veth in 2026: with one report per packet, the limit is 2 packets and \
                 costs 10 to 20 % of the throughput",
        why: "The limit is twice the amount completed in an interval. If each packet is an \
              interval, sender and device alternate packet by packet.",
        advice: "report completions once per poll in the driver, or coalesce interrupts (ethtool \
                 -C DEV tx-usecs 50); or set a floor: taut set DEV limit_min 12k",
        judge: checks::collapsed,
    },
    Rule {
        name: "aperiodic-completions",
        help: "the limit oscillates or grows: completions are aperiodic",
        threshold: "while busy: at least 3 decreases by more than 30 % after an increase, or a \
                    limit in the last quarter at least twice that of the first",
        source: "DQL assumes comparable intervals; `taut sim aperiodic` shows it",
        why: "If a driver reaps at irregular times, intervals are not comparable: the limit rises \
              too high and stays there, or decreases too far.",
        advice: "set a fixed interrupt period (ethtool -C DEV adaptive-tx off tx-usecs 100), or \
                 observe for longer to see whether it converges (taut doctor -t 60s)",
        judge: checks::not_periodic,
    },
    Rule {
        name: "stalls",
        help: "bytes stayed in the device too long, or the transmit watchdog fired",
        threshold: "stall_cnt or tx_timeout is not 0; bad if it grew during the observation",
        source: "byte_queue_limits/stall_cnt (Linux 6.9), queues/tx-N/tx_timeout",
        why: "The device stalled, or lost a completion. All packets behind it waited.",
        advice: "see the kernel's log for the driver's messages; update the firmware or the \
                 driver",
        judge: checks::stalls,
    },
    Rule {
        name: "stopped-below-limit",
        help: "the ring or the device stops the queue before the limit",
        threshold: "packets wait above the limit although in flight was never at the limit",
        source: "in flight above the limit while the ring is not full shows that the limit \
                 stopped the queue",
        why: "If the ring fills first, or the device pauses the queue, the limit has no effect.",
        advice: "if the ring fills, enlarge it (ethtool -G DEV tx N); otherwise check for \
                 received pause frames (ethtool -S DEV) or a slower device below",
        judge: checks::stopped_below_limit,
    },
    Rule {
        name: "noqueue",
        help: "nothing above the limit can hold packets",
        threshold: "the queue's discipline is noqueue",
        source: "tc over netlink",
        why: "Packets that the limit blocks have no queue to wait in, so they are dropped.",
        advice: "tc qdisc replace dev DEV root fq_codel",
        judge: checks::no_queue_above,
    },
    Rule {
        name: "single-fifo",
        help: "packets blocked by the limit wait in a single FIFO",
        threshold: "the queue's discipline is pfifo, bfifo or pfifo_fast",
        source: "tc over netlink",
        why: "The limit moves waiting from the ring into the discipline. If that is a FIFO, all \
              flows wait there instead, and nothing is marked or dropped early. (With pfifo_fast, \
              packets of high priority overtake.)",
        advice: "tc qdisc replace dev DEV root fq_codel (below mq: for each queue), or set \
                 net.core.default_qdisc",
        judge: checks::single_fifo,
    },
    Rule {
        name: "many-queues",
        help: "the limits of all queues together are large",
        threshold: "the link needs more than 5 ms for the sum of the limits of its queues",
        source: "5 ms is CoDel's target (RFC 8289)",
        why: "Each queue has its own limit, but all share one link: bytes in flight add up.",
        advice: "use fewer queues (ethtool -L DEV tx N), or set a limit_max for each",
        judge: checks::many_queues,
    },
    Rule {
        name: "large-objects",
        help: "one GSO packet is larger than the limit",
        threshold: "segmentation by the device is on, and its longest GSO packet exceeds the \
                    limit of a busy queue",
        source: "ethtool and netlink; the limit can be exceeded by one packet",
        why: "The limit is soft: while it has any room, a packet (or GSO packet) of any size is \
              admitted. So in flight is up to the limit and one GSO packet.",
        advice: "on a slow link, use smaller GSO packets: ip link set DEV gso_max_size 16384, or \
                 ethtool -K DEV tso off",
        judge: checks::large_objects,
    },
];
