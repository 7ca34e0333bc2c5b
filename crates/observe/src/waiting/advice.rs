//! What to do about the bytes that nothing can overtake.

use super::stages::{OvertakenBy, Stage};
use crate::row::link_time_ns;

/// Minimum time that a stage delays packets, at the current rate, to be worth a remedy.
const MIN_DELAY_NS: u64 = 1_000_000;

/// Returns how to shrink the largest stage that nothing can overtake.
pub fn advice(stages: &[Stage], device: &str, rate_bits_per_s: u64) -> String {
    let in_device = |it: &Stage| it.name.starts_with("device") && it.bytes != Some(0);
    if rate_bits_per_s == 0 && stages.iter().any(in_device) {
        return format!(
            "the device has bytes and sends nothing: run taut doctor {device}, which detects lost \
             completions"
        );
    }
    if rate_bits_per_s == 0 {
        return "nothing is being sent: start the traffic that matters, and look again".to_owned();
    }
    let in_order = stages
        .iter()
        .filter(|it| it.overtaken_by == OvertakenBy::Nothing);
    let largest = in_order
        .filter(|it| it.bytes.is_some())
        .max_by_key(|it| it.bytes);
    let unknown = stages.iter().any(|it| it.bytes.is_none());
    match largest.map(|it| (it, it.bytes.unwrap_or(0))) {
        Some((stage, bytes)) if link_time_ns(bytes, rate_bits_per_s) > Some(MIN_DELAY_NS) => {
            match stage.name.starts_with("discipline") {
                true => format!(
                    "most bytes wait in the {}. Replace it by a fair one: tc qdisc replace dev \
                     {device} root fq_codel (below a shaper: as its child). A byte limit does not \
                     change this",
                    stage.name
                ),
                false => format!(
                    "most bytes wait in the {}. A lower limit reduces them; run taut doctor \
                     {device}",
                    stage.name
                ),
            }
        }
        _ if unknown => format!(
            "the contents of the ring are unknown. A shaper slightly below the link rate keeps it \
             empty. taut doctor {device} explains why there is no limit"
        ),
        _ => "nothing here waits longer than 1 ms where it cannot be overtaken: a byte limit \
              would do nothing for this traffic"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str, bytes: Option<u64>, overtaken_by: OvertakenBy) -> Stage {
        Stage::new(name, bytes, overtaken_by, String::new())
    }

    #[test]
    fn advice_is_for_largest_stage_in_order() {
        let rate = 100_000_000;
        let fifo = stage("discipline pfifo", Some(500_000), OvertakenBy::Nothing);
        let fair = stage(
            "discipline fq_codel",
            Some(500_000),
            OvertakenBy::OtherFlows,
        );
        let ring = |bytes| stage("device, queue 0", bytes, OvertakenBy::Nothing);
        for (stages, text) in [
            (
                vec![fifo.clone(), ring(Some(100_000))],
                "A byte limit does not change this",
            ),
            (
                vec![fair.clone(), ring(Some(100_000))],
                "A lower limit reduces them",
            ),
            (vec![fair.clone(), ring(None)], "are unknown"),
            (
                vec![fair.clone(), ring(Some(3_000))],
                "would do nothing for this traffic",
            ),
        ] {
            let advice = advice(&stages, "eth0", rate);
            assert!(advice.contains(text), "{advice}");
        }
        assert!(advice(&[fifo], "eth0", 0).contains("nothing is being sent"));
    }
}
