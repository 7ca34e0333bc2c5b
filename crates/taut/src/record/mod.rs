//! `taut record`: what a kernel queue did, sampled, as a trace.

pub mod options;
mod sampled;

use std::io::{BufWriter, Write};
use std::process::ExitCode;

use taut_measure::trace::{Head, Recorder};

use crate::observe::gather::{Asked, gather};
use crate::talk::say;
use crate::{exit, interrupt, output};
use options::Record;
use sampled::{Queue, Taken};
use taut_report::file;

/// `taut record`.
pub fn record(options: &Record) -> ExitCode {
    let (sysfs, _) = match options.place.open() {
        Ok(opened) => opened,
        Err(code) => return code,
    };
    let failed = |error: String| {
        say!("taut: {error}");
        ExitCode::from(exit::FAILED)
    };
    let found = match gather(&sysfs, &options.selection(), Asked::All) {
        Ok(found) => found,
        Err(error) => return failed(error),
    };
    let queues: Result<Vec<Queue>, _> = found.rows().map(|row| Queue::open(&sysfs, row)).collect();
    let mut queues = match queues {
        Ok(queues) if !queues.is_empty() => queues,
        Ok(_) => {
            let why = found.devices.first().and_then(|it| it.why_none);
            let why = why.map_or("no such queue has one", |why| why.text());
            return failed(format!(
                "{} has no byte limit to record: {why}",
                options.device
            ));
        }
        Err(error) => return failed(error.to_string()),
    };
    if let Err(code) = output::check("trace", Some(&options.output)) {
        return code;
    }
    if let Err(error) = interrupt::note() {
        return failed(error.to_string());
    }
    let taken = sampled::take(&mut queues, options);
    let head = Head {
        scenario: format!("record {}", options.device),
        seed: 0,
        taut_version: env!("CARGO_PKG_VERSION").to_owned(),
        sampled_hz: Some(options.hz),
    };
    let mut bytes = 0;
    let written = file::replace_with(&options.output, |file| {
        let mut buffered = BufWriter::new(file);
        bytes = write(&mut buffered, &head, &queues)?;
        buffered.flush()
    });
    if let Err(error) = written {
        return output::write_failed("trace", &options.output, &error);
    }
    tell(options, &taken, &queues, bytes);
    ExitCode::SUCCESS
}

fn write(out: &mut dyn Write, head: &Head, queues: &[Queue]) -> std::io::Result<u64> {
    let mut recorder = Recorder::new(out, head);
    for queue in queues {
        queue.write(&mut recorder);
    }
    recorder.finish()
}

/// How it went: what was asked for, and what the machine allowed.
fn tell(options: &Record, taken: &Taken, queues: &[Queue], bytes: u64) {
    let (rounds, hz) = (taken.rounds, taken.rate_hz());
    let path = options.output.display();
    say!(
        "taut: wrote {bytes} bytes to {path}: {rounds} looks at {} of its queues, {hz} a second of {} asked for",
        queues.len(),
        options.hz
    );
    for queue in queues {
        if let Some(error) = &queue.ended {
            say!("taut: {} ends early: {error}", queue.name);
        }
    }
}
