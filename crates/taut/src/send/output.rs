//! The summary of a run, as JSON or text.

use std::process::ExitCode;

use serde_json::json;
use taut_path::limit::Unit;
use taut_relay::transmit::Outcome;
use taut_report::layout::fold;
use taut_report::number::{one_decimal, scaled};
use taut_report::stdout;

use super::options::{Send, Timing};

/// Columns of the name at the start of each line.
const NAME_COLUMNS: usize = 12;

/// Prints the summary, as one JSON document or as text.
pub fn print(outcome: &Outcome, options: &Send, broken: Option<&str>) -> ExitCode {
    if !options.json {
        return stdout::print(&text(outcome, options));
    }
    let (account, results) = (&outcome.account, &outcome.measurements);
    let limit_bytes = results.limit_p50;
    stdout::print_json(&json!({
        "version": 1,
        "driver": outcome.driver,
        "mode": outcome.mode,
        "completions": outcome.completion_status.name(),
        "submitted_packets": account.received_packets,
        "completed_packets": account.completed_packets(),
        "uncertain_packets": account.uncertain_packets(),
        "dropped_packets": account.dropped_packets(),
        "unaccounted_packets": account.unaccounted_packets(),
        // `null` without a limit, or if it counts packets.
        "limit_bytes_p50": limit_bytes.filter(|_| outcome.limit_unit == Unit::Bytes),
        // The median over time.
        "inflight_bytes": results.in_flight_p50_bytes,
        "pps": one_decimal(results.packets_per_s),
        "bps": one_decimal(results.bits_per_s),
        // `null` without `--timing capture`.
        "max_late_ns": results.max_late_ns,
        // Why the file was not read to its end; `null` if it was.
        "not_read": broken,
    }))
}

/// Describes when packets are sent.
pub fn timing(options: &Send) -> String {
    match (options.timing, options.rate, options.speed) {
        (Timing::Fast, Some(rate), _) => format!("at most {rate}"),
        (Timing::Fast, None, _) => "as fast as the limit permits".to_owned(),
        (Timing::Capture, _, None) => "at the times of the capture".to_owned(),
        (Timing::Capture, _, Some(speed)) => {
            format!("at the times of the capture, divided by {speed}")
        }
    }
}

fn text(outcome: &Outcome, options: &Send) -> String {
    let device = &options.device;
    let (account, results) = (&outcome.account, &outcome.measurements);
    let dropped = account.dropped_packets().iter();
    let reasons: Vec<String> = dropped
        .map(|(reason, packets)| format!("{packets} {reason}"))
        .collect();
    let reasons = match &reasons[..] {
        [] => String::new(),
        reasons => format!(" ({})", reasons.join(", ")),
    };
    let late = match results.max_late_ns {
        Some(late_ns) => format!("; at most {} us late", late_ns / 1_000),
        None => String::new(),
    };
    let mut text = format!(
        "device      {device}: {} {}, completions {}\n\
         packets     {} submitted = {} completed + {} uncertain + {} dropped{reasons} \
         + {} unaccounted\n\
         timing      {}{late}\n",
        outcome.driver,
        outcome.mode,
        outcome.completion_status.name(),
        account.received_packets,
        account.completed_packets(),
        account.uncertain_packets(),
        account.all_dropped_packets(),
        account.unaccounted_packets(),
        timing(options),
    );
    // Rate and times need at least one completion.
    if account.completed_packets() > 0 {
        text += &measured(outcome);
    }
    let width = stdout::columns();
    text.lines()
        .map(|line| fold(line, NAME_COLUMNS, width))
        .collect()
}

/// Returns the lines of the measurements.
fn measured(outcome: &Outcome) -> String {
    let results = &outcome.measurements;
    let limit = match (results.limit_p50, outcome.limit_unit) {
        (None, _) if !outcome.completion_status.limit_applies() => {
            format!("{} disabled: completions are early", outcome.limit)
        }
        (None, _) => "off".to_owned(),
        // Linux's rule starts there, and a short run can end before the limit increases.
        (Some(0), _) => format!("{}: 0, one packet at a time", outcome.limit),
        (Some(limit), Unit::Bytes) => format!("{}: {limit} bytes", outcome.limit),
        (Some(limit), Unit::Packets) => format!("{}: {limit} packets", outcome.limit),
    };
    format!(
        "rate        {} packets/s, {}bit/s\n\
         limit       {limit}; in flight over time: {} bytes (median), {} bytes (90th percentile)\n\
         completion  after {} us (median), {} us (99th percentile)\n",
        scaled(results.packets_per_s),
        scaled(results.bits_per_s),
        results.in_flight_p50_bytes,
        results.in_flight_p90_bytes,
        results.completion_p50_ns / 1_000,
        results.completion_p99_ns / 1_000,
    )
}
