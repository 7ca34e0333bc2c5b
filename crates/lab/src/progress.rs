//! The progress of a run on standard error.

use std::fmt::Display;

use taut_report::message::ChangingLine;
use taut_report::say;

use crate::control::Control;

/// A changing line on a terminal; otherwise one line for each measurement.
pub struct Progress {
    measurements: usize,
    measurement: usize,
    label: String,
    line: ChangingLine,
    last_received_bytes: u64,
    last_transactions: u64,
}

impl Progress {
    /// Update interval of the line.
    pub const STEP_NS: u64 = 250_000_000;

    /// Creates the progress of a run that consists of a number of measurements.
    pub fn new(measurements: usize) -> Self {
        Self {
            measurements,
            measurement: 0,
            label: String::new(),
            line: ChangingLine::new(),
            last_received_bytes: 0,
            last_transactions: 0,
        }
    }

    /// Begins a measurement of `case`, one of several repetitions.
    pub fn begin(&mut self, case: &impl Display, (repetition, repetitions): (u32, u32)) {
        self.measurement += 1;
        self.label = match repetitions {
            1 => case.to_string(),
            _ => format!("{case}, repetition {repetition}"),
        };
        (self.last_received_bytes, self.last_transactions) = (0, 0);
        if self.line.is_live() {
            self.line.show(&self.place());
        } else {
            say!(
                "row {} of {}: {}",
                self.measurement,
                self.measurements,
                self.label
            );
        }
    }

    /// Shows the load. Call it every [`STEP_NS`](Self::STEP_NS).
    pub fn show(&mut self, control: &Control) {
        let (received, transactions) = (control.received_bytes.get(), control.transactions.get());
        let per_second =
            |now: u64, before: u64| now.saturating_sub(before) * (1_000_000_000 / Self::STEP_NS);
        let mbit = per_second(received, self.last_received_bytes) * 8 / 1_000_000;
        let tps = per_second(transactions, self.last_transactions);
        (self.last_received_bytes, self.last_transactions) = (received, transactions);
        let in_ring = control.in_flight_bytes.get() / 1000;
        self.line.show(&format!(
            "{}: {mbit} Mbit/s, {in_ring} kB in the ring, {tps} transactions/s",
            self.place()
        ));
    }

    fn place(&self) -> String {
        format!(
            "[{}/{}] {}",
            self.measurement, self.measurements, self.label
        )
    }

    /// Clears the line.
    pub fn clear(&mut self) {
        self.line.clear();
    }
}
