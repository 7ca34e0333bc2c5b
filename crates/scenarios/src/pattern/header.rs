//! The first line of a trace file: the workload and the rate.

use core::fmt;

use serde::de::{DeserializeOwned, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use taut_sim::completion_trace::{Burst, CompletionTrace};

use super::families::FULL_BYTES;
use crate::validation::{check, check_length};

/// Ranges of the numbers. A day at 400 Gbit/s is more than any link or run here.
const MAX_RATE: f64 = 50_000.0;
pub(super) const MAX_NS: u64 = 86_400_000_000_000;
/// Far above a GSO packet.
const MAX_SIZE: u64 = 1 << 24;
const MAX_SIZES: usize = 1 << 20;
/// A limit can exceed a burst, which is then in memory completely.
const MAX_OBJECTS: u64 = 1 << 20;
/// Maximum objects or bursts of a run: about an hour of computation.
const MAX_WORK: u128 = 10_000_000_000;
/// Default time between two batches.
const POLL_NS: u64 = 3_000;
/// Default target utilisation.
const UTILISATION: f64 = 0.999;

/// Parses a header into a trace without intervals, and its unknown keys.
pub(super) fn read(
    line: &str,
    otherwise_id: &str,
) -> Result<(CompletionTrace, Vec<String>), String> {
    let Keys { mut keys, twice } = serde_json::from_str(line).map_err(|error| {
        format!(
            "the first line must be a JSON object such as {{\"id\": \"name\", \
             \"rate_bytes_per_us\": 125.0, \"end_ns\": 30000000000}}: {error}"
        )
    })?;
    if let Some(key) = twice {
        return Err(format!("duplicate key {key}"));
    }
    let mut burst = take(&mut keys, "", "burst")?;
    let pattern = pattern(&mut keys, burst.as_mut(), otherwise_id)?;
    let of_burst = burst.iter().flat_map(Map::keys);
    let of_burst = of_burst.map(|key| format!("burst.{key}"));
    Ok((pattern, keys.keys().cloned().chain(of_burst).collect()))
}

/// An object, and its first duplicate key: it is unclear which of the two values is meant.
#[derive(Default)]
struct Keys {
    keys: Map<String, Value>,
    twice: Option<String>,
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(KeysVisitor)
    }
}

struct KeysVisitor;

impl<'de> Visitor<'de> for KeysVisitor {
    type Value = Keys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of keys and values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Keys, A::Error> {
        let mut keys = Keys::default();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            if keys.keys.insert(key.clone(), value).is_some() {
                keys.twice = Some(key);
            }
        }
        Ok(keys)
    }
}

/// Removes and parses the value of `key`; `null` is the same as no value. The remaining keys are
/// unknown. `within` is the key of its object, with a dot.
fn take<T: DeserializeOwned>(
    keys: &mut Map<String, Value>,
    within: &str,
    key: &str,
) -> Result<Option<T>, String> {
    let value = keys.shift_remove(key).unwrap_or_default();
    serde_json::from_value(value).map_err(|error| format!("{within}{key}: {error}"))
}

/// Takes a required time or number from 1 on.
fn required(
    keys: &mut Map<String, Value>,
    within: &str,
    key: &str,
    max: u64,
) -> Result<u64, String> {
    let value = take(keys, within, key)?;
    let value = value.ok_or_else(|| format!("{within}{key} is missing; allowed: 1 to {max}"))?;
    check(&format!("{within}{key}"), value, 1, max)?;
    Ok(value)
}

fn pattern(
    keys: &mut Map<String, Value>,
    burst: Option<&mut Map<String, Value>>,
    otherwise_id: &str,
) -> Result<CompletionTrace, String> {
    let end_ns = required(keys, "", "end_ns", MAX_NS)?;
    let warm_ns = take(keys, "", "warm_ns")?.unwrap_or(0);
    check("warm_ns", warm_ns, 0, end_ns - 1)?;
    let poll_ns = take(keys, "", "poll_ns")?.unwrap_or(POLL_NS);
    check("poll_ns", poll_ns, 1, MAX_NS)?;
    let utilisation = take(keys, "", "utilisation")?.unwrap_or(UTILISATION);
    if !(utilisation > 0.0 && utilisation <= 1.0) {
        return Err(format!(
            "utilisation is {utilisation}; allowed: above 0, at most 1"
        ));
    }
    let steps: Option<Vec<(u64, f64)>> = take(keys, "", "rates")?;
    let pattern = CompletionTrace {
        id: take(keys, "", "id")?.unwrap_or_else(|| otherwise_id.to_owned()),
        changes_ns: changes(steps.as_deref()),
        rates: rates(steps, take(keys, "", "rate_bytes_per_us")?)?,
        sizes: sizes(take(keys, "", "sizes")?)?,
        budget: take(keys, "", "budget")?.unwrap_or(0),
        poll_ns,
        bursts: burst.map_or_else(|| Ok(Vec::new()), bursts)?,
        warm_ns,
        end_ns,
        utilisation,
        queues: Vec::new(),
    };
    check_work(&pattern)?;
    Ok(pattern)
}

fn sizes(value: Option<Vec<u64>>) -> Result<Vec<u32>, String> {
    let Some(sizes) = value else {
        return Ok(vec![FULL_BYTES]);
    };
    check_length("sizes", sizes.len(), 1, MAX_SIZES)?;
    let size = |&size: &u64| check("sizes", size, 1, MAX_SIZE).map(|()| size as u32);
    sizes.iter().map(size).collect()
}

/// Rejects traces that take hours to run.
fn check_work(pattern: &CompletionTrace) -> Result<(), String> {
    let ends = pattern.rates.iter().skip(1).map(|rate| rate.0);
    let ends = ends.chain([pattern.end_ns]);
    let bytes = |(&(from_ns, bytes_per_s), to_ns): (&(u64, u64), u64)| {
        let ns = to_ns.min(pattern.end_ns).saturating_sub(from_ns);
        u128::from(ns) * u128::from(bytes_per_s) / 1_000_000_000
    };
    let bytes: u128 = pattern.rates.iter().zip(ends).map(bytes).sum();
    let in_turn: u64 = pattern.sizes.iter().copied().map(u64::from).sum();
    let objects = bytes * pattern.sizes.len() as u128 / u128::from(in_turn);
    if objects > MAX_WORK {
        return Err(format!(
            "the link can send {objects} objects until end_ns; allowed: at most {MAX_WORK}"
        ));
    }
    for burst in &pattern.bursts {
        let bursts = pattern.end_ns / burst.period_ns;
        if u128::from(bursts) > MAX_WORK {
            return Err(format!(
                "burst.period_ns makes {bursts} bursts until end_ns; allowed: at most {MAX_WORK}"
            ));
        }
    }
    Ok(())
}

fn bursts(keys: &mut Map<String, Value>) -> Result<Vec<Burst>, String> {
    Ok(vec![Burst {
        period_ns: required(keys, "burst.", "period_ns", MAX_NS)?,
        objects: required(keys, "burst.", "objects", MAX_OBJECTS)?,
    }])
}

/// Returns the steps of the rate, the only changes that a file contains. Frequent steps are a load,
/// to which no rule has to converge.
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
        (None, None) => {
            return Err(format!(
                "rate_bytes_per_us and rates are missing; allowed: 0.000001 to {MAX_RATE}"
            ));
        }
    };
    let first = rates
        .first()
        .ok_or("rates has 0 values; allowed: 1 or more")?;
    check("the first time of rates, in ns,", first.0, 0, 0)?;
    if let Some(pair) = rates.windows(2).find(|pair| pair[0].0 >= pair[1].0) {
        let (before, after) = (pair[0].0, pair[1].0);
        return Err(format!(
            "a time of rates is {after} ns, after {before} ns; allowed: rising times"
        ));
    }
    let in_bytes_per_s = |(at_ns, rate): (u64, f64)| {
        let bytes_per_s = (rate * 1e6).round();
        // Also rejects NaN.
        if !(bytes_per_s >= 1.0 && rate <= MAX_RATE) {
            return Err(format!(
                "the rate at {at_ns} ns is {rate} bytes/us; allowed: 0.000001 to {MAX_RATE}"
            ));
        }
        Ok((at_ns, bytes_per_s as u64))
    };
    rates.into_iter().map(in_bytes_per_s).collect()
}
