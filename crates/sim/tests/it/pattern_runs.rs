//! Trace runs whose results follow from closed forms.

use taut_path::limit::{Dynamic, Fixed, Limit, LossBudget};
use taut_sim::completion_trace::{
    Burst, CompletionTrace, Detail, GRID_BYTES, Interval, Intervals, LOSS_STEP_NS, SplitMix,
    TraceReport, observe, smallest_sufficient_limit,
};

const SIZE: u32 = 1_514;
const PACKET_NS: u64 = 12_112;
const S: u64 = 1_000_000_000;

/// Returns a saturating sender at 125 bytes/us, with interrupts given in ns.
fn pattern(end_ns: u64, mut gap_ns: impl FnMut(u64) -> u64, delay_ns: u64) -> CompletionTrace {
    let mut intervals = Intervals::default();
    while intervals.total_ns() < end_ns {
        intervals.push(Interval {
            gap_ns: gap_ns(intervals.count()),
            delay_ns,
        });
    }
    CompletionTrace {
        id: "test".to_owned(),
        rates: vec![(0, 125_000_000)],
        sizes: vec![SIZE],
        budget: 0,
        poll_ns: 3_000,
        bursts: Vec::new(),
        warm_ns: end_ns / 2,
        end_ns,
        utilisation: 0.999,
        changes_ns: Vec::new(),
        queues: vec![intervals],
    }
}

fn periodic(gap_ns: u64, delay_ns: u64) -> CompletionTrace {
    pattern(2 * S, |_| gap_ns, delay_ns)
}

fn run(pattern: &CompletionTrace, limit: impl Limit + Clone) -> TraceReport {
    let seen = observe(pattern, limit, Detail::FULL).expect("runs");
    let ended = seen.freed_packets + seen.in_ring_packets;
    assert_eq!(seen.sent_packets, ended, "every packet is somewhere");
    assert!((0.0..=1.0).contains(&seen.utilisation));
    assert!(seen.mean_bytes <= seen.in_flight_mean_bytes);
    seen
}

fn near(found: f64, expected: f64, part: f64) {
    let off = (found - expected).abs();
    assert!(off <= part * expected, "{found}, expected {expected}");
}

#[test]
fn low_limit_bounds_bytes_per_interval() {
    let pattern = periodic(100_000, 0);
    for packets in [1, 3, 8] {
        // A limit of n - 1 whole packets admits n packets.
        let seen = run(&pattern, Fixed::bytes((packets - 1) * SIZE));
        let busy_ns = u64::from(packets) * PACKET_NS;
        near(seen.utilisation, busy_ns as f64 / 1e5, 1e-6);
        near(seen.dry_ns as f64, (1e5 - busy_ns as f64) * 1e4, 1e-4);
        // They leave one by one, and each counts completely until it has left.
        let together = f64::from(packets * (packets + 1) / 2 * SIZE) * PACKET_NS as f64;
        near(seen.mean_bytes, together / 1e5, 1e-4);
        near(seen.in_flight_mean_bytes, f64::from(packets * SIZE), 1e-4);
        assert_eq!(seen.limit_bytes, u64::from((packets - 1) * SIZE));
    }
}

#[test]
fn urgent_packet_waits_for_ring_or_interrupt() {
    // Never dry: 20 packets, some of which leave until the next interrupt.
    let seen = run(&periodic(100_000, 0), Fixed::bytes(19 * SIZE));
    let full_ns = 20 * PACKET_NS;
    assert!(seen.urgent_delay_p99_ns < full_ns);
    let middle_ns = full_ns - 50_000 - PACKET_NS / 2;
    near(seen.urgent_delay_p50_ns as f64, middle_ns as f64, 0.02);
    // Dry after one packet: a later arrival waits for the interrupt, half of the interval on
    // average.
    let seen = run(&periodic(1_000_000, 0), Fixed::bytes(0));
    near(seen.urgent_delay_p50_ns as f64, 500_000.0, 0.02);
}

#[test]
fn urgent_packets_use_all_queues_in_turn() {
    // One queue with interrupts each 100 us, and one each 10 ms. In the latter, packets without
    // room wait for half of that.
    let mut both = periodic(100_000, 0);
    both.queues.extend(periodic(10_000_000, 0).queues);
    let seen = run(&both, Fixed::bytes(0));
    near(seen.urgent_delay_p99_ns as f64, 9_800_000.0, 0.02);
    both.queues.reverse();
    let seen = run(&both, Fixed::bytes(0));
    near(seen.urgent_delay_p99_ns as f64, 9_800_000.0, 0.02);
    assert!(seen.urgent_delay_p50_ns < 1_000_000);
}

#[test]
fn optimum_is_the_smallest_sufficient_limit() {
    let mut state = 0_u64;
    let jitter = move |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        60_000 + (state >> 40) % 80_000
    };
    let mut mixed = pattern(2 * S, jitter, 0);
    for sizes in [vec![SIZE], vec![66], vec![66, SIZE, 9_000]] {
        mixed.sizes = sizes;
        let found = smallest_sufficient_limit(&mixed)
            .expect("runs")
            .expect("there is one");
        assert_eq!(found % GRID_BYTES, 0);
        assert!(run(&mixed, Fixed::bytes(found)).utilisation >= mixed.utilisation);
        assert!(run(&mixed, Fixed::bytes(found - GRID_BYTES)).utilisation < mixed.utilisation);
    }
}

#[test]
fn late_sender_requires_bytes_of_its_delay() {
    for delay_ns in [0, 70_000, 250_000] {
        let late = periodic(100_000, delay_ns);
        let found = smallest_sufficient_limit(&late)
            .expect("runs")
            .expect("there is one");
        // The sender returns after its delay, is blocked at the next interrupt that finds it
        // blocked, and is late again. The bytes that leave in the meantime are whole packets.
        let smallest = 125 * (delay_ns + 100_000) / 1_000;
        let max = smallest + 125 * 100 + 2 * u64::from(SIZE);
        let allowed = smallest - u64::from(SIZE)..=max;
        assert!(
            allowed.contains(&found.into()),
            "{delay_ns}: {found}, {allowed:?}"
        );
    }
}

#[test]
fn dql_converges_to_its_law() {
    for gap_ns in [50_000, 100_000, 500_000] {
        let seen = run(&pattern(4 * S, |_| gap_ns, 0), Dynamic::default());
        let twice = 2 * 125 * gap_ns / 1_000;
        let law = twice - 2 * u64::from(SIZE)..=twice + 2 * u64::from(SIZE);
        assert!(
            law.contains(&seen.limit_bytes),
            "{gap_ns}: {} {law:?}",
            seen.limit_bytes
        );
        assert_eq!(seen.dry_ns, 0);
    }
}

/// For Linux's rule, each batch of a reap is an interval, in which at most the budget completes.
/// Its slack is at least the limit minus twice the budget. It shrinks above that, even if the wire
/// needs more. Rules that merge the batches are unaffected.
#[test]
fn batches_keep_dql_at_twice_the_budget() {
    for budget in [4, 16, 32] {
        let mut trace = pattern(4 * S, |_| 1_000_000, 0);
        trace.budget = budget;
        trace.poll_ns = 10_000;
        let dql = run(&trace, Dynamic::default());
        assert_eq!(dql.limit_bytes, u64::from(2 * budget * SIZE));
        // Packets that were admitted, and those that later batches admit for packets that left
        // during the first.
        let packets_ns = u64::from(2 * budget + 1) * PACKET_NS;
        let smallest = packets_ns as f64 / 1e6;
        assert!(
            (smallest - 0.01..smallest + 0.25).contains(&dql.utilisation),
            "{}",
            dql.utilisation
        );
        assert!(dql.utilisation < 0.9);
        assert!(run(&trace, LossBudget::default()).utilisation >= 0.999);
    }
}

#[test]
fn the_wire_sends_what_its_rates_allow() {
    let mut steps = periodic(100_000, 0);
    steps.warm_ns = 0;
    steps.rates = vec![
        (0, 125_000_000),
        (S / 2, 12_500_000),
        (S + 7_777, 250_000_000),
    ];
    let seen = run(&steps, Fixed::bytes(100_000));
    assert_eq!(seen.dry_ns, 0);
    let sent_bytes = (seen.sent_packets * u64::from(SIZE)) as f64 - seen.mean_bytes;
    near(sent_bytes, 62.5e6 + 6.25e6 + 250e6, 1e-3);
}

#[test]
fn only_blocked_bursts_count_as_losses() {
    let mut bursts = periodic(100_000, 0);
    bursts.bursts = vec![Burst {
        period_ns: 10_000_000,
        objects: 100,
    }];
    let all = run(&bursts, Fixed::off());
    assert_eq!((all.dry_ns, all.utilisation), (0, 1.0));
    near(all.sent_packets as f64, 20_000.0, 1e-9);
    let held = run(&bursts, Fixed::bytes(0));
    // One packet per 100 us while any are queued; nothing is lost after the last.
    near(held.utilisation, PACKET_NS as f64 / 1e5, 0.02);
    assert_eq!(held.sent_packets, all.sent_packets);
}

#[test]
fn queues_share_the_wire_round_robin() {
    let mut four = periodic(100_000, 0);
    four.queues = vec![four.queues[0].clone(); 4];
    // Together they have the requirement of one queue, and one packet more each.
    let seen = run(&four, Fixed::bytes(3 * SIZE));
    assert_eq!(seen.dry_ns, 0);
    assert_eq!(seen.limit_bytes, u64::from(4 * 3 * SIZE));
    near(seen.in_flight_mean_bytes, f64::from(16 * SIZE), 1e-3);
    assert!(run(&four, Fixed::bytes(SIZE)).utilisation < 0.98);
}

#[test]
fn empty_trace_is_rejected() {
    let none = |change: fn(&mut CompletionTrace)| {
        let mut empty = periodic(100_000, 0);
        change(&mut empty);
        let error = observe(&empty, Fixed::off(), Detail::OFF).expect_err("empty");
        error.to_string()
    };
    assert!(none(|it| it.rates.clear()).contains("no rate"));
    assert!(none(|it| it.sizes.clear()).contains("no size or queue"));
    assert!(none(|it| it.queues.clear()).contains("no size or queue"));
}

/// Returns interrupts at these times, each with the return delay of the sender.
fn at_times(times: &[(u64, u64)]) -> Intervals {
    let (mut intervals, mut before_ns) = (Intervals::default(), 0);
    for &(at_ns, delay_ns) in times {
        let gap_ns = at_ns - before_ns;
        intervals.push(Interval { gap_ns, delay_ns });
        before_ns = at_ns;
    }
    intervals
}

/// Returns `objects` at time 0 and each `period_ns` until `end_ns`, measured completely.
fn bursts(queues: Vec<Intervals>, objects: u64, period_ns: u64, end_ns: u64) -> CompletionTrace {
    CompletionTrace {
        bursts: vec![Burst { period_ns, objects }],
        warm_ns: 0,
        end_ns,
        queues,
        ..periodic(100_000, 0)
    }
}

#[test]
fn dry_time_counts_while_any_queue_waits() {
    let queues = vec![
        at_times(&[(500_000, 0), (S, 0)]),
        at_times(&[(100_000, 0), (S, 0)]),
    ];
    // Each sends two of three. The second continues at 100 us, the first at 500 us.
    let seen = run(&bursts(queues, 3, S, 512_000), Fixed::bytes(SIZE));
    let until_second_ns = 100_000 - 4 * PACKET_NS;
    let until_first_ns = 400_000 - PACKET_NS;
    assert_eq!(seen.dry_ns, until_second_ns + until_first_ns);
}

#[test]
fn burst_does_not_speed_up_a_returning_sender() {
    let queue = at_times(&[(100_000, 50_000), (S, 0)]);
    let seen = run(
        &bursts(vec![queue], 3, 120_000, 160_000),
        Fixed::bytes(SIZE),
    );
    assert_eq!(seen.dry_ns, 150_000 - 2 * PACKET_NS);
}

#[test]
fn coalescer_timer_does_not_reap() {
    // Four packets of 1 ms each in flight. The first is reported at once, the second by the timer
    // at 3.3 ms. The third is finished by then, but the timer does not reap.
    let mut pattern = pattern(4_000_000, |_| S, 0);
    pattern.sizes = vec![1_000];
    pattern.rates = vec![(0, 1_000_000)];
    pattern.queues = vec![at_times(&[(1_500_000, 0), (2_200_000, 0), (S, 0)])];
    pattern.warm_ns = 0;
    pattern.end_ns = 3_900_000;
    let detail = Detail {
        coalesce_ns: 1_800_000,
        ..Detail::FULL
    };
    let seen = observe(&pattern, Fixed::bytes(3_000), detail).expect("runs");
    assert_eq!(seen.sent_packets, 6, "the timer gave the room of one");
    assert_eq!(seen.freed_packets, 2);
}

#[test]
fn packet_on_the_wire_counts_in_the_ring() {
    let mut pattern = periodic(100_000, 0);
    // A packet takes 15 s.
    pattern.rates = vec![(0, 100)];
    let seen = run(&pattern, Fixed::bytes(1));
    near(seen.mean_bytes, SIZE.into(), 1e-9);
    near(seen.in_flight_mean_bytes, SIZE.into(), 1e-9);
}

#[test]
fn losses_are_recorded_in_steps() {
    // In each 100 us the wire sends one packet and is dry for the remainder.
    let mut pattern = periodic(100_000, 0);
    pattern.warm_ns = 0;
    let seen = run(&pattern, Fixed::bytes(1));
    let whole_steps = (2 * S / LOSS_STEP_NS) as usize;
    for (step, &(dry_ns, _)) in seen.losses[..whole_steps].iter().enumerate() {
        let trace = (step as u64 + 1) * LOSS_STEP_NS / 100_000;
        let off_ns = dry_ns.abs_diff(trace * (100_000 - PACKET_NS));
        assert!(off_ns <= 100_000, "step {step}: {dry_ns} ns");
    }
}

#[test]
fn optimum_may_spend_its_loss_budget_at_once() {
    // One gap of 850 us at the start of the measured second, of which a limit for 100 us loses 750.
    // The target allows 1,000.
    let gap_ns = |count: u64| if count == 10_000 { 850_000 } else { 100_000 };
    let mut two = pattern(2 * S, gap_ns, 0);
    two.queues = vec![two.queues[0].clone(); 2];
    let mut steady = periodic(100_000, 0);
    steady.queues = vec![steady.queues[0].clone(); 2];
    let smallest = |pattern| {
        smallest_sufficient_limit(pattern)
            .expect("runs")
            .expect("one is enough")
    };
    assert_eq!(smallest(&two), smallest(&steady));
}

/// Closed forms, each to within five of its standard errors.
#[test]
fn random_numbers_have_the_moments_of_their_distributions() {
    let mut random = SplitMix::new(7);
    let count = 400_000;
    let mut mean = |draw: &mut dyn FnMut(&mut SplitMix) -> f64| {
        let sum: f64 = (0..count).map(|_| draw(&mut random)).sum();
        sum / f64::from(count)
    };
    let mut check = |expected: f64, variance: f64, draw: &mut dyn FnMut(&mut SplitMix) -> f64| {
        let found = mean(draw);
        let error = (variance / f64::from(count)).sqrt();
        assert!(
            (found - expected).abs() < 5.0 * error,
            "{found}, not {expected}"
        );
    };
    check(0.0, 1.0, &mut |it| it.normal());
    check(1.0, 2.0, &mut |it| it.normal().powi(2));
    check(3.0, 96.0, &mut |it| it.normal().powi(4));
    check(10.0, 100.0, &mut |it| it.exponential(10.0));
    // Gamma(1 + 1/shape), and its variance.
    check(2.0, 20.0, &mut |it| it.weibull(0.5, 1.0));
    check(3.0 * 0.886_227, 9.0 * 0.214_602, &mut |it| {
        it.weibull(2.0, 3.0)
    });
    check(0.25, 0.1875, &mut |it| {
        f64::from(u8::from(it.happens(0.25)))
    });
}

/// Values of an implementation in another language.
#[test]
fn random_numbers_are_the_same_on_any_machine() {
    let mut random = SplitMix::new(1);
    let found = [(); 4].map(|()| random.normal());
    let expected = [
        -0.012_118_634_813_324_461,
        -1.662_815_480_317_395_1,
        0.126_256_147_610_958_35,
        0.604_469_746_113_770_6,
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }
}
