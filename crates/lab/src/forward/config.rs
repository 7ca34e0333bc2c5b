//! The settings of the experiment.

use std::path::PathBuf;

use taut_path::units::{Rate, Time};

/// The experiment.
#[derive(Debug, Clone)]
pub struct Forward {
    /// Rates of the slow side; 100 and 20 Mbit/s if there are none.
    pub rates: Vec<Rate>,
    /// Rate of the fast side.
    pub fast: Rate,
    /// Bulk TCP streams.
    pub streams: u32,
    /// How long each row is measured.
    pub duration: Time,
    /// The seed in the document.
    pub seed: u64,
    /// Where the page goes.
    pub report: Option<PathBuf>,
}

impl Forward {
    /// The rates of the slow side.
    pub fn rates(&self) -> Vec<Rate> {
        match &self.rates[..] {
            [] => vec![Rate(100_000_000), Rate(20_000_000)],
            rates => rates.to_vec(),
        }
    }

    /// The command that repeats the run.
    pub fn command(&self) -> String {
        let rates = self.rates.iter().map(|rate| format!(" --rate {rate}"));
        format!(
            "taut lab forward{} --fast {} --streams {} --duration {}",
            rates.collect::<String>(),
            self.fast,
            self.streams,
            self.duration
        )
    }
}
