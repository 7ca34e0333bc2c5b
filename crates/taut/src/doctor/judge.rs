//! What each rule makes of the evidence.

use serde_json::json;
use taut_linux::observe::{LIMIT_MAX_UNSET, WhyNone};

use super::evidence::Evidence;
use super::rules::*;
use crate::observe::row::Row;
use taut_report::number::{readable, short_time};

type Judged = Option<Finding>;

fn finding(verdict: Verdict, evidence: String) -> Judged {
    Some(Finding { verdict, evidence })
}

fn ok(evidence: String) -> Judged {
    finding(Verdict::Ok, evidence)
}

fn warn(evidence: String) -> Judged {
    finding(Verdict::Warn, evidence)
}

fn bad(evidence: String) -> Judged {
    finding(Verdict::Bad, evidence)
}

fn not_judged(evidence: impl Into<String>) -> Judged {
    finding(Verdict::NotJudged, evidence.into())
}

fn number(value: u64) -> String {
    readable(&json!(value))
}

/// A limit with the time that its link needs for it, if that is known.
fn bytes(row: &Row, bytes: u64) -> String {
    match row.link_time_ns(Some(bytes)) {
        Some(ns) => format!("{} bytes ({})", number(bytes), short_time(ns)),
        None => format!("{} bytes", number(bytes)),
    }
}

/// Why a rule about a queue under load cannot judge, if it cannot.
fn idle(it: &Evidence) -> Option<String> {
    let trend = &it.trend;
    let dead = it
        .row
        .as_ref()
        .is_some_and(|row| row.limits.limit == Some(0));
    if trend.samples == 0 {
        Some("nothing could be read".to_owned())
    } else if dead && trend.limit_max == 0 {
        Some("there is no limit at work".to_owned())
    } else if trend.busy == 0 || trend.busy_percent() < IDLE_PERCENT {
        let (busy, all) = (number(trend.busy as u64), number(trend.samples as u64));
        Some(format!(
            "idle: something in flight in {busy} of {all} samples"
        ))
    } else {
        None
    }
}

/// Does `judge` on a queue under load.
fn under_load(it: &Evidence, judge: impl FnOnce(&Row) -> Judged) -> Judged {
    let row = it.row.as_ref()?;
    match idle(it) {
        Some(why) => not_judged(why),
        None => judge(row),
    }
}

pub fn no_limit(it: &Evidence) -> Judged {
    match it.why_none {
        Some(WhyNone::Hardware) => warn(WhyNone::Hardware.text().to_owned()),
        Some(why @ (WhyNone::Virtual | WhyNone::NoQueue)) => not_judged(why.text()),
        _ => None,
    }
}

pub fn never_reports(it: &Evidence) -> Judged {
    let row = it.row.as_ref()?;
    if row.limits.limit.is_none() {
        return not_judged("the limit cannot be read");
    }
    if row.limits.limit != Some(0) || it.trend.limit_max > 0 {
        return ok(format!("the limit is {}", bytes(row, it.trend.limit_last)));
    }
    if it.is_virtual {
        return not_judged("limit 0 on a virtual device: it has no ring to report from");
    }
    let meanwhile = it.sent_packets_meanwhile.unwrap_or(0);
    let driver = it.driver.as_deref().unwrap_or("the driver");
    // With several queues the packets may have gone through another one.
    if meanwhile >= NEVER_PACKETS && it.limited_queues == 1 {
        let packets = number(meanwhile);
        bad(format!(
            "{driver} sent {packets} packets meanwhile, and limit and in flight stayed 0"
        ))
    } else if it.why_none == Some(WhyNone::NeverReports) {
        let packets = number(it.sent_packets.unwrap_or(0));
        let finding = format!(
            "limit 0 on every queue, and {packets} packets were sent by {driver} since it was made"
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
    under_load(it, |row| {
        let max = row.limits.limit_max?;
        if max >= LIMIT_MAX_UNSET {
            return ok("limit_max is not set".to_owned());
        }
        let at_max = it.trend.limit_min >= max;
        let held = it.trend.held_percent();
        let seen = format!(
            "limit_max {}: held the queue in {held} % of the busy samples",
            bytes(row, max)
        );
        match at_max && held >= HELD_PERCENT {
            true => warn(seen),
            false => ok(seen),
        }
    })
}

pub fn max_set(it: &Evidence) -> Judged {
    let row = it.row.as_ref()?;
    let max = row.limits.limit_max?;
    if max >= LIMIT_MAX_UNSET {
        return ok("limit_max is not set".to_owned());
    }
    under_load(it, |row| {
        let (most, max_text) = (it.trend.limit_max, bytes(row, max));
        if most >= max {
            return ok(format!(
                "limit_max {max_text} is reached: it caps what is in flight"
            ));
        }
        let most = bytes(row, most);
        warn(format!(
            "limit_max {max_text} changes nothing: the limit went to {most} at most"
        ))
    })
}

pub fn pinned_at_min(it: &Evidence) -> Judged {
    let row = it.row.as_ref()?;
    let min = row.limits.limit_min?;
    if min == 0 {
        return ok("limit_min is not set".to_owned());
    }
    under_load(it, |row| {
        let min_text = bytes(row, min);
        match it.trend.limit_first <= min && it.trend.limit_last <= min {
            true => warn(format!("the limit stands at limit_min, {min_text}")),
            false => ok(format!("the limit moves above limit_min, {min_text}")),
        }
    })
}

pub fn far_above_need(it: &Evidence) -> Judged {
    under_load(it, |row| {
        let (limit, most) = (it.trend.limit_last, it.trend.in_flight_max);
        let seen = format!(
            "limit {}, at most {} in flight",
            bytes(row, limit),
            bytes(row, most)
        );
        let is_large = match row.link_time_ns(Some(limit)) {
            Some(ns) => ns > FAR_NS,
            None => limit > FAR_BYTES,
        };
        match is_large && most.saturating_mul(100) < limit.saturating_mul(NEED_PERCENT) {
            true => warn(seen),
            false => ok(seen),
        }
    })
}

pub fn collapsed(it: &Evidence) -> Judged {
    under_load(it, |row| {
        let (most, held) = (it.trend.limit_max, it.trend.held_percent());
        let packets = COLLAPSED_PACKETS.saturating_mul(it.packet_bytes());
        let seen = format!(
            "limit at most {}, held the queue in {held} % of the busy samples",
            bytes(row, most)
        );
        match most <= packets && held >= HELD_PERCENT {
            true => warn(seen),
            false => ok(seen),
        }
    })
}

pub fn not_periodic(it: &Evidence) -> Judged {
    under_load(it, |row| {
        let trend = &it.trend;
        let (first, last) = (bytes(row, trend.limit_first), bytes(row, trend.limit_last));
        let grows = trend.limit_first > 0
            && trend.limit_last.saturating_mul(100)
                >= trend.limit_first.saturating_mul(GROWTH_PERCENT);
        let seen = format!(
            "limit {first} at first, {last} at last, {} falls of 30 % after a climb",
            trend.teeth
        );
        match grows || trend.teeth >= TEETH {
            true => warn(seen),
            false => ok(seen),
        }
    })
}

pub fn stalls(it: &Evidence) -> Judged {
    let row = it.row.as_ref()?;
    let (stalls, timeouts) = (row.limits.stalls, row.tx_timeouts);
    let (Some(all), grown) = (
        [stalls, timeouts]
            .into_iter()
            .flatten()
            .reduce(u64::saturating_add),
        it.stalls_meanwhile
            .unwrap_or(0)
            .saturating_add(it.timeouts_meanwhile.unwrap_or(0)),
    ) else {
        return not_judged("this kernel does not count stalls (Linux 6.9 does)");
    };
    let text = |what: Option<u64>| what.map_or("unknown".to_owned(), number);
    let seen = format!(
        "stall_cnt {}, tx_timeout {}, {} meanwhile",
        text(stalls),
        text(timeouts),
        number(grown)
    );
    match (grown, all) {
        (0, 0) if row.limits.stall_threshold_ms == Some(0) => {
            ok(format!("{seen} (stalls are not watched: stall_thrs is 0)"))
        }
        (0, 0) => ok(seen),
        (0, _) => warn(seen),
        _ => bad(seen),
    }
}

pub fn stopped_by(it: &Evidence) -> Judged {
    under_load(it, |_| {
        let held = it.trend.held_percent();
        let Some(qdisc) = &it.qdisc else {
            return match held {
                0 => not_judged("whether packets wait above is not known here"),
                _ => ok(format!(
                    "the limit stopped the queue in {held} % of the busy samples"
                )),
            };
        };
        let waiting = number(qdisc.backlog_packets);
        match (held, qdisc.backlog_packets) {
            (0, 0) => ok("nothing stops the queue: no packet waits above".to_owned()),
            (0, _) => warn(format!(
                "{waiting} packets wait in {} while in flight never was at the limit",
                qdisc.kind
            )),
            _ => ok(format!(
                "the limit stopped the queue in {held} % of the busy samples"
            )),
        }
    })
}

/// Does `judge` with the name of the discipline.
fn discipline(it: &Evidence, judge: impl FnOnce(&str) -> Judged) -> Judged {
    it.row.as_ref()?;
    match &it.qdisc {
        None => not_judged("the discipline is not known here"),
        Some(_) if it.is_virtual => not_judged("a virtual device: no ring below it"),
        Some(qdisc) => judge(&qdisc.kind),
    }
}

pub fn no_queue_above(it: &Evidence) -> Judged {
    discipline(it, |kind| match kind {
        "noqueue" => warn("the discipline is noqueue".to_owned()),
        _ => ok(format!("the discipline is {kind}")),
    })
}

pub fn single_fifo(it: &Evidence) -> Judged {
    discipline(it, |kind| match kind {
        "pfifo" | "bfifo" | "pfifo_fast" => warn(format!("the discipline is {kind}")),
        _ => ok(format!("the discipline is {kind}")),
    })
}

pub fn many_queues(it: &Evidence) -> Judged {
    let row = it.row.as_ref()?;
    // Said once, at the first queue of a device.
    if it.limited_queues < 2 || row.queue != it.first_queue {
        return None;
    }
    let Some(ns) = row.link_time_ns(Some(it.sum_limits_bytes)) else {
        return not_judged("the speed of the link is not known: say it with --rate");
    };
    let seen = format!(
        "{} queues, limits of {} together",
        it.limited_queues,
        bytes(row, it.sum_limits_bytes)
    );
    match ns > SUM_NS {
        true => warn(seen),
        false => ok(seen),
    }
}

pub fn large_objects(it: &Evidence) -> Judged {
    under_load(it, |row| {
        let Some(offload) = &it.offload else {
            return not_judged("what the driver cuts is not known here");
        };
        let limit = it.trend.limit_last;
        match (offload.segmentation, offload.longest_object_bytes) {
            (Some(true), Some(object)) if object > limit => warn(format!(
                "objects up to {}, limit {}",
                bytes(row, object),
                bytes(row, limit)
            )),
            (Some(true), Some(object)) => ok(format!("objects up to {}", bytes(row, object))),
            (Some(false), _) => ok("segmentation by the device is off".to_owned()),
            _ => not_judged("the driver does not say whether it cuts super-packets"),
        }
    })
}
