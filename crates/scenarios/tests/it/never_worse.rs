//! E11: cases in which a limit costs throughput, and cases in which it must not.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngSeed};
use serde_json::Value;
use taut_scenarios::sweep;

use crate::support::{number, show};

/// Returns `true` if a limit can cost throughput: the rule has not seen the long gap yet, or
/// budgeted polls hide that the wire ran dry.
fn can_cost(traffic: &str) -> bool {
    traffic.contains("rare_gap") || traffic.contains("reap")
}

/// Generates a queue with rate, ring, interval, sizes and traffic.
fn drawn_queue() -> impl Strategy<Value = String> {
    let link = (
        select(vec![
            10_u64, 100, 250, 1_000, 2_500, 10_000, 40_000, 100_000,
        ]),
        select(vec![64, 128, 256, 512, 1_024, 4_096]),
        select(vec![0_u64, 5, 20, 50, 100, 250, 500, 1_000]),
    );
    let sizes = select(vec![
        &[60][..],
        &[590],
        &[1_514],
        &[60, 1_514],
        &[1_514, 1_514, 60, 590],
        &[65_226],
        &[65_226, 66, 1_514],
    ]);
    let traffic = (0..5, prop::option::of((1_u64..2_500, 10_u64..90)));
    (link, sizes, traffic, any::<bool>()).prop_map(|(link, sizes, (pattern, bursts), taut)| {
        let (rate_mbit, ring, coalesce_us) = link;
        // Headers and gaps make 1,538 bytes of a segment of 1,448.
        let on_wire: u64 = sizes.iter().map(|&bytes: &u64| bytes.max(60) + 90).sum();
        let object_ns = on_wire * 8_000 / rate_mbit / sizes.len() as u64;
        let interval_ns = coalesce_us * 1_000;
        let pattern = match pattern {
            0 => String::new(),
            1 => format!(", jitter = \"{}ns\"", interval_ns / 2),
            2 => format!(
                ", rare_gap = {{ one_in = 100, gap = \"{}ns\" }}",
                10 * interval_ns
            ),
            3 => format!(", jitter = \"{}ns\"", interval_ns / 10),
            _ => format!(
                ", reap = {{ packets = 64, gap = \"{}ns\" }}",
                interval_ns / 20
            ),
        };
        let (packets, percent) = bursts.unwrap_or((1, 90));
        // From a tenth of the link to nearly all of it.
        let every_ns = (packets * object_ns * 100 / percent).max(1_000);
        let sent =
            format!("packets = {packets}, every = \"{every_ns}ns\", jitter = \"{object_ns}ns\"");
        let bursts = bursts.map_or(String::new(), |_| format!(", bursts = {{ {sent} }}"));
        let duration_ns = (4_000 * object_ns)
            .max(200 * interval_ns)
            .max(10 * every_ns);
        let sizes: Vec<String> = sizes.iter().map(u64::to_string).collect();
        let rule = if taut { "taut" } else { "dql" };
        format!(
            "scenario = \"never-worse\"\nsweep = {{}}\nrules = [\"off\", \"{rule}\"]\n\
             rates = [\"{rate_mbit}mbit\"]\nring = {ring}\ncoalesce = \"{coalesce_us}us\"\n\
             sizes = {sizes:?}\nwarm_up = \"{}ns\"\nduration = \"{duration_ns}ns\"\n\
             traffic = [{{ name = \"drawn\"{pattern}{bursts} }}]",
            duration_ns / 4
        )
    })
}

fn rows(text: &str) -> Vec<Value> {
    let found = sweep::run(text, None, 1, &mut |_, _, _| {});
    found.unwrap_or_else(|error| panic!("{text}: {error}")).rows
}

proptest! {
    #![proptest_config(Config { cases: 100, rng_seed: RngSeed::Fixed(1), ..Config::default() })]

    #[test]
    fn only_uneven_completions_cost_throughput(text in drawn_queue()) {
        let rows = rows(&text);
        // A sender that stopped at a full ring restarts with a quarter of it free; one that stopped
        // at a limit restarts at once. The mean can therefore be higher under a limit, but not the
        // peak.
        let [off, on] = [0, 1].map(|row| number(&rows[row], "in_flight_p99_bytes"));
        prop_assert!(on <= 1.03 * off, "{on} of {off}: {text}");
        let carried = number(&rows[1], "throughput_vs_off");
        prop_assert!(carried >= 0.99 || can_cost(&text), "{carried}: {text}");
    }
}

#[test]
fn sweep_has_row_for_each_rule_and_traffic() {
    let text = "scenario = \"never-worse\"\nwarm_up = \"10ms\"\nduration = \"20ms\"\n\
                sweep = { rates = [\"100mbit\", \"1gbit\"], ring = [64] }";
    let found = sweep::run(text, None, 1, &mut |_, _, _| {}).expect("a run");
    show(&found);
    assert_eq!(found.rows.len(), 2 * 9 * 2);
    assert!(
        found
            .rows
            .iter()
            .all(|row| number(row, "throughput_vs_off") <= 1.02)
    );
}

/// A packet of 590 bytes takes 4.9 us, so 5 us per interval are 1.8 % of the link.
#[test]
fn one_packet_per_interval_is_insufficient() {
    let rows = rows(
        "scenario = \"never-worse\"\nsweep = {}\nrules = [\"off\", \"taut\"]\n\
         rates = [\"1gbit\"]\nring = 64\ncoalesce = \"5us\"\nsizes = [\"590\"]\n\
         warm_up = \"50ms\"\nduration = \"200ms\"\ntraffic = [{ name = \"saturated\" }]",
    );
    let carried = number(&rows[1], "throughput_vs_off");
    assert!(carried >= 0.999, "{carried}");
}
