//! Settings that would not end or would overflow are rejected; the extreme allowed ones run.

use taut_dql::MAX_OBJECT;
use taut_path::AnyLimit;
use taut_path::limit::Fixed;
use taut_sim::completion_trace::{
    self, Burst, CompletionTrace, Detail, Interval, Intervals, smallest_sufficient_limit,
};
use taut_sim::consumer::{self, ConsumerConfig, FixedLimits, Notify};
use taut_sim::error::TestbedError;
use taut_sim::multi_queue_bench::{self, MultiQueueConfig, SharedBudget};
use taut_sim::nic::NicConfig;
use taut_sim::replay::{Arrival, Batch, Traffic, replay};
use taut_sim::single_queue_bench::{self, Cost, Rule, SingleQueueConfig, TrafficSource};

/// Returns `true` if the settings are rejected because of `what`.
fn rejects<T>(result: Result<T, TestbedError>, what: &str) -> bool {
    let text = result.err().map(|error| error.to_string());
    text.is_some_and(|text| {
        text.starts_with(what) && text.contains(" is ") && text.contains("; allowed: ")
    })
}

/// A byte takes 1 ns.
fn nic() -> NicConfig {
    NicConfig::plain(8_000_000_000, 64)
}

fn device() -> MultiQueueConfig {
    MultiQueueConfig {
        nic: nic(),
        queues: 2,
        object_bytes: 1_000,
        backlog_packets: 10,
        alone_ns: 10_000,
        pause_ns: 10_000,
        together_ns: 10_000,
    }
}

#[test]
fn endless_multi_queue_bench_is_rejected() {
    let run = |config: &MultiQueueConfig| multi_queue_bench::observe(config, SharedBudget::None);
    for backlog_packets in [0, 1_000_001, u32::MAX] {
        let config = MultiQueueConfig {
            backlog_packets,
            ..device()
        };
        assert!(rejects(run(&config), "backlog_packets"));
    }
    let large = MultiQueueConfig {
        object_bytes: MAX_OBJECT + 1,
        ..device()
    };
    assert!(rejects(run(&large), "object_bytes"));
    let none = MultiQueueConfig {
        queues: 0,
        ..device()
    };
    assert!(matches!(run(&none), Err(TestbedError::Missing(_))));
    for at in 0..3 {
        let mut long = device();
        let times = [
            &mut long.alone_ns,
            &mut long.pause_ns,
            &mut long.together_ns,
        ];
        *times.into_iter().nth(at).expect("three times") = u64::MAX;
        assert!(rejects(run(&long), "the sum of alone_ns"), "{at}");
    }
}

#[test]
fn multi_queue_bench_with_largest_objects_ends() {
    let config = MultiQueueConfig {
        object_bytes: MAX_OBJECT,
        ..device()
    };
    let budget = SharedBudget::Rule {
        limit: AnyLimit::off(),
        interval_ns: 0,
    };
    for shared in [SharedBudget::None, budget] {
        assert!(multi_queue_bench::observe(&config, shared).is_ok());
    }
}

fn bench() -> SingleQueueConfig {
    SingleQueueConfig {
        end_ns: 100_000,
        ..SingleQueueConfig::saturated(nic(), 1_000)
    }
}

#[test]
fn endless_single_queue_bench_is_rejected() {
    let run = |config: &SingleQueueConfig| single_queue_bench::observe(config, &Rule::off());
    let mut config = bench();
    config.object_bytes.push(MAX_OBJECT + 1);
    assert!(rejects(run(&config), "object_bytes"));
    config.object_bytes = vec![MAX_OBJECT];
    assert!(run(&config).is_ok());
    let mut config = bench();
    config.rate_changes = vec![(50_000, 1_000_000_000), (40_000, 8_000_000_000)];
    assert!(rejects(run(&config), "at_ns of rate_changes"));
}

#[test]
fn single_queue_bench_with_a_full_discipline_ends() {
    // Packets in the ring are not in the backlog.
    for (backlog_packets, waiting) in [(0, 0), (u32::MAX, 1_000_000 - 64)] {
        let config = SingleQueueConfig {
            backlog_packets,
            end_ns: 0,
            ..bench()
        };
        let seen = single_queue_bench::observe(&config, &Rule::off()).expect("it ends");
        assert_eq!((seen.ledger.waiting, seen.drops), (waiting, 0));
    }
}

#[test]
fn overloaded_core_does_not_overflow() {
    let config = SingleQueueConfig {
        source: TrafficSource::Bursts {
            packets: 3,
            every_ns: 10_000,
            jitter_ns: 0,
        },
        cost: Cost {
            interrupt_ns: u64::MAX,
            packet_ns: 1,
            wakeup_ns: 0,
        },
        ..bench()
    };
    assert!(single_queue_bench::observe(&config, &Rule::off()).is_ok());
}

fn pattern() -> CompletionTrace {
    let mut intervals = Intervals::default();
    (0..20).for_each(|_| {
        intervals.push(Interval {
            gap_ns: 5_000,
            delay_ns: 0,
        });
    });
    CompletionTrace {
        id: "test".to_owned(),
        rates: vec![(0, 1_000_000_000)],
        sizes: vec![1_000],
        budget: 0,
        poll_ns: 0,
        bursts: Vec::new(),
        warm_ns: 0,
        end_ns: 100_000,
        utilisation: 0.999,
        changes_ns: Vec::new(),
        queues: vec![intervals],
    }
}

fn run(pattern: &CompletionTrace) -> Result<completion_trace::TraceReport, TestbedError> {
    completion_trace::observe(pattern, Fixed::bytes(3_000), Detail::FULL)
}

#[test]
fn endless_trace_is_rejected() {
    let mut endless = pattern();
    endless.bursts.push(Burst {
        period_ns: 0,
        objects: 1,
    });
    assert!(rejects(run(&endless), "period_ns"));
    let mut large = pattern();
    large.sizes.push(MAX_OBJECT + 1);
    assert!(rejects(run(&large), "sizes"));
    let error = run(&large).map(drop).expect_err("too large").to_string();
    assert_eq!(error, "sizes is 268435456; allowed: 0 to 268435455");
    assert!(rejects(smallest_sufficient_limit(&large), "sizes"));
    let mut back = pattern();
    back.rates.extend([(9_000, 1), (8_000, 1)]);
    assert!(rejects(run(&back), "at_ns of rates"));
    assert!(rejects(smallest_sufficient_limit(&back), "at_ns of rates"));
    back.rates = vec![(1, 1)];
    assert!(rejects(run(&back), "the first at_ns of rates"));
}

#[test]
fn time_series_limits_traces_to_a_day() {
    let mut long = pattern();
    long.end_ns = 86_400_000_000_001;
    assert!(rejects(run(&long), "end_ns"));
    let blind = Detail {
        time_series: false,
        ..Detail::FULL
    };
    let run =
        |pattern: &CompletionTrace| completion_trace::observe(pattern, Fixed::bytes(3_000), blind);
    long.end_ns = u64::MAX;
    assert!(rejects(run(&long), "end_ns"));
    (long.warm_ns, long.end_ns) = (u64::MAX, u64::MAX - 1);
    assert!(run(&long).is_ok());
    (long.warm_ns, long.utilisation) = (0, f64::NEG_INFINITY);
    assert!(smallest_sufficient_limit(&long).is_ok());
}

fn polled() -> ConsumerConfig {
    ConsumerConfig {
        shared_core: true,
        consumer_ns: 1_000,
        sender_ns: 1_000,
        switch_ns: 500,
        wake_ns: 300,
        ring: 4,
        poll: 2,
        notify: Notify::Packet,
        units: 1,
        ping_ns: 0,
        seed: 1,
        warm_ns: 0,
        end_ns: 100_000,
    }
}

#[test]
fn endless_consumer_is_rejected() {
    let rejected = |what: &str, change: &dyn Fn(&mut ConsumerConfig)| {
        let mut config = polled();
        change(&mut config);
        let run = consumer::observe(&config, AnyLimit::bytes(2));
        assert!(rejects(run, what), "{what}");
        assert!(rejects(FixedLimits::new(&config), what), "{what}");
    };
    rejected("consumer_ns", &|it| it.consumer_ns = 0);
    rejected("sender_ns", &|it| it.sender_ns = 0);
    rejected("switch_ns", &|it| it.switch_ns = u64::MAX);
    rejected("wake_ns", &|it| it.wake_ns = u64::MAX);
    rejected("notify", &|it| it.notify = Notify::After(u64::MAX));
    rejected("ring", &|it| it.ring = 0);
    rejected("poll", &|it| it.poll = 0);
    rejected("units", &|it| it.units = MAX_OBJECT + 1);
    rejected("end_ns", &|it| it.end_ns = u64::MAX);
}

#[test]
fn consumer_with_the_longest_costs_ends() {
    let hour_ns = 3_600_000_000_000;
    for shared_core in [true, false] {
        let config = ConsumerConfig {
            shared_core,
            consumer_ns: hour_ns,
            sender_ns: hour_ns,
            switch_ns: hour_ns,
            wake_ns: hour_ns,
            ring: 2,
            notify: Notify::After(hour_ns),
            end_ns: u64::MAX / 2,
            ..polled()
        };
        assert!(consumer::observe(&config, AnyLimit::bytes(2)).is_ok());
        assert!(FixedLimits::new(&config).is_ok());
    }
}

#[test]
fn invalid_traffic_is_rejected_instead_of_dropped() {
    let arrival = |at_ns, bytes| Arrival { at_ns, bytes };
    let batch = |at_ns| Batch {
        at_ns,
        finished_ns: 0,
    };
    let run = |arrivals: Vec<Arrival>, batches: Vec<Batch>| {
        let traffic = Traffic {
            arrivals,
            batches,
            ..Traffic::default()
        };
        replay(&traffic, &Rule::off(), 8_000_000_000, 64)
    };
    assert!(rejects(
        run(vec![arrival(9, 1), arrival(8, 1)], Vec::new()),
        "at_ns of arrivals"
    ));
    assert!(rejects(
        run(Vec::new(), vec![batch(9), batch(8)]),
        "at_ns of batches"
    ));
    assert!(rejects(
        run(vec![arrival(0, MAX_OBJECT + 1)], Vec::new()),
        "bytes of an arrival"
    ));
    assert!(run(vec![arrival(0, MAX_OBJECT)], Vec::new()).is_ok());
    let many = vec![arrival(0, 1); 1_000_070];
    assert!(rejects(run(many, Vec::new()), "dropped_packets"));
}
