//! The accounts of all rungs, and the limit that they make.

use super::account::{Account, Terms};
use super::rung;
use crate::limit::sizing::Sizer;

/// Rungs watched below the limit, half an octave: each costs time for each need that exceeds it,
/// and a rung that comes into view is judged like the one above it.
const WATCHED: u32 = 4;

/// The longest memory, in ms of allowance at full rate: what exceeded a rung ten seconds ago says
/// nothing of now.
const LONGEST_MEMORY_MS: u64 = 10_000;

/// Fraction bits of what a byte pays.
pub(crate) const FRACTION_BITS: u32 = 20;

/// Rungs whose accounts are kept, eight octaves from half an octave below the limit on. A need above the last
/// of them counts as one of it: a device that needs 180 times the limit is not found at once.
const KEPT: usize = 64;

/// So much is paid until debts that are paid are made to begin anew: far below what 32 bits tell apart.
const SETTLED_AFTER: u32 = 1 << 29;

/// The device is as fast as the fastest estimate of so long: longer than a device that sends in turns rests.
const RATE_HOLDS_NS: u64 = 125_000_000;

/// The accounts of all rungs. Only those from `low` up to below `top` are kept: any rung above owes
/// nothing, any below owes too much.
#[derive(Debug, Clone)]
pub(crate) struct Debts {
    /// Each rung has its place, which is that of others above and below.
    accounts: [Account; KEPT],
    low: u32,
    top: u32,
    /// From `top` to below this, an account says how long its rung was not exceeded.
    known: u32,
    terms: Terms,
    /// What a byte pays, and the fraction of a byte that was paid besides.
    allowance: u32,
    paid_fraction: u32,
    /// Paid since the accounts were settled.
    unsettled: u32,
    limit_bytes: u32,
    /// The largest need so far, which no limit may exceed.
    largest_need_bytes: u32,
    rate: Rate,
}

/// How fast the device is, in bytes a ms.
#[derive(Debug, Clone, Copy, Default)]
struct Rate {
    /// When the debts were made.
    of_debts: u64,
    /// The fastest of late.
    fastest: u64,
    since_ns: u64,
}

impl Debts {
    /// Nothing owed. A byte pays `allowance`, below 1.
    pub(crate) fn new(allowance: u32) -> Self {
        debug_assert!(0 < allowance && allowance < 1 << FRACTION_BITS);
        Self {
            accounts: [Account::default(); KEPT],
            low: 0,
            top: 0,
            known: 0,
            terms: Terms::new(),
            allowance,
            paid_fraction: 0,
            unsettled: 0,
            limit_bytes: 0,
            largest_need_bytes: 0,
            rate: Rate::default(),
        }
    }

    fn account(&mut self, rung: u32) -> &mut Account {
        &mut self.accounts[rung as usize % KEPT]
    }

    /// Every byte that moves pays for all rungs.
    fn pay(&mut self, bytes: u64) {
        // No interval is longer, and the product fits.
        let bytes = bytes.min(1 << 30);
        let paid = bytes * u64::from(self.allowance) + u64::from(self.paid_fraction);
        self.paid_fraction = paid as u32 & ((1 << FRACTION_BITS) - 1);
        let paid = (paid >> FRACTION_BITS) as u32;
        self.terms.pay(paid);
        self.unsettled += paid;
        if self.unsettled >= SETTLED_AFTER {
            self.unsettled = 0;
            for account in &mut self.accounts {
                account.settle(&self.terms);
            }
        }
    }

    /// Begins the accounts up to that of the rung that `need_bytes` exceeds, and says which that is; nothing
    /// where it exceeds none.
    fn reach(&mut self, need_bytes: u32) -> Option<u32> {
        let highest = rung::index(need_bytes.checked_sub(1)?);
        if self.top == 0 {
            self.low = highest.saturating_sub(WATCHED);
            self.top = self.low;
        }
        let highest = highest.min(self.low + KEPT as u32 - 1);
        while self.top <= highest {
            let terms = self.terms;
            if self.top < self.known {
                self.account(self.top).open(&terms);
            } else {
                *self.account(self.top) = Account::new(&terms);
            }
            self.top += 1;
        }
        self.known = self.known.max(self.top);
        Some(highest)
    }

    /// Charges every rung below `need_bytes`.
    fn charge(&mut self, need_bytes: u32, weight: u32) {
        let Some(highest) = self.reach(need_bytes) else {
            return;
        };
        let terms = self.terms;
        for rung in self.low..highest + 1 {
            let excess = need_bytes - rung::bytes(rung);
            self.account(rung).charge(excess, weight, &terms);
        }
    }

    /// Finds the limit, and moves the window of rungs that are kept.
    fn choose(&mut self) {
        let terms = self.terms;
        while self.top > self.low + 1 && self.account(self.top - 1).debt(&terms) == 0 {
            self.top -= 1;
        }
        let too_deep = (self.low..self.top)
            .rev()
            .find(|&rung| self.account(rung).is_too_deep(&terms));
        match too_deep {
            Some(rung) => {
                // The next rung, or less if nothing exceeded this one by so much.
                let exceedance = self.account(rung).exceedance();
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
        let (low, terms) = (self.low, self.terms);
        self.limit_bytes = rung::bytes(low);
        let above = *self.account(low);
        self.low = low.saturating_sub(WATCHED);
        for rung in self.low..low {
            *self.account(rung) = Account::given_up(rung::bytes(rung), &above, &terms);
        }
        let end = self.low + KEPT as u32;
        self.top = self.top.max(low).min(end);
        self.known = self.known.max(self.top).min(end);
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
        debug_assert!(self.low <= self.top && self.top <= self.low + KEPT as u32);
        debug_assert!(
            self.limit_bytes <= self.largest_need_bytes,
            "no limit without a need for it"
        );
    }

    fn rate_is(&mut self, bytes_per_ms: u64, now_ns: u64) {
        let most = bytes_per_ms * LONGEST_MEMORY_MS * u64::from(self.allowance);
        self.terms.set_most(most >> FRACTION_BITS);
        let rate = &mut self.rate;
        rate.fastest = rate.fastest.max(bytes_per_ms);
        if now_ns.saturating_sub(rate.since_ns) < RATE_HOLDS_NS {
            return;
        }
        let fastest = core::mem::replace(&mut rate.fastest, bytes_per_ms);
        rate.since_ns = now_ns;
        let before = core::mem::replace(&mut rate.of_debts, fastest);
        // A device as fast as before, or nearly: estimates differ.
        if fastest >= before - before / 8 * 3 {
            return;
        }
        let share = ((fastest << 16) / before) as u32;
        let terms = self.terms;
        for rung in self.low..self.top {
            self.account(rung).slow_down(share, &terms);
        }
    }

    fn may_lose(&self) -> u64 {
        self.allowance.into()
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
