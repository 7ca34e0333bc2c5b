//! The rounds of a row, and their medians.

use hdrhistogram::Histogram;

use super::case::Case;
use super::row::Ran;

/// A row, as often as it was run.
pub struct Rounds {
    pub case: Case,
    ran: Vec<Ran>,
}

impl Rounds {
    pub fn new(case: Case) -> Self {
        Self { case, ran: vec![] }
    }

    pub fn push(&mut self, ran: Ran) {
        self.ran.push(ran);
    }

    /// How often it was run.
    pub fn count(&self) -> usize {
        self.ran.len()
    }

    /// The median over the rounds; of an even number the lower middle, so that each is a measured one.
    pub fn median(&self, of: impl Fn(&Ran) -> u64) -> u64 {
        let mut values: Vec<u64> = self.ran.iter().map(of).collect();
        values.sort_unstable();
        let middle = values.len().saturating_sub(1) / 2;
        values.get(middle).copied().unwrap_or(0)
    }

    /// As [`median`](Self::median), of what not every row has.
    pub fn median_of_some(&self, of: impl Fn(&Ran) -> Option<u64>) -> Option<u64> {
        self.ran.first().and_then(&of)?;
        Some(self.median(|ran| of(ran).unwrap_or(0)))
    }

    /// The times of all requests of all rounds.
    pub fn request_ns(&self) -> Option<Histogram<u64>> {
        let (first, others) = self.ran.split_first()?;
        let mut all = first.request_ns.clone();
        for other in others {
            // Made alike, so they fit.
            let _ = all.add(&other.request_ns);
        }
        Some(all).filter(|all| !all.is_empty())
    }
}
