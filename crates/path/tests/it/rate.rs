//! The measured rate of a device, and time caps.

use proptest::prelude::*;
use taut_dql::Config;
use taut_path::limit::{AnyLimit, CompletionBatch, ParseLimitError, TimeCapped};
use taut_path::pool::FramePool;
use taut_path::rate::{RateMeter, RateSample};
use taut_path::{Limit, Packet, Queue};

use crate::support::wire::Wire;

const FRAME_BYTES: u32 = 1_000;

struct Saturated {
    queue: Queue<Wire>,
    pool: FramePool,
    now_ns: u64,
}

impl Saturated {
    fn new(limit: &str, bytes_per_s: u64) -> Self {
        let limit: AnyLimit = limit.parse().expect("a limit");
        let queue = Queue::builder_for(Wire::new(bytes_per_s, 4_096)).limit(limit);
        Self {
            queue: queue.build(0).expect("builds"),
            pool: FramePool::new(5_000, 8),
            now_ns: 0,
        }
    }

    /// Sends for `time_ns` with completions every `interval_ns`. Returns the largest limit then.
    fn send(&mut self, time_ns: u64, interval_ns: u64) -> u32 {
        let end_ns = self.now_ns + time_ns;
        let mut most = 0;
        while self.now_ns < end_ns {
            while self.queue.backlog().packets < 900
                && let Some(frame) = self.pool.take()
            {
                let packet = Packet::new(frame, FRAME_BYTES);
                self.queue.enqueue(packet, self.now_ns, &mut self.pool);
            }
            let _ = self.queue.run(self.now_ns, &mut self.pool);
            self.now_ns += interval_ns;
            let Ok(_) = self.queue.complete(self.now_ns, &mut self.pool) else {
                unreachable!("a wire does not fail")
            };
            most = most.max(self.queue.snapshot().limit);
        }
        most
    }

    fn change_rate(&mut self, bytes_per_s: u64) {
        let now_ns = self.now_ns;
        self.queue.device_mut().advance(now_ns);
        self.queue.device_mut().bytes_per_s = bytes_per_s;
    }

    fn limit(&self) -> u32 {
        self.queue.snapshot().limit
    }
}

/// Returns `true` within a tenth.
fn is_near(found: u32, wanted: u64) -> bool {
    (wanted * 9 / 10..=wanted * 11 / 10).contains(&u64::from(found))
}

#[test]
fn cap_is_rate_times_time() {
    // 100 Mbit/s, and a thread that polls every 5 ms: the rule alone needs 125,000 bytes.
    for rule in ["dql", "taut", "off", "200k"] {
        let mut capped = Saturated::new(&format!("{rule}:2ms"), 12_500_000);
        let mut alone = Saturated::new(rule, 12_500_000);
        capped.send(2_000_000_000, 5_000_000);
        alone.send(2_000_000_000, 5_000_000);
        assert!(alone.limit() > 60_000, "{rule} alone: {}", alone.limit());
        assert!(
            is_near(capped.limit(), 25_000),
            "{rule}: {}",
            capped.limit()
        );
    }
}

#[test]
fn long_cap_has_no_cost() {
    let mut capped = Saturated::new("dql:2ms", 12_500_000);
    capped.send(3_000_000_000, 500_000);
    let mut alone = Saturated::new("dql", 12_500_000);
    alone.send(3_000_000_000, 500_000);
    assert_eq!(capped.limit(), alone.limit());
    assert_eq!(capped.queue.device().dry_ns, alone.queue.device().dry_ns);
}

/// A thread that polls every 250 us, and sometimes after 10 ms: the link runs dry under the cap
/// repeatedly, and the completions of those intervals are far below the rate.
#[test]
fn late_thread_does_not_lower_the_cap() {
    for rule in ["dql", "taut", "off"] {
        let mut sender = Saturated::new(&format!("{rule}:2ms"), 12_500_000);
        sender.send(100_000_000, 250_000);
        // This many polls on time between two late ones, down to none.
        for looks in [200, 20, 2, 0] {
            for _ in 0..50 {
                sender.send(10_000_000, 10_000_000);
                sender.send(looks * 250_000, 250_000);
            }
            let most = sender.send(10_000_000, 10_000_000);
            // Linux's rule alone needs less while the thread is rarely late.
            let wants_less = rule == "dql" && looks > 2;
            assert!(
                most > 22_500 || wants_less,
                "{rule}, {looks} polls on time: {most}"
            );
        }
        let done = sender.queue.completer_counters().completed_packets;
        assert!(done > 2_000, "{rule}: {done}");
    }
}

#[test]
fn cap_follows_a_slower_link() {
    let mut sender = Saturated::new("off:2ms", 125_000_000);
    sender.send(500_000_000, 250_000);
    assert!(is_near(sender.limit(), 250_000), "{}", sender.limit());
    sender.change_rate(12_500_000);
    sender.send(300_000_000, 250_000);
    assert!(is_near(sender.limit(), 25_000), "{}", sender.limit());
}

#[test]
fn cap_follows_a_faster_link() {
    for interval_ns in [250_000, 1_000_000, 4_000_000] {
        let mut sender = Saturated::new("off:2ms", 12_500_000);
        sender.send(500_000_000, interval_ns);
        assert!(is_near(sender.limit(), 25_000), "{}", sender.limit());
        sender.change_rate(125_000_000);
        sender.send(2_000_000_000, interval_ns);
        // Between two probes.
        sender.send(interval_ns, interval_ns);
        assert!(
            is_near(sender.limit(), 250_000) || sender.limit() > 1 << 30,
            "each {interval_ns} ns: {}",
            sender.limit()
        );
    }
}

#[test]
fn rate_is_kept_while_idle() {
    // 20 kbyte/s: an object takes 50 ms, and the cap is 40 bytes.
    let mut sender = Saturated::new("dql:2ms", 20_000);
    sender.send(20_000_000_000, 10_000_000);
    let counters = sender.queue.completer_counters();
    let sent_s = sender.queue.device().now_ns as f64 / 1e9;
    assert!(
        counters.completed_packets as f64 > 20.0 * sent_s * 0.8,
        "{counters:?}"
    );
    let mut meter = RateMeter::new();
    for batch in 0..100 {
        let now_ns = batch * 1_000_000;
        meter.record(RateSample {
            now_ns,
            units: 1_000,
            in_flight: 1_000,
            object: 100,
        });
    }
    assert_eq!(meter.units_per_s(), 1_000_000);
    // An hour later, packet by packet.
    for batch in 0..100 {
        let now_ns = 3_600_000_000_000 + batch * 1_000_000_000;
        meter.record(RateSample {
            now_ns,
            units: 100,
            in_flight: 0,
            object: 100,
        });
    }
    assert_eq!(meter.units_per_s(), 1_000_000);
    meter.reset();
    assert_eq!(meter.units_in(2_000_000), Some(2_000));
}

/// An object every 100 us on a device with ten times the rate.
#[test]
fn idle_device_has_only_a_minimum_rate() {
    let mut meter = RateMeter::new();
    let sample = |meter: &mut RateMeter, at: u64, left| {
        meter.record(RateSample {
            now_ns: at * 100_000,
            units: 1_000,
            in_flight: left,
            object: 1_000,
        });
    };
    assert_eq!(meter.min_units_per_s(), 0);
    for at in 0..200 {
        sample(&mut meter, at, 0);
    }
    assert_eq!(meter.units_per_s(), 0);
    // One object of each sample might have started before it.
    let least = meter.min_units_per_s();
    assert!((9_000_000..=10_000_000).contains(&least), "{least}");
    meter.reset();
    assert_eq!(meter.min_units_per_s(), least);
    // It is busy, and slower than before: the new rate counts.
    for at in 200..400 {
        sample(&mut meter, at * 10, 5_000);
    }
    assert_eq!(meter.units_per_s(), 1_000_000);
    assert_eq!(meter.min_units_per_s(), 1_000_000);
}

/// An operator reads all settings and changes one: the rule must not take the cap for its own
/// limit.
#[test]
fn setting_through_a_cap_keeps_the_rule() {
    for text in ["off:2ms", "1m:2ms", "dql:2ms", "taut:2ms"] {
        let mut limit: AnyLimit = text.parse().expect("a rule");
        let mut batches = 0_u32;
        let mut sample = |limit: &mut AnyLimit, rate_per_s| {
            batches += 1;
            let now_ns = u64::from(batches) * 100_000;
            limit.completed(&CompletionBatch {
                now_ns,
                units: 100_000,
                in_flight: 1_000_000,
                last_object: 1_000,
                more_pending: false,
                ring_units: u32::MAX,
                sender_returned_ns: Some(now_ns - 100_000),
                times_blocked: batches,
                rate_per_s,
            })
        };
        for _ in 0..10 {
            sample(&mut limit, 1_000_000);
        }
        let capped = limit.limit();
        assert!(capped <= 2_000, "{text}: {capped}");
        let config = Config {
            hold_time_ns: 5_000_000,
            ..limit.config()
        };
        let mut untouched = limit.clone();
        limit.set_config(config).expect("a hold time");
        assert_eq!(limit.limit(), capped, "{text}");
        // The link became a thousand times faster.
        for _ in 0..10 {
            let (set, plain) = (
                sample(&mut limit, 1_000_000_000),
                sample(&mut untouched, 1_000_000_000),
            );
            assert_eq!(set, plain, "{text}");
        }
    }
}

#[test]
fn cap_respects_its_floor() {
    let capped = |rule: u32| {
        let mut limit = TimeCapped::new(AnyLimit::bytes(rule), 1_000_000).with_floor(12_000);
        for now_ns in 1..10 {
            limit.completed(&CompletionBatch {
                now_ns: now_ns * 1_000_000,
                units: 1_000,
                in_flight: 2_000,
                last_object: 100,
                more_pending: false,
                ring_units: u32::MAX,
                sender_returned_ns: None,
                times_blocked: 0,
                rate_per_s: 1_000_000,
            });
        }
        limit.limit()
    };
    assert_eq!(capped(100_000), 12_000, "a thousand in the time");
    assert_eq!(capped(5_000), 5_000, "it only lowers");
}

#[test]
fn reset_lifts_the_cap_without_a_rate() {
    let mut limit: AnyLimit = "40k:2ms".parse().expect("a rule");
    let sample = |rate_per_s| CompletionBatch {
        now_ns: 1_000_000,
        units: 1_000,
        in_flight: 2_000,
        last_object: 1_000,
        more_pending: false,
        ring_units: u32::MAX,
        sender_returned_ns: None,
        times_blocked: 0,
        rate_per_s,
    };
    assert_eq!(limit.completed(&sample(1_000_000)), 2_000);
    limit.reset(2_000_000);
    assert_eq!(limit.limit(), 40 << 10);
    assert_eq!(limit.completed(&sample(0)), 40 << 10, "not known");
    assert_eq!(limit.completed(&sample(1_000_000)), 2_000);
}

#[test]
fn cap_is_parsed_after_any_rule() {
    for text in [
        "dql:2ms",
        "taut:99.5%:500us",
        "taut:1s",
        "off:10ms",
        "40k:1ms",
        "32p:250us",
    ] {
        let limit: AnyLimit = text.parse().expect(text);
        assert_eq!(limit.to_string(), text);
        assert_eq!(limit.clone(), limit);
    }
    for text in ["dql:0ms", "dql:11s", "off:999ns"] {
        assert_eq!(
            text.parse::<AnyLimit>(),
            Err(ParseLimitError::CapOutOfRange)
        );
    }
    for text in [
        "dql:2",
        "dql:ms",
        "nothing:2ms",
        ":2ms",
        "dql:2ms:",
        "off:2%",
        // One cap is enough; the lower of two would apply.
        "dql:2ms:1ms",
    ] {
        assert!(text.parse::<AnyLimit>().is_err(), "{text}");
    }
}

proptest! {
    // A tenth of a million packets each.
    #![proptest_config(ProptestConfig::with_cases(16))]
    /// For any link, poll interval and cap: a saturated queue holds what the link sends in the
    /// time, or the limit of the rule if that is lower, and never more for long.
    #[test]
    fn bytes_in_flight_stay_within_the_cap(
        bytes_per_s in 1_000_000_u64..300_000_000,
        interval_us in 50_u64..3_000,
        cap_us in 200_u64..20_000,
    ) {
        let mut sender = Saturated::new(&format!("off:{cap_us}us"), bytes_per_s);
        sender.send(400_000_000, interval_us * 1_000);
        let wanted = (bytes_per_s as u128 * u128::from(cap_us) / 1_000_000) as u64;
        let ring = 4_096 * u64::from(FRAME_BYTES);
        prop_assume!(wanted + bytes_per_s * interval_us / 1_000_000 < ring / 2);
        // A probe lifts the limit.
        prop_assume!(sender.limit() < 1 << 30);
        let found = u64::from(sender.limit());
        prop_assert!(found <= wanted * 5 / 4 + u64::from(FRAME_BYTES), "{found} of {wanted}");
        if cap_us > 2 * interval_us {
            prop_assert!(found >= wanted * 3 / 4, "{found} of {wanted}");
        }
    }
}
