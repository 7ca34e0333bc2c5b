//! Requests beside the bulk data, and the row of a measurement.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use taut_linux::sched;
use taut_udp::Snapshot;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time;

use crate::options::Options;
use crate::world::World;

pub const REQUEST_BYTES: usize = 100;
/// Bulk data is sent for this time before the measurement.
pub const WARM_UP: Duration = Duration::from_secs(2);
/// Longer than any request takes.
pub const PATIENCE: Duration = Duration::from_secs(10);
const REQUEST_EACH: Duration = Duration::from_millis(50);

/// The results of a measurement.
pub struct Measured {
    times_ns: Histogram<u64>,
    duration: Duration,
    cpu_ns: u64,
    bytes: u64,
}

/// Sends a request over `stream` every 50 ms for the duration of the options, after the
/// [warm-up](WARM_UP). The receiver counts bulk data in `received_bytes`.
///
/// # Errors
/// Those of the stream and of the link, and if a request is not answered in [`PATIENCE`].
pub async fn measure(
    stream: &mut (impl AsyncRead + AsyncWrite + Unpin),
    received_bytes: &AtomicU64,
    world: &World,
    options: &Options,
) -> anyhow::Result<Measured> {
    let duration = Duration::from_nanos(options.duration.0);
    let (start, cpu_ns) = (Instant::now(), sched::process_cpu_ns());
    let before = received_bytes.load(Relaxed);
    let reduced = options.falls.then(|| world.reduce_rate(duration));
    let fault = options.fault.map(|fault| world.inject(fault, duration / 3));
    let mut times_ns = Histogram::new_with_bounds(1_000, 20_000_000_000, 3)?;
    let mut next = time::Instant::now();
    while start.elapsed() < duration {
        let (begin, mut request) = (Instant::now(), [1; REQUEST_BYTES]);
        stream.write_all(&request).await?;
        let answer = time::timeout(PATIENCE, stream.read_exact(&mut request)).await;
        answer.context("a request was not answered within 10 s")??;
        times_ns.saturating_record(begin.elapsed().as_nanos() as u64);
        next = (next + REQUEST_EACH).max(time::Instant::now());
        time::sleep_until(next).await;
    }
    for thread in reduced.into_iter().chain(fault) {
        thread.join().map_err(|_| anyhow!("a thread panicked"))??;
    }
    // A client with faster answers sends more requests.
    let request_bytes = times_ns.len() * REQUEST_BYTES as u64;
    Ok(Measured {
        times_ns,
        duration: start.elapsed(),
        cpu_ns: sched::process_cpu_ns() - cpu_ns,
        bytes: received_bytes.load(Relaxed) - before + request_bytes,
    })
}

impl Measured {
    /// Returns the row of `stack`, with the state of its limit and `more` of its own.
    ///
    /// # Errors
    /// If the load of the machine cannot be read.
    pub fn row(
        &self,
        stack: &str,
        options: &Options,
        limit: Option<Snapshot>,
        more: Value,
    ) -> anyhow::Result<Value> {
        let us = |share| self.times_ns.value_at_quantile(share) / 1_000;
        let mut row = json!({
            "stack": stack,
            "limit": format!("{:?}", options.limit).to_lowercase(),
            "rate_bps": options.rate.0,
            "topology": format!("{:?}", options.topology).to_lowercase(),
            "request_us": { "p50": us(0.5), "p99": us(0.99) },
            "twentieths_us": (0..=20).map(|part| us(f64::from(part) / 20.0)).collect::<Vec<_>>(),
            "goodput_bps": (self.bytes as f64 * 8.0 / self.duration.as_secs_f64()) as u64,
            "cpu_ns_per_byte": self.cpu_ns as f64 / self.bytes.max(1) as f64,
            "limit_bytes": limit.map(|it| it.limit),
            "unaccounted_bytes": limit.map(|it| {
                let found = it.totals.completed_bytes + u64::from(it.in_flight_bytes);
                it.totals.sent_bytes as i64 - found as i64
            }),
            "completion_quality": limit.map(|it| format!("{:?}", it.completion_quality)),
        });
        if let (Value::Object(row), Value::Object(more)) = (&mut row, more) {
            row.extend(more);
        }
        row["load_average"] = json!(std::fs::read_to_string("/proc/loadavg")?.split(' ').next());
        Ok(row)
    }
}
