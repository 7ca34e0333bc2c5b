//! A trace contains the complete input of a rule: any rule reproduces the limits of the trace from
//! it.

use taut_measure::trace::{
    BatchRecord, Event, Head, Line, PacketRecord, Recorder, Recording, Tracer, read,
};
use taut_path::limit::{CompletionBatch, Limit, Unit};
use taut_path::rate::{RateMeter, RateSample};
use taut_path::{AnyLimit, DropReason};
use taut_sim::nic::{DescriptorRule, FinishedAt, Framing, InterruptRule, NicConfig};
use taut_sim::single_queue_bench::{
    Cost, Reap, Rule, SingleQueueConfig, TrafficSource, observe_with,
};

/// Bursts that exceed the link rate with idle times in between, reaped eight packets at a time. The
/// sender is blocked, idles and returns, and reaps stop at their budget.
fn config() -> SingleQueueConfig {
    SingleQueueConfig {
        nic: NicConfig {
            rate_bits_per_s: 1_000_000_000,
            framing: Framing::BARE,
            slots: 1024,
            rule: DescriptorRule::OnePerPacket,
            interrupt: InterruptRule::every(200_000),
            finished_at: FinishedAt::End,
            segments_apart: false,
            seed: 1,
        },
        restart_slots: None,
        reap: Reap {
            budget_packets: 8,
            poll_interval_ns: 5_000,
        },
        backlog_packets: 500,
        object_bytes: vec![1514, 700, 64],
        source: TrafficSource::Bursts {
            packets: 400,
            every_ns: 3_000_000,
            jitter_ns: 500_000,
        },
        cost: Cost::default(),
        rate_changes: Vec::new(),
        measure_from_ns: 0,
        end_ns: 1_000_000_000,
        sample_ns: 0,
    }
}

fn head() -> Head {
    Head {
        scenario: "test".to_owned(),
        seed: 1,
        taut_version: "0".to_owned(),
    }
}

fn traced(rule: &str) -> Vec<(u64, Event)> {
    let rule = Rule::from(rule.parse::<AnyLimit>().expect("a rule"));
    let mut bytes = Vec::new();
    let mut recorder = Recorder::new(&mut bytes, &head());
    recorder.row("a", &rule.to_string());
    observe_with(&config(), &rule, Tracer(Some(&mut recorder))).expect("it runs");
    recorder.finish().expect("it is written");
    let (_, lines) = read(&bytes[..]).expect("a head");
    let events = lines.filter_map(|line| match line.expect("a line") {
        Line::Event { at_ns, event } => Some((at_ns, event)),
        Line::Row { .. } => None,
    });
    events.collect()
}

/// A rule, and the state of the queue that is its input.
struct Player {
    rule: AnyLimit,
    rate: RateMeter,
    in_flight: u32,
    last_object: u32,
}

impl Player {
    fn units(&self, packet: PacketRecord) -> u32 {
        match self.rule.unit() {
            Unit::Bytes => packet.bytes,
            Unit::Packets => 1,
        }
    }

    fn sent(&mut self, packet: PacketRecord) {
        self.last_object = self.units(packet);
        self.in_flight += self.last_object;
    }

    fn batch(&mut self, now_ns: u64, batch: BatchRecord) {
        let (in_flight, units, object) = (self.in_flight, batch.units, self.last_object);
        self.in_flight -= units;
        let left = self.in_flight;
        self.rate.record(RateSample {
            now_ns,
            units,
            in_flight: left,
            object,
        });
        self.rule.completed(&CompletionBatch {
            now_ns,
            units,
            in_flight,
            last_object: object,
            more_pending: batch.more,
            ring_units: u32::MAX,
            sender_returned_ns: batch.sender_returned_ns,
            times_blocked: batch.times_blocked,
            rate_per_s: self.rate.units_per_s(),
        });
    }
}

/// Returns how often the limit was compared, and how often it had changed.
fn play(rule: &str, events: &[(u64, Event)]) -> (u64, u64) {
    let mut player = Player {
        rule: rule.parse().expect("a rule"),
        rate: RateMeter::new(),
        in_flight: 0,
        last_object: 0,
    };
    player.rule.begin(0);
    let (mut compared, mut changed, mut before) = (0, 0, 0);
    for &(at_ns, event) in events {
        match event {
            Event::Sent(packet) => player.sent(packet),
            Event::Drop(_, DropReason::DeviceRefused) => panic!("this device takes everything"),
            Event::Batch(batch) => player.batch(at_ns, batch),
            Event::Limit(limit) => {
                let found = player.rule.config().limit;
                assert_eq!(found, limit, "{rule} at {at_ns} ns");
                compared += 1;
                changed += u64::from(limit != before);
                before = limit;
            }
            _ => {}
        }
    }
    (compared, changed)
}

#[test]
fn trace_reproduces_the_limits_of_every_rule() {
    for rule in ["dql", "taut", "taut:99%", "dql:500us"] {
        let events = traced(rule);
        let (compared, changed) = play(rule, &events);
        assert!(
            compared > 5_000 && changed > 5,
            "{rule}: {compared}, {changed}"
        );
        let count = |matches_kind: &dyn Fn(&Event) -> bool| {
            events
                .iter()
                .filter(|(_, event)| matches_kind(event))
                .count()
        };
        let more = count(&|event| matches!(event, Event::Batch(batch) if batch.more));
        let last = count(&|event| matches!(event, Event::Batch(batch) if !batch.more));
        let blocked = count(&|event| matches!(event, Event::Blocked));
        assert!(
            more > 100 && last > 100 && blocked > 100,
            "{rule}: {more}, {last}, {blocked}"
        );
        // The blocks counted in a batch were recorded before it.
        let times_blocked = events.iter().rev().find_map(|(_, event)| match event {
            Event::Batch(batch) => Some(batch.times_blocked),
            _ => None,
        });
        assert!(
            times_blocked.is_some_and(|times_blocked| times_blocked as usize <= blocked),
            "{rule}"
        );
    }
}

/// Checks that a broken trace is detected: one without the additions of version 2.
#[test]
fn loss_budget_depends_on_blocks() {
    let mut events = traced("taut");
    for (_, event) in &mut events {
        if let Event::Batch(batch) = event {
            batch.times_blocked = 0;
        }
    }
    let played = std::panic::catch_unwind(|| play("taut", &events));
    assert!(played.is_err(), "nothing depends on the times_blocked");
}

#[test]
fn recording_has_the_events_of_a_trace() {
    let rule = Rule::taut();
    let mut recording = Recording::new(0, usize::MAX);
    observe_with(&config(), &rule, &mut recording).expect("it runs");
    let mut bytes = Vec::new();
    let mut recorder = Recorder::new(&mut bytes, &head());
    recording.write("a", "taut", &mut recorder);
    recorder.finish().expect("it is written");
    let (_, lines) = read(&bytes[..]).expect("a head");
    let found = lines.skip(1).map(|line| line.expect("a line"));
    let matches_kind = traced("taut").into_iter();
    let matches_kind = matches_kind.map(|(at_ns, event)| Line::Event { at_ns, event });
    assert!(found.eq(matches_kind));
    assert_eq!(recording.lost_events(), 0);

    let mut short = Recording::new(0, 1_000);
    observe_with(&config(), &rule, &mut short).expect("it runs");
    assert_eq!(short.events(), 1_000);
    assert_eq!(
        short.lost_events(),
        recording.events() as u64 - 1_000,
        "every event is kept or counted"
    );
}
