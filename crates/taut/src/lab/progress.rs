//! The progress line of a lab.

use std::fmt::Display;

use super::control::Control;
use crate::talk::{ChangingLine, say};

/// Talks on stderr: one line that changes on a terminal, a line for each row otherwise.
pub struct Progress {
    rows: usize,
    row: usize,
    case: Option<String>,
    line: ChangingLine,
    last_received_bytes: u64,
    last_transactions: u64,
}

impl Progress {
    /// Time between two changes of the line.
    pub const STEP_NS: u64 = 250_000_000;

    /// For so many rows.
    pub fn new(rows: usize) -> Self {
        Self {
            rows,
            row: 0,
            case: None,
            line: ChangingLine::new(),
            last_received_bytes: 0,
            last_transactions: 0,
        }
    }

    /// A row begins.
    pub fn begin(&mut self, case: &impl Display) {
        self.row += 1;
        self.case = Some(case.to_string());
        (self.last_received_bytes, self.last_transactions) = (0, 0);
        if !self.line.is_live() {
            say!("row {} of {}: {case}", self.row, self.rows);
        }
    }

    /// Shows where the row is, once each [`STEP_NS`](Self::STEP_NS).
    pub fn show(&mut self, control: &Control) {
        let (received, transactions) = (control.received_bytes.get(), control.transactions.get());
        let per_second =
            |now: u64, before: u64| now.saturating_sub(before) * (1_000_000_000 / Self::STEP_NS);
        let mbit = per_second(received, self.last_received_bytes) * 8 / 1_000_000;
        let tps = per_second(transactions, self.last_transactions);
        (self.last_received_bytes, self.last_transactions) = (received, transactions);
        if let Some(case) = &self.case {
            let in_ring = control.in_flight_bytes.get() / 1000;
            self.line.show(&format!(
                "[{}/{}] {case}: {mbit} Mbit/s, {in_ring}K in the ring, {tps} transactions/s",
                self.row, self.rows
            ));
        }
    }

    /// Takes the line away.
    pub fn clear(&self) {
        self.line.clear();
    }
}
