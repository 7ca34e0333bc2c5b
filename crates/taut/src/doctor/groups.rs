//! Queues of a device with equal verdicts, which are shown together.

use std::cmp::Reverse;

use serde_json::json;
use taut_linux::observe::LIMIT_MAX_UNSET;
use taut_observe::QueueSet;
use taut_observe::judge::{Evidence, Judgement, Trend, Verdict};
use taut_report::number::{readable, short_time};

/// A queue, or a device without a byte limit, and the findings about it.
pub type QueueJudgements<'a> = (&'a Evidence, Vec<Judgement>);

/// Queues with equal verdicts, or a device without a byte limit.
pub struct Group<'a> {
    /// The queues, by number; at least one.
    pub members: Vec<&'a Evidence>,
    /// The findings of the first queue, worst first.
    pub judgements: Vec<&'a Judgement>,
    /// Rules whose evidence differs between the queues.
    pub varied: Vec<&'static str>,
}

/// Returns every queue once: the devices in order, in each the worst queues first.
pub fn groups<'a>(judged: &'a [QueueJudgements<'a>]) -> Vec<Group<'a>> {
    let mut all: Vec<Group> = Vec::new();
    for device in judged.chunk_by(|(a, _), (b, _)| a.device.row.name == b.device.row.name) {
        let mut groups: Vec<Group> = Vec::new();
        for (member, about) in device {
            match groups.iter_mut().find(|group| group.includes(about)) {
                Some(group) => group.add(member, about),
                None => groups.push(Group::new(member, about)),
            }
        }
        groups.sort_by_key(|group| Reverse(group.worst()));
        all.extend(groups);
    }
    all
}

impl<'a> Group<'a> {
    fn new(member: &'a Evidence, about: &'a [Judgement]) -> Self {
        let mut judgements: Vec<&Judgement> = about.iter().collect();
        judgements.sort_by_key(|it| Reverse(it.finding.verdict));
        Self {
            members: vec![member],
            judgements,
            varied: Vec::new(),
        }
    }

    /// Returns `true` if `about` has the verdicts of the group. A rule about the whole device only
    /// judges its first queue.
    fn includes(&self, about: &[Judgement]) -> bool {
        let key = |it: &Judgement| (it.rule.name, it.finding.verdict);
        about
            .iter()
            .all(|it| self.judgements.iter().any(|own| key(own) == key(it)))
    }

    fn add(&mut self, member: &'a Evidence, about: &[Judgement]) {
        self.members.push(member);
        for own in &self.judgements {
            let is_other = |it: &Judgement| {
                it.rule.name == own.rule.name && it.finding.evidence != own.finding.evidence
            };
            if about.iter().any(is_other) && !self.varied.contains(&own.rule.name) {
                self.varied.push(own.rule.name);
            }
        }
    }

    /// Returns the worst verdict. Queues without a finding keep their order.
    fn worst(&self) -> Verdict {
        let worst = self.judgements.first().map(|it| it.finding.verdict);
        worst.map_or(Verdict::Ok, |it| it.max(Verdict::Ok))
    }

    /// Returns the names of the queues, and the ranges of their values.
    pub fn heading(&self) -> String {
        let device = &self.members[0].device;
        let queues = || self.members.iter().filter_map(|it| it.queue.as_ref());
        let numbers: Vec<u32> = queues().map(|it| it.row.queue).collect();
        if numbers.is_empty() {
            return device.row.name.clone();
        }
        let plural = if numbers.len() == 1 { "" } else { "s" };
        let driver = device
            .row
            .driver
            .as_ref()
            .map_or(String::new(), |it| format!(" ({it})"));
        let range = |unit: &str, value: fn(&Trend) -> i64| {
            let values = || queues().map(|it| value(&it.trend));
            let (min, max) = (values().min().unwrap_or(0), values().max().unwrap_or(0));
            let text = |value: i64| match value >= LIMIT_MAX_UNSET.cast_signed() {
                true => "unlimited".to_owned(),
                false => format!("{}{unit}", readable(&json!(value))),
            };
            match min == max {
                true => text(min),
                false => format!("{} to {}", text(min), text(max)),
            }
        };
        let name = format!(
            "{} queue{plural} {}{driver}",
            device.row.name,
            QueueSet::ranges(&numbers)
        );
        if queues().all(|it| it.trend.samples == 0) {
            let reason = device.row.problems.first();
            let reason = reason.map_or("no file of its limit can be read", String::as_str);
            return format!("{name}: no sample: {reason}");
        }
        format!(
            "{name}: limit {}, at most {} in flight, busy {} % of {}",
            range(" bytes", |it| signed(it.limit_last)),
            range(" bytes", |it| if it.excess > 0 {
                -signed(it.excess)
            } else {
                signed(it.in_flight_max)
            }),
            range("", |it| signed(it.busy_percent())),
            short_time(device.watched_ns)
        )
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use taut_linux::observe::Sample;
    use taut_observe::judge::{DeviceEvidence, QueueEvidence, judge};
    use taut_observe::{DeviceRow, QueueRow};

    use super::*;

    fn evidence(device: usize, queue: u32, limit: u64, in_flight: u64) -> Evidence {
        let mut row = QueueRow {
            queue,
            ..QueueRow::default()
        };
        (row.limits.limit, row.limits.in_flight) = (Some(limit), Some(in_flight));
        Evidence {
            device: DeviceEvidence {
                row: DeviceRow {
                    name: format!("eth{device}"),
                    ..DeviceRow::default()
                },
                watched_ns: 1_000_000_000,
                ..DeviceEvidence::default()
            },
            queue: Some(QueueEvidence {
                row,
                trend: Trend::of(&[Sample { limit, in_flight }; 100]),
                ..QueueEvidence::default()
            }),
        }
    }

    proptest! {
        #[test]
        fn every_queue_is_in_one_group(
            values in prop::collection::vec(
                (0u64..3, prop::sample::select(vec![0, 1, 1 << 31])), 0..40,
            ),
        ) {
            let row = |(at, &(limit, in_flight)): (usize, &(u64, u64))| {
                evidence(at / 10, at as u32, limit, in_flight)
            };
            let all: Vec<Evidence> = values.iter().enumerate().map(row).collect();
            let judged: Vec<QueueJudgements> = all.iter().map(|it| (it, judge(it))).collect();
            let groups = groups(&judged);
            let members = groups.iter().flat_map(|it| &it.members);
            let mut shown: Vec<_> = members.map(|it| it.queue_number()).collect();
            shown.sort_unstable();
            let expected: Vec<_> = all.iter().map(Evidence::queue_number).collect();
            prop_assert_eq!(shown, expected);
            for group in &groups {
                let worst = group.judgements.iter().map(|it| it.finding.verdict).max();
                for member in &group.members {
                    prop_assert_eq!(judge(member).iter().map(|it| it.finding.verdict).max(), worst);
                }
            }
        }
    }
}
