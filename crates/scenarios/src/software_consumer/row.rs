//! A row, and the published results for it.

use serde_json::{Value, json};
use taut_sim::consumer::{ConsumerCore, ConsumerReport, Notify};

use super::names::{Consumer, LimitName, SoftwareConsumerCase};
use taut_report::document::Figure;
use taut_report::number::one_decimal;

fn ping_us(seen: &ConsumerReport, share: f64) -> f64 {
    one_decimal(seen.ping_ns.value_at_quantile(share) as f64 / 1e3)
}

fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// Returns a row. `smallest` has the smallest sufficient fixed limit, and `best_per_s` is the
/// throughput of the best one.
pub(super) fn row(
    case: &SoftwareConsumerCase,
    limit: &LimitName,
    seen: &ConsumerReport,
    (smallest, best_per_s): (&ConsumerReport, f64),
) -> Value {
    let ping_p99 = |seen: &ConsumerReport| seen.ping_ns.value_at_quantile(0.99) as f64;
    json!({
        "consumer": case.consumer,
        "core": case.core.to_string(),
        "limit": limit.to_string(),
        "notify": case.notify.to_string(),
        "pps": seen.packets_per_s.round(),
        "limit_p50": match limit {
            LimitName::Rule { limit, .. } if limit.is_off() => Value::Null,
            _ => json!(one_decimal(seen.limit_p50)),
        },
        "inflight_mean": one_decimal(seen.in_flight_mean),
        "ping_us": { "p50": ping_us(seen, 0.5), "p99": ping_us(seen, 0.99) },
        // Rounded to a hundred-thousandth: the target is exact to a thousandth.
        "throughput_vs_best": (seen.packets_per_s / best_per_s * 1e5).round() / 1e5,
        "inflight_vs_optimum": thousandths(seen.in_flight_mean / smallest.in_flight_mean),
        "ping_vs_optimum": thousandths(ping_p99(seen) / ping_p99(smallest)),
    })
}

/// Compares a limit that counts packets with the published results.
pub(super) fn figures(
    case: &SoftwareConsumerCase,
    limits: &[(&LimitName, ConsumerReport)],
) -> Vec<Figure> {
    let seen = |name: &str| {
        let found = limits.iter().find(|(limit, _)| limit.to_string() == name);
        found.map(|(_, seen)| seen)
    };
    let (off, dql) = (seen("off"), seen("dql:packets"));
    let figure = |what: &str, published: &[f64], value, unit| {
        let id = format!("E12, {}, notify {}, {what}", case.consumer, case.notify);
        Figure::new(id, published, value, unit, &["switch"])
    };
    // The published pairs of interfaces were polled on the sender's core.
    let mut figures = Vec::new();
    match (case.consumer, case.core, case.notify) {
        (Consumer::Slow, ConsumerCore::Shared, Notify::Packet) => {
            let ping_ms = |seen: &ConsumerReport| seen.ping_ns.mean() / 1e6;
            figures.extend(off.map(|off| figure("no limit, ping", &[22.0], ping_ms(off), "ms")));
            if let Some(dql) = dql {
                figures.push(figure("dql, limit", &[2.0], dql.limit_p50, "packets"));
                figures.push(figure("dql, ping", &[1.3], ping_ms(dql), "ms"));
            }
        }
        (Consumer::Slow, ConsumerCore::Shared, Notify::Poll) => {
            figures.extend(dql.map(|dql| figure("dql, limit", &[128.0], dql.limit_p50, "packets")));
        }
        (Consumer::Fast, ConsumerCore::Shared, Notify::Packet) => {
            if let (Some(off), Some(dql)) = (off, dql) {
                let lost = 100.0 * (1.0 - dql.packets_per_s / off.packets_per_s);
                figures.push(figure("dql, limit", &[2.0], dql.limit_p50, "packets"));
                figures.push(figure("dql, throughput lost", &[10.5, 20.0], lost, "%"));
            }
        }
        _ => {}
    }
    figures
}
