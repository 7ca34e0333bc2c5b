//! `taut record`: samples kernel queues into a trace.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use taut_linux::interrupt;
use taut_linux::observe::NoLimitReason;
use taut_measure::trace::Head;
use taut_observe::record::{self, Recording};
use taut_observe::{Inventory, Missing, QueueRow, QueueSet, Selection, gather};
use taut_path::units::Time;
use taut_report::number::short_time;
use taut_report::{emit as output, file};
use taut_report::{exit, say};

use crate::parse::{PERIODS, within};
use crate::selection::PlaceArgs;

/// Sample the limit and bytes in flight of a device's queues into a file
///
/// For plots of the limit over time. Both values are read from sysfs at the given rate. The file
/// has a line for each change of one of them. Ctrl-C ends the recording; the samples until then
/// are written.
/// `taut replay` rejects this file, because sysfs does not show enqueued and completed packets. For
/// a replay, record with `taut sim rr-under-load --trace FILE` or
/// `taut lab rr-under-load --trace FILE`.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Record {
    /// Device
    #[arg(value_name = "DEV")]
    pub device: String,

    /// File to write
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,

    /// Queues, such as 0-3,7 [default: all]
    #[arg(short = 'q', long = "queues", value_name = "QUEUES")]
    pub queues: Option<QueueSet>,

    /// Recording time
    #[arg(short = 't', long, value_name = "TIME", default_value = "10s",
          value_parser = within(PERIODS))]
    pub duration: Time,

    /// Samples per second (1 to 10000)
    #[arg(long, value_name = "N", default_value = "1000",
          value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: u32,

    #[command(flatten)]
    pub place: PlaceArgs,
}

const AFTER_HELP: &str = "\
Times need a unit (10s). docs/trace-format.md describes the file.
The recording ends after 16 million changes, about 250 MB of memory.
Exit codes: 0 done, 1 failed, 2 bad usage, 77 a privilege is missing.
Examples:
  taut record eth0 --output eth0.trace
  taut record eth0 -o eth0.trace --duration 60s --hz 100 --queues 0";

/// `taut record`.
pub fn record(options: &Record) -> Result<ExitCode, ExitCode> {
    let failed = |error: String| exit::fail(exit::FAILED, error);
    let (host, _) = options.place.open()?;
    let selection = Selection::device(&options.device, options.queues.clone());
    let inventory = gather(&host, &selection, Missing::Error).map_err(failed)?;
    let rows: Vec<&QueueRow> = inventory.rows().collect();
    if rows.is_empty() {
        return Err(failed(no_limit(options, &inventory)));
    }
    output::check("trace", Some(&options.output))?;
    interrupt::note().map_err(|error| failed(error.to_string()))?;
    let interval_ns = 1_000_000_000 / u64::from(options.hz);
    let stop = || interrupt::noted().is_some();
    let recording = record::record(&host.sysfs, &rows, interval_ns, options.duration.0, stop);
    let recording = recording.map_err(|error| failed(error.to_string()))?;
    let head = Head {
        scenario: format!("record {}", options.device),
        seed: 0,
        taut_version: env!("CARGO_PKG_VERSION").to_owned(),
        sampled_hz: Some(options.hz),
    };
    let mut bytes = 0;
    let written = file::replace_with(&options.output, |file| {
        let mut buffered = BufWriter::new(file);
        bytes = recording.write(&mut buffered, &head)?;
        buffered.flush()
    });
    written.map_err(|error| output::write_failed("trace", &options.output, &error))?;
    report(options, &recording, bytes);
    Ok(ExitCode::SUCCESS)
}

fn no_limit(options: &Record, inventory: &Inventory) -> String {
    let device = inventory.devices.first();
    let reason = device.and_then(|it| it.no_limit_reason.as_ref());
    let none = "none of the selected queues has one".to_owned();
    let reason = reason.map_or(none, NoLimitReason::text);
    format!("{} has no byte limit to record: {reason}", options.device)
}

/// Prints the requested and the achieved rate.
fn report(options: &Record, recording: &Recording, bytes: u64) {
    let (samples, hz) = (recording.samples, recording.rate_hz());
    let path = options.output.display();
    say!(
        "taut: wrote {bytes} bytes to {path}: {samples} samples of {} queues, {hz} a second \
         ({} requested)",
        recording.queues.len(),
        options.hz
    );
    if recording.is_full {
        let (length, all) = (short_time(recording.length_ns), options.duration);
        say!(
            "taut: the recording ended after {length} of {all}: it has 16 million changes; use a \
             lower --hz or fewer --queues"
        );
    }
    for queue in &recording.queues {
        if queue.negative_samples > 0 {
            let (name, number) = (&queue.name, queue.negative_samples);
            say!("taut: {name}: in flight was negative in {number} samples, recorded as 0");
        }
        if let Some(error) = &queue.error {
            say!("taut: {} ends early: {error}", queue.name);
        }
    }
}
