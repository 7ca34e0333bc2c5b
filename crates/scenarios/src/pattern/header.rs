//! The first line of a pattern file: what is sent, and how fast.

use serde::Deserialize;
use serde_json::Value;

use taut_sim::pattern::{Burst, Pattern};

use crate::allowed::check;

/// What is allowed of each number. A day of 400 Gbit/s, more than any link or run here.
const MOST_RATE: f64 = 50_000.0;
pub(super) const MOST_NS: u64 = 86_400_000_000_000;
/// A super-packet is far smaller.
const MOST_SIZE: u64 = 1 << 24;
const MOST_SIZES: usize = 1 << 20;
const MOST_OBJECTS: u64 = 1 << 32;

/// The keys that mean something; others are named in a warning and skipped.
const KEYS: [&str; 10] = [
    "id",
    "rate_bytes_per_us",
    "rates",
    "sizes",
    "budget",
    "poll_ns",
    "burst",
    "warm_ns",
    "end_ns",
    "utilisation",
];

#[derive(Deserialize)]
struct Raw {
    id: Option<String>,
    rate_bytes_per_us: Option<f64>,
    rates: Option<Vec<(u64, f64)>>,
    #[serde(default = "full_segments")]
    sizes: Vec<u64>,
    #[serde(default)]
    budget: u32,
    #[serde(default = "poll_ns")]
    poll_ns: u64,
    burst: Option<RawBurst>,
    #[serde(default)]
    warm_ns: u64,
    end_ns: u64,
    #[serde(default = "utilisation")]
    utilisation: f64,
}

#[derive(Deserialize)]
struct RawBurst {
    period_ns: u64,
    objects: u64,
}

fn full_segments() -> Vec<u64> {
    vec![super::published::FULL_BYTES.into()]
}

const fn poll_ns() -> u64 {
    3_000
}

const fn utilisation() -> f64 {
    0.999
}

/// The pattern of a header, without intervals, and the keys that mean nothing.
pub(super) fn read(line: &str, otherwise_id: &str) -> Result<(Pattern, Vec<String>), String> {
    let value: Value = serde_json::from_str(line).map_err(|error| {
        format!("the first line must be a JSON object such as {{\"id\": \"name\", \"rate_bytes_per_us\": 125.0, \"end_ns\": 30000000000}}: {error}")
    })?;
    let Value::Object(keys) = &value else {
        return Err("the first line is JSON, but no object of keys and values".to_owned());
    };
    let unknown = keys.keys().filter(|key| !KEYS.contains(&key.as_str()));
    let unknown = unknown.cloned().collect();
    let raw: Raw = serde_json::from_value(value).map_err(|error| error.to_string())?;
    Ok((pattern(raw, otherwise_id)?, unknown))
}

fn pattern(raw: Raw, otherwise_id: &str) -> Result<Pattern, String> {
    check("end_ns", raw.end_ns, 1, MOST_NS)?;
    check("warm_ns", raw.warm_ns, 0, raw.end_ns - 1)?;
    check("poll_ns", raw.poll_ns, 1, MOST_NS)?;
    check("sizes, their number", raw.sizes.len(), 1, MOST_SIZES)?;
    for &size in &raw.sizes {
        check("sizes", size, 1, MOST_SIZE)?;
    }
    if !(raw.utilisation > 0.0 && raw.utilisation <= 1.0) {
        let utilisation = raw.utilisation;
        return Err(format!(
            "utilisation is {utilisation}; allowed: above 0, at most 1"
        ));
    }
    let bursts = raw.burst.map_or_else(|| Ok(Vec::new()), burst)?;
    Ok(Pattern {
        id: raw.id.unwrap_or_else(|| otherwise_id.to_owned()),
        changes_ns: changes(raw.rates.as_deref()),
        rates: rates(raw.rates, raw.rate_bytes_per_us)?,
        sizes: raw.sizes.iter().map(|&size| size as u32).collect(),
        budget: raw.budget,
        poll_ns: raw.poll_ns,
        bursts,
        warm_ns: raw.warm_ns,
        end_ns: raw.end_ns,
        utilisation: raw.utilisation,
        queues: Vec::new(),
    })
}

fn burst(burst: RawBurst) -> Result<Vec<Burst>, String> {
    check("burst.period_ns", burst.period_ns, 1, MOST_NS)?;
    check("burst.objects", burst.objects, 1, MOST_OBJECTS)?;
    Ok(vec![Burst {
        period_ns: burst.period_ns,
        objects: burst.objects,
    }])
}

/// Steps of the rate are the only changes that a file tells of. Quick ones are no steps but a
/// load, to which no rule is to settle.
fn changes(rates: Option<&[(u64, f64)]>) -> Vec<u64> {
    const STEP_NS: u64 = 500_000_000;
    let rates = rates.unwrap_or_default();
    let quick = |pair: &[(u64, f64)]| pair[1].0.saturating_sub(pair[0].0) < STEP_NS;
    if rates.windows(2).any(quick) {
        return Vec::new();
    }
    rates.iter().map(|&(at_ns, _)| at_ns).collect()
}

fn rates(
    rates: Option<Vec<(u64, f64)>>,
    rate_bytes_per_us: Option<f64>,
) -> Result<Vec<(u64, u64)>, String> {
    let rates = match (rates, rate_bytes_per_us) {
        (Some(rates), _) => rates,
        (None, Some(rate)) => vec![(0, rate)],
        (None, None) => return Err("neither rate_bytes_per_us nor rates is given".to_owned()),
    };
    if rates.first().map(|first| first.0) != Some(0) {
        return Err("rates must begin with one at 0 ns".to_owned());
    }
    if let Some(pair) = rates.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        let (before, after) = (pair[0].0, pair[1].0);
        return Err(format!(
            "rates go from {before} ns to {after} ns; allowed: rising times"
        ));
    }
    let in_bytes_per_s = |(at_ns, rate): (u64, f64)| {
        let bytes_per_s = (rate * 1e6).round();
        // Also refuses what is no number.
        if !(bytes_per_s >= 1.0 && rate <= MOST_RATE) {
            return Err(format!(
                "the rate at {at_ns} ns is {rate} bytes/us; allowed: 0.000001 to {MOST_RATE}"
            ));
        }
        Ok((at_ns, bytes_per_s as u64))
    };
    rates.into_iter().map(in_bytes_per_s).collect()
}
