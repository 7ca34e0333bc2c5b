//! E1 in virtual time: one interrupt interval for the card reproduces the published bytes, and one
//! constant for the hosts reproduces the published rates.

use taut_path::units::{Rate, Time};
use taut_path::{AnyLimit, LateSegmentation};
use taut_scenarios::rr_under_load::{Case, Row, Settings};
use taut_scenarios::schema::Schema;

const DURATION_NS: u64 = 2_000_000_000;

fn e1() -> Settings {
    Settings {
        duration: Time(DURATION_NS),
        ..Settings::defaults()
    }
}

/// The published rows are those of whole GSO packets.
const fn case(limit: AnyLimit, tso: bool) -> Case {
    let late_segmentation = LateSegmentation::Off;
    Case {
        limit,
        tso,
        late_segmentation,
    }
}

fn run(limit: AnyLimit, tso: bool) -> Row {
    let outcome = e1().measure(&case(limit, tso), 1);
    outcome.expect("E1 can be run")
}

fn tps(outcome: &Row) -> f64 {
    outcome.latency_ns.len() as f64 * 1e9 / DURATION_NS as f64
}

/// 1448 of the 1538 bytes of link time of a full segment are payload, minus the requests' share.
fn assert_wire_is_full(outcome: &Row) {
    let share = outcome.goodput_bps as f64 / 1e9;
    assert!(
        (0.99 * 1448.0 / 1538.0..1448.0 / 1538.0 + 1e-4).contains(&share),
        "{share}"
    );
}

#[test]
fn full_ring_holds_the_published_bytes() {
    let plain = run(AnyLimit::off(), false);
    assert!((453_000.0 * 0.9..454_000.0 * 1.1).contains(&(plain.inflight_bytes.p90 as f64)));
    assert_wire_is_full(&plain);
    let tso = run(AnyLimit::off(), true);
    assert!(
        (3e6 * 0.9..3.2e6 * 1.1).contains(&(tso.inflight_bytes.p90 as f64)),
        "{tso:?}"
    );
    assert_wire_is_full(&tso);
}

#[test]
fn limited_ring_holds_the_published_bytes() {
    let plain = run(AnyLimit::dql(), false);
    assert!(
        (66e3 * 0.9..66e3 * 1.1).contains(&(plain.inflight_bytes.p90 as f64)),
        "{plain:?}"
    );
    // The law: 2RT to 2RT + 2 packets, R in counted bytes: 1514 of each 1538.
    let two_intervals = 2.0 * 250e-6 * 125e6 * 1514.0 / 1538.0;
    let law = two_intervals - 1514.0..two_intervals + 2.0 * 1514.0;
    let limit_bytes = plain.limit_bytes_p50.expect("a limit in bytes") as f64;
    assert!(law.contains(&limit_bytes), "{limit_bytes} not in {law:?}");
    assert_wire_is_full(&plain);
    let tso = run(AnyLimit::dql(), true);
    assert!(
        (156e3 * 0.9..194e3 * 1.1).contains(&(tso.inflight_bytes.p90 as f64)),
        "{tso:?}"
    );
    assert_wire_is_full(&tso);
}

#[test]
fn one_host_constant_gives_all_published_rates() {
    // 1 / (bytes in the ring / 125e6 + 0.55 ms) is within 10 % of all four results. The model adds
    // the effect of discipline, wire and interrupts on a request, and has a larger tolerance.
    let published = [
        (false, true, 36.0),
        (true, true, 535.0),
        (false, false, 234.0),
        (true, false, 914.0),
    ];
    for (bql, tso, expected) in published {
        let limit = if bql {
            AnyLimit::dql()
        } else {
            AnyLimit::off()
        };
        let found = tps(&run(limit, tso));
        let off = found / expected;
        assert!(
            (0.75..1.25).contains(&off),
            "bql {bql}, tso {tso}: {found}, published {expected}"
        );
    }
}

#[test]
fn transaction_takes_at_least_the_ring_time() {
    let outcome = run(AnyLimit::off(), false);
    // A request enters an almost full ring, most of which is sent before it.
    let ring_ns = outcome.inflight_bytes.p10 as f64 * 8.0;
    assert!(outcome.latency_ns.value_at_quantile(0.1) as f64 > 0.9 * ring_ns);
}

#[test]
fn same_seed_gives_the_same_results() {
    let figures = |outcome: Row| {
        (
            outcome.inflight_bytes,
            outcome.limit_bytes_p50,
            outcome.latency_ns.len(),
            outcome.drops,
        )
    };
    let once = figures(run(AnyLimit::dql(), true));
    assert_eq!(once, figures(run(AnyLimit::dql(), true)));
}

#[test]
fn invalid_settings_are_rejected() {
    let rejected = |change: &dyn Fn(&mut Settings)| {
        let mut settings = e1();
        change(&mut settings);
        let case = case(AnyLimit::dql(), false);
        let error = settings.measure(&case, 1).map(drop).expect_err("cannot be");
        error.to_string()
    };
    assert!(rejected(&|e| e.ring = 0).contains("ring has 0 descriptors"));
    assert!(rejected(&|e| e.rate = Rate(0)).contains("rate_bits_per_s is 0"));
    assert!(rejected(&|e| e.qdisc = "nothing".to_owned()).contains("discipline"));
}

#[test]
fn marking_discipline_is_short_without_losses() {
    let run = |qdisc: &str| {
        let few = Settings {
            streams: 4,
            qdisc: qdisc.to_owned(),
            ..e1()
        };
        let case = case(AnyLimit::dql(), false);
        few.measure(&case, 1).expect("it can be run")
    };
    let (full, dropping, marking) = (run("pfifo_fast"), run("fq_codel noecn"), run("fq_codel"));
    for (outcome, marks) in [(&full, false), (&dropping, false), (&marking, true)] {
        assert_eq!(outcome.marks > 0, marks, "{outcome:?}");
        assert_eq!(outcome.drops > 0, !marks, "{outcome:?}");
        // Only dropped packets are lost, and these are sent again.
        assert_eq!(outcome.retransmits > 0, !marks, "{outcome:?}");
    }
    // A band without a target fills up; with one, the backlog is some ms of packets.
    assert_eq!(full.backlog_packets.max, 1_000 + 1, "and one request");
    for outcome in [&dropping, &marking] {
        assert!(outcome.backlog_packets.p50 < full.backlog_packets.p50);
    }
}
