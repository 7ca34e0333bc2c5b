//! The six published traces: the numbers of the published program, and its results.

use taut_path::limit::{Dynamic, Fixed, Limit};
use taut_scenarios::pattern::{Times, synthetic};
use taut_sim::completion_trace::{
    CompletionTrace, Detail, TraceReport, observe, smallest_sufficient_limit,
};

/// Returns the trace with an offset of the published seeds.
fn make(name: &str, offset: u64) -> CompletionTrace {
    // The published traces have times of their own.
    let times = Times {
        warm_ns: 0,
        end_ns: 0,
    };
    let family = synthetic().find(|family| family.name.starts_with(name));
    family.expect(name).pattern(offset + 1, times)
}

/// FNV-1a over the gaps, eight bytes each, lowest first.
fn fingerprint(pattern: &CompletionTrace) -> (u64, u64, u64) {
    let intervals = &pattern.queues[0];
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for interval in intervals.iter() {
        assert_eq!(interval.delay_ns, 0);
        for byte in interval.gap_ns.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    (intervals.count(), intervals.total_ns(), hash)
}

/// Computed from the output of the published program, with seed offsets 0 and 3.
const WRITTEN: [[(u64, u64, u64); 6]; 2] = [
    [
        (200_022, 20_000_035_419, 0x68c4_f35a_8328_9d2b),
        (300_041, 30_000_037_620, 0x19b6_082b_2e90_9857),
        (293_859, 20_000_085_000, 0xad90_4a84_ea2e_f62f),
        (274_719, 30_000_000_000, 0x508b_28c3_621a_4eac),
        (300_036, 30_000_018_438, 0x7e55_77ce_73c6_0f46),
        (300_397, 30_000_097_191, 0xa03b_5b0f_4dd3_18db),
    ],
    [
        (200_023, 20_000_011_337, 0x4af6_4efb_2d76_6fde),
        (300_391, 30_000_044_238, 0x1a6e_1140_104b_a293),
        (292_759, 20_000_005_000, 0x7354_91a1_99a2_81af),
        (274_890, 30_000_000_000, 0x4a09_d23c_5189_2bc9),
        (300_047, 30_000_094_803, 0xc63f_0a97_28ec_17e4),
        (300_256, 30_000_007_837, 0x78ae_5399_c52d_4014),
    ],
];

#[test]
fn interrupts_match_the_published_program() {
    for (offset, expected) in [0, 3].into_iter().zip(WRITTEN) {
        for (name, expected) in ["p01", "p02", "p03", "p04", "p05", "p06"]
            .into_iter()
            .zip(expected)
        {
            let pattern = make(name, offset);
            assert_eq!(fingerprint(&pattern), expected, "{name}, offset {offset}");
        }
    }
}

fn run(pattern: &CompletionTrace, limit: impl Limit + Clone) -> TraceReport {
    observe(pattern, limit, Detail::FULL).expect("runs")
}

/// Published results of a trace: limit, mean queue and p99 delay (us) of the optimum, then ratio
/// and p99 delay of Linux's rule.
type Published = (u32, f64, f64, f64, f64);

fn check(name: &str, published: Published) {
    let (limit_bytes, mean_bytes, delay_us, dql_ratio, dql_delay_us) = published;
    let pattern = make(name, 0);
    let fixed = run(&pattern, Fixed::bytes(limit_bytes));
    let near = |found: f64, published: f64, part: f64| {
        let off = (found - published).abs();
        assert!(
            off <= part * published,
            "{name}: {found}, published {published}"
        );
    };
    assert!(fixed.utilisation >= 0.999, "{name}: {}", fixed.utilisation);
    near(fixed.mean_bytes, mean_bytes, 0.003);
    // Rounded to 1 us, and different sampling times.
    near(fixed.urgent_delay_p99_ns as f64 / 1e3, delay_us, 0.008);
    let dql = run(&pattern, Dynamic::default());
    // The published page does not define the order of a burst and a simultaneous interrupt.
    near(dql.mean_bytes / fixed.mean_bytes, dql_ratio, 0.012);
    near(dql.urgent_delay_p99_ns as f64 / 1e3, dql_delay_us, 0.01);
}

#[test]
fn saturated_traces_have_the_published_results() {
    check("p01-jitter", (15_168, 10_322.0, 129.0, 2.47, 250.0));
    check("p04-1pct-1ms", (124_160, 114_081.0, 1_000.0, 2.10, 2_009.0));
    check("p05-rate-steps", (15_168, 13_170.0, 1_311.0, 1.29, 2_389.0));
}

#[test]
fn burst_traces_have_the_published_results() {
    check("p06-bursts-mix", (79_744, 19_536.0, 1_038.0, 1.67, 1_666.0));
    let pattern = make("p06-bursts-mix", 0);
    let found = f64::from(
        smallest_sufficient_limit(&pattern)
            .expect("runs")
            .expect("there is one"),
    );
    assert!((found - 79_744.0).abs() < 0.003 * 79_744.0, "{found}");
}
