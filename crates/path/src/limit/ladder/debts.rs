//! The accounts of all rungs, and the limit that they make.

use super::account::{Account, Terms};
use super::rung::{self, RUNGS};
use crate::limit::sizing::Sizer;

/// Rungs watched below the limit, half an octave: each costs time for each need that exceeds it,
/// and a rung that comes into view is judged like the one above it.
const WATCHED: usize = 4;

/// The longest memory, in ms of allowance at full rate: what exceeded a rung ten seconds ago says
/// nothing of now.
const LONGEST_MEMORY_MS: u64 = 10_000;

/// Fraction bits of what a byte pays.
pub const FRACTION_BITS: u32 = 20;

/// The accounts of all rungs. Only those from `low` up to below `top` are kept: any rung above owes
/// nothing, any below owes too much.
#[derive(Debug, Clone)]
pub struct Debts {
    accounts: [Account; RUNGS],
    low: usize,
    top: usize,
    terms: Terms,
    /// What a byte pays, and the fraction of a byte that was paid besides.
    allowance: u64,
    paid_fraction: u64,
    limit_bytes: u32,
    /// The largest need so far, which no limit may exceed.
    largest_need_bytes: u32,
}

impl Debts {
    /// Nothing owed. A byte pays `allowance`, below 1.
    pub fn new(allowance: u64) -> Self {
        debug_assert!(0 < allowance && allowance < 1 << FRACTION_BITS);
        Self {
            accounts: [Account::default(); RUNGS],
            low: 0,
            top: 0,
            terms: Terms {
                paid: 0,
                // Not known before the rate is.
                most_bytes: u64::MAX,
            },
            allowance,
            paid_fraction: 0,
            limit_bytes: 0,
            largest_need_bytes: 0,
        }
    }

    /// Every byte that moves pays for all rungs.
    fn pay(&mut self, bytes: u64) {
        // Below 2^32 the product fits; no interval is that long.
        let bytes = bytes.min(u64::from(u32::MAX));
        let paid = bytes * self.allowance + self.paid_fraction;
        self.terms.paid += paid >> FRACTION_BITS;
        self.paid_fraction = paid & ((1 << FRACTION_BITS) - 1);
    }

    /// Charges every rung below `need_bytes`.
    fn charge(&mut self, need_bytes: u32, weight: u32) {
        let Some(exceeded) = need_bytes.checked_sub(1) else {
            return;
        };
        let highest = rung::index(exceeded);
        self.top = self.top.max(highest + 1);
        for rung in self.low..=highest {
            let excess = need_bytes - rung::bytes(rung);
            self.accounts[rung].charge(excess, weight, &self.terms);
        }
    }

    /// Finds the limit, and moves the window of rungs that are kept.
    fn choose(&mut self) {
        while self.top > self.low + 1 && self.accounts[self.top - 1].debt(&self.terms) == 0 {
            self.top -= 1;
            self.accounts[self.top].close();
        }
        let too_deep = (self.low..self.top)
            .rev()
            .find(|&rung| self.accounts[rung].is_too_deep(&self.terms));
        match too_deep {
            Some(rung) => {
                // The next rung, or less if nothing exceeded this one by so much.
                let exceedance = self.accounts[rung].exceedance();
                let enough = rung::bytes(rung).saturating_add(exceedance);
                self.limit_bytes = enough.min(rung::bytes(rung + 1));
                self.low = self.low.max(rung.saturating_sub(WATCHED));
            }
            None => self.go_down(),
        }
    }

    /// Every rung that is kept is good, so the limit goes to the lowest of them, and those below
    /// it are watched from now on.
    fn go_down(&mut self) {
        self.limit_bytes = rung::bytes(self.low);
        let lower = self.low.saturating_sub(WATCHED);
        let above = self.accounts[self.low];
        for rung in lower..self.low {
            self.accounts[rung] = Account::given_up(rung::bytes(rung), &above, &self.terms);
        }
        if self.low > 0 {
            self.top = self.top.max(self.low);
        }
        self.low = lower;
    }
}

impl Sizer for Debts {
    fn unrefused(&mut self, bytes: u64) {
        self.pay(bytes);
    }

    fn needed(&mut self, need_bytes: u32, weight: u32, _now_ns: u64) {
        self.pay(u64::from(need_bytes));
        self.charge(need_bytes, weight);
        self.choose();
        self.largest_need_bytes = self.largest_need_bytes.max(need_bytes);
        debug_assert!(self.low <= self.top && self.top <= RUNGS);
        debug_assert!(
            self.limit_bytes <= self.largest_need_bytes,
            "no limit without a need for it"
        );
    }

    fn rate_is(&mut self, bytes_per_ms: u64) {
        let most = bytes_per_ms * LONGEST_MEMORY_MS * self.allowance;
        self.terms.most_bytes = most >> FRACTION_BITS;
    }

    fn lost(&self) -> u64 {
        self.allowance
    }

    fn limit_bytes(&self) -> u32 {
        self.limit_bytes
    }

    fn put(&mut self, limit_bytes: u32) {
        self.limit_bytes = limit_bytes;
    }

    /// Its memory is measured in what was lost and paid, not in time.
    fn set_memory_ns(&mut self, _memory_ns: u64) {}

    fn reset(&mut self, _now_ns: u64) {
        *self = Self::new(self.allowance);
    }
}
