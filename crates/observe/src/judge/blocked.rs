//! Queues whose bytes in flight do not complete.

use taut_report::number::short_time;

use super::evidence::{Evidence, QueueEvidence};
use super::finding::{Judged, bad, bytes, not_judged, number, ok, warn};

pub fn completions_lost(it: &Evidence) -> Judged {
    let queue = it.queue.as_ref()?;
    let (row, trend) = (&queue.row, &queue.trend);
    let last = trend.last;
    if trend.samples == 0 {
        return not_judged("no sample could be read");
    }
    if last.in_flight == 0 || last.in_flight < last.limit || trend.excess > 0 {
        return ok("at the end, in flight was below the limit".to_owned());
    }
    if row.limits.limit_max == Some(0) {
        return not_judged("limit_max 0 blocks the queue after each packet");
    }
    let Some(ns) = queue.blocked_ns(it.device.watched_ns) else {
        return match trend.still == trend.samples {
            true => not_judged("the observation is too short: -t 2s or longer decides"),
            false => ok("the bytes in flight change".to_owned()),
        };
    };
    let seen = format!(
        "{} in flight, limit {}, unchanged for {}",
        bytes(row, last.in_flight),
        bytes(row, last.limit),
        short_time(ns)
    );
    if let Some(sent) = sent(it, queue).filter(|_| last.limit > 0) {
        return not_judged(format!("{seen}, but {sent} were sent meanwhile"));
    }
    let seen = format!("{seen}: {}", cause(it, queue));
    match trend.still == trend.samples {
        true => bad(seen),
        false if trend.still * 2 >= trend.samples => warn(seen),
        false => ok("the bytes in flight changed".to_owned()),
    }
}

/// Returns what the queue sent during the observation, if only this queue can have sent it.
fn sent(it: &Evidence, queue: &QueueEvidence) -> Option<String> {
    let is_only = it.device.row.limited_queues == 1;
    let is_own = queue.qdisc.as_ref().is_some_and(|it| !it.is_root());
    let bytes = queue.new_sent_bytes.filter(|_| is_only || is_own);
    let packets = it.device.new_sent_packets.filter(|_| is_only);
    match (bytes.unwrap_or(0), packets.unwrap_or(0)) {
        (0, 0) => None,
        (0, packets) => Some(format!("{} packets", number(packets))),
        (bytes, _) => Some(format!("{} bytes", number(bytes))),
    }
}

fn cause(it: &Evidence, queue: &QueueEvidence) -> &'static str {
    let device = &it.device;
    if queue.trend.limit_max == 0 {
        "the driver counts queued bytes and never reports completions"
    } else if device.all_stuck {
        "completions were lost"
    } else if queue.row.queue != device.first_queue && device.first_queue_moves {
        "completions were lost, or the driver resets only the first queue, which is not blocked"
    } else {
        "completions of this queue were lost; other queues are not blocked"
    }
}

pub fn excess_completions(it: &Evidence) -> Judged {
    let QueueEvidence { row, trend, .. } = it.queue.as_ref()?;
    match trend.excess {
        0 => ok("no more was completed than queued".to_owned()),
        excess => bad(format!(
            "in flight is -{}: the driver completed more than it queued",
            bytes(row, excess)
        )),
    }
}
