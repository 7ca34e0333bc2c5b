//! The settings of the experiment.

use std::path::PathBuf;

use taut_path::units::{Rate, Time};

/// The experiment.
#[derive(Debug, Clone)]
pub struct Forward {
    /// Rates of the slow link; empty: 100 and 20 Mbit/s.
    pub rates: Vec<Rate>,
    /// Rate of the fast link.
    pub fast: Rate,
    /// Bulk TCP streams.
    pub streams: u32,
    /// Measurement time of each row.
    pub duration: Time,
    /// The seed in the document.
    pub seed: u64,
    /// The path of the report.
    pub report: Option<PathBuf>,
}

impl Forward {
    /// Returns the rates of the slow link.
    pub fn rates(&self) -> Vec<Rate> {
        match &self.rates[..] {
            [] => vec![Rate(100_000_000), Rate(20_000_000)],
            rates => rates.to_vec(),
        }
    }

    /// Returns the command that repeats the run.
    pub fn command(&self) -> String {
        let rates = self.rates.iter().map(|rate| format!(" --rate {rate}"));
        format!(
            "taut lab forward{} --fast-rate {} --streams {} --duration {}",
            rates.collect::<String>(),
            self.fast,
            self.streams,
            self.duration
        )
    }
}
