//! The check of each rule.

use taut_linux::observe::{LIMIT_MAX_UNSET, NoLimitReason, Qdisc};

use super::evidence::{Evidence, QueueEvidence};
use super::finding::{Judged, bad, bytes, not_judged, number, ok, warn, warn_if};

/// A queue is idle if fewer samples than this percentage are busy.
const IDLE_PERCENT: u64 = 2;
/// Packets that a driver that reports completions cannot have sent with a limit of 0.
const NEVER_PACKETS: u64 = 10;
/// A limit is oversized if the bytes in flight stay below this percentage of it ...
const NEED_PERCENT: u64 = 50;
/// ... and the link needs longer than this for it, in ns ...
const FAR_NS: u64 = 1_000_000;
/// ... or, where the speed is not known, if it exceeds this, in bytes.
const FAR_BYTES: u64 = 125_000;
/// A limit of this many of the largest packets has collapsed.
const COLLAPSED_PACKETS: u64 = 2;
/// Percentage of the busy samples in which such a limit, or a maximum, stops the queue.
const HELD_PERCENT: u64 = 20;
/// Growth of the limit from the first quarter to the last, in percent.
const GROWTH_PERCENT: u64 = 200;
/// Decreases after an increase that make a sawtooth.
const TEETH: usize = 3;
/// The limits of all queues together, as time of the link, in ns.
const SUM_NS: u64 = 5_000_000;

/// Returns why a rule about a queue under load does not apply, if it does not.
fn idle(queue: &QueueEvidence, watched_ns: u64) -> Option<String> {
    let trend = &queue.trend;
    let has_no_limit = queue.row.limits.limit == Some(0) && trend.limit_max == 0;
    if trend.samples == 0 {
        Some("no sample could be read".to_owned())
    } else if trend.excess > 0 {
        Some("more was completed than queued".to_owned())
    } else if queue.is_stuck(watched_ns) {
        Some("nothing completes".to_owned())
    } else if has_no_limit {
        Some("no limit applies".to_owned())
    } else if trend.busy == 0 || trend.busy_percent() < IDLE_PERCENT {
        let (busy, all) = (number(trend.busy as u64), number(trend.samples as u64));
        Some(format!("idle: bytes in flight in {busy} of {all} samples"))
    } else {
        None
    }
}

/// Applies `check` to a queue under load.
fn under_load(it: &Evidence, check: impl FnOnce(&QueueEvidence) -> Judged) -> Judged {
    let queue = it.queue.as_ref()?;
    match idle(queue, it.device.watched_ns) {
        Some(why) => not_judged(why),
        None => check(queue),
    }
}

pub fn no_limit(it: &Evidence) -> Judged {
    match &it.device.row.no_limit_reason {
        Some(why @ NoLimitReason::Hardware) => warn(why.text()),
        Some(why) if why.is_structural() => not_judged(why.text()),
        _ => None,
    }
}

/// Reports the files of a device at its first queue.
pub fn unreadable(it: &Evidence) -> Judged {
    let (device, queue) = (&it.device, it.queue_number());
    if queue.is_some_and(|queue| queue != device.first_queue) {
        return None;
    }
    match &device.row.problems[..] {
        [] if queue.is_none() => None,
        [] => ok("every file could be read".to_owned()),
        problems => warn(problems.join("; ")),
    }
}

pub fn never_reports(it: &Evidence) -> Judged {
    let (device, queue) = (&it.device, it.queue.as_ref()?);
    let (row, trend) = (&queue.row, &queue.trend);
    if row.limits.limit.is_none() {
        return not_judged("the limit cannot be read");
    }
    if row.limits.limit != Some(0) || trend.limit_max > 0 {
        return ok(format!("the limit is {}", bytes(row, trend.limit_last)));
    }
    if device.row.is_virtual {
        return not_judged("limit 0 on a virtual device: it has no ring to report from");
    }
    if row.limits.limit_max == Some(0) {
        return not_judged("limit_max is 0, so the limit is 0");
    }
    let meanwhile = device.new_sent_packets.unwrap_or(0);
    if trend.in_flight_max > 0 || trend.excess > 0 {
        let seen = "the driver counts bytes in flight, and the limit stayed 0";
        return match meanwhile >= NEVER_PACKETS && device.row.limited_queues == 1 {
            true => bad(format!(
                "{seen} while {} packets were sent",
                number(meanwhile)
            )),
            false => not_judged(seen),
        };
    }
    let driver = device.row.driver.as_deref().unwrap_or("the driver");
    // With several queues the packets may have been sent by another one.
    if meanwhile >= NEVER_PACKETS && device.row.limited_queues == 1 {
        let packets = number(meanwhile);
        bad(format!(
            "{driver} sent {packets} packets, and limit and in flight stayed 0"
        ))
    } else if device.row.no_limit_reason == Some(NoLimitReason::NeverReports) {
        let packets = number(device.row.tx_packets.unwrap_or(0));
        let finding = format!(
            "limit 0 on every queue, and {packets} packets were sent by {driver} since the \
             device was created"
        );
        match meanwhile >= NEVER_PACKETS {
            true => bad(finding),
            false => warn(finding),
        }
    } else {
        not_judged("limit 0: nothing was sent yet")
    }
}

pub fn pinned_at_max(it: &Evidence) -> Judged {
    under_load(it, |QueueEvidence { row, trend, .. }| {
        let max = row.limits.limit_max?;
        if max >= LIMIT_MAX_UNSET {
            return ok("limit_max is not set".to_owned());
        }
        let held = trend.held_percent();
        let seen = format!(
            "limit_max {}: blocked the queue in {held} % of the busy samples",
            bytes(row, max)
        );
        warn_if(trend.limit_min >= max && held >= HELD_PERCENT, seen)
    })
}

pub fn max_set(it: &Evidence) -> Judged {
    let max = it.queue.as_ref()?.row.limits.limit_max?;
    if max >= LIMIT_MAX_UNSET {
        return ok("limit_max is not set".to_owned());
    }
    if max == 0 {
        return warn(
            "limit_max is set to 0: the limit stays 0, whatever the link needs".to_owned(),
        );
    }
    under_load(it, |QueueEvidence { row, trend, .. }| {
        let max_text = bytes(row, max);
        if trend.limit_max >= max {
            return ok(format!(
                "limit_max {max_text} is reached: it caps the bytes in flight"
            ));
        }
        let highest = bytes(row, trend.limit_max);
        warn(format!(
            "limit_max {max_text} has no effect: the limit was at most {highest}"
        ))
    })
}

pub fn pinned_at_min(it: &Evidence) -> Judged {
    let min = it.queue.as_ref()?.row.limits.limit_min?;
    if min == 0 {
        return ok("limit_min is not set".to_owned());
    }
    under_load(it, |QueueEvidence { row, trend, .. }| {
        let min_text = bytes(row, min);
        match trend.limit_first <= min && trend.limit_last <= min {
            true => warn(format!("the limit is at limit_min, {min_text}")),
            false => ok(format!("the limit moves above limit_min, {min_text}")),
        }
    })
}

pub fn far_above_need(it: &Evidence) -> Judged {
    under_load(it, |QueueEvidence { row, trend, .. }| {
        let (limit, in_flight) = (trend.limit_last, trend.in_flight_max);
        let seen = format!(
            "limit {}, at most {} in flight",
            bytes(row, limit),
            bytes(row, in_flight)
        );
        let is_large = match row.link_time_ns(Some(limit)) {
            Some(ns) => ns > FAR_NS,
            None => limit > FAR_BYTES,
        };
        let needs_less = in_flight.saturating_mul(100) < limit.saturating_mul(NEED_PERCENT);
        warn_if(is_large && needs_less, seen)
    })
}

pub fn collapsed(it: &Evidence) -> Judged {
    under_load(it, |QueueEvidence { row, trend, .. }| {
        let held = trend.held_percent();
        let packets = COLLAPSED_PACKETS.saturating_mul(it.device.packet_bytes());
        let seen = format!(
            "limit at most {}, blocked the queue in {held} % of the busy samples",
            bytes(row, trend.limit_max)
        );
        warn_if(trend.limit_max <= packets && held >= HELD_PERCENT, seen)
    })
}

pub fn not_periodic(it: &Evidence) -> Judged {
    under_load(it, |QueueEvidence { row, trend, .. }| {
        let (first, last) = (bytes(row, trend.limit_first), bytes(row, trend.limit_last));
        let grows = trend.limit_first > 0
            && trend.limit_last.saturating_mul(100)
                >= trend.limit_first.saturating_mul(GROWTH_PERCENT);
        let seen = format!(
            "limit {first} at first, {last} at last, {} decreases by more than 30 % after an \
             increase",
            trend.teeth
        );
        warn_if(grows || trend.teeth >= TEETH, seen)
    })
}

pub fn stalls(it: &Evidence) -> Judged {
    let queue = it.queue.as_ref()?;
    let limits = &queue.row.limits;
    let (stalls, timeouts) = (limits.stalls, queue.row.tx_timeouts);
    let counted = [stalls, timeouts].into_iter().flatten();
    let Some(all) = counted.reduce(u64::saturating_add) else {
        return not_judged("this kernel does not count stalls (Linux 6.9 does)");
    };
    let (new_stalls, new_timeouts) = (queue.new_stalls, queue.new_timeouts);
    let grown = new_stalls
        .unwrap_or(0)
        .saturating_add(new_timeouts.unwrap_or(0));
    let text = |count: Option<u64>| count.map_or("unknown".to_owned(), number);
    let seen = format!(
        "stall_cnt {}, tx_timeout {}, {} during the observation",
        text(stalls),
        text(timeouts),
        number(grown)
    );
    match (grown, all) {
        (0, 0) if limits.stall_threshold_ms == Some(0) => {
            ok(format!("{seen} (stall detection is off: stall_thrs is 0)"))
        }
        (0, 0) => ok(seen),
        (0, _) => warn(seen),
        _ => bad(seen),
    }
}

pub fn stopped_below_limit(it: &Evidence) -> Judged {
    under_load(it, |QueueEvidence { trend, qdisc, .. }| {
        let held = trend.held_percent();
        match (held, qdisc) {
            (0, None) => not_judged("the backlog above the limit is unknown here"),
            (0, Some(qdisc)) if qdisc.backlog_packets == 0 => {
                ok("nothing stops the queue: no packet waits above".to_owned())
            }
            (0, Some(qdisc)) => warn(format!(
                "{} packets wait in {} although in flight was never at the limit",
                number(qdisc.backlog_packets),
                qdisc.kind
            )),
            _ => ok(format!(
                "the limit stopped the queue in {held} % of the busy samples"
            )),
        }
    })
}

/// Warns of a discipline that is one of `wrong`.
fn discipline(it: &Evidence, wrong: &[&str]) -> Judged {
    match &it.queue.as_ref()?.qdisc {
        None => not_judged("the discipline is unknown here"),
        Some(_) if it.device.row.is_virtual => not_judged("a virtual device: no ring below it"),
        Some(Qdisc { kind, .. }) => warn_if(
            wrong.contains(&kind.as_str()),
            format!("the discipline is {kind}"),
        ),
    }
}

pub fn no_queue_above(it: &Evidence) -> Judged {
    discipline(it, &["noqueue"])
}

pub fn single_fifo(it: &Evidence) -> Judged {
    discipline(it, &["pfifo", "bfifo", "pfifo_fast"])
}

pub fn many_queues(it: &Evidence) -> Judged {
    let (device, row) = (&it.device, &it.queue.as_ref()?.row);
    // Reported once, at the first queue of a device.
    if device.row.limited_queues < 2 || row.queue != device.first_queue {
        return None;
    }
    let Some(ns) = row.link_time_ns(Some(device.row.sum_limits_bytes)) else {
        return not_judged("the speed of the link is unknown: set it with --rate");
    };
    let seen = format!(
        "{} queues, limits of {} together",
        device.row.limited_queues,
        bytes(row, device.row.sum_limits_bytes)
    );
    warn_if(ns > SUM_NS, seen)
}

pub fn large_objects(it: &Evidence) -> Judged {
    under_load(it, |QueueEvidence { row, trend, .. }| {
        let Some(offload) = &it.device.offload else {
            return not_judged("the segmentation of the driver is unknown here");
        };
        let limit = trend.limit_last;
        match (offload.segmentation, offload.longest_object_bytes) {
            (Some(true), Some(object)) if object > limit => warn(format!(
                "GSO packets up to {}, limit {}",
                bytes(row, object),
                bytes(row, limit)
            )),
            (Some(true), Some(object)) => ok(format!("GSO packets up to {}", bytes(row, object))),
            (Some(false), _) => ok("segmentation by the device is off".to_owned()),
            _ => not_judged("the driver does not report whether it segments GSO packets"),
        }
    })
}
