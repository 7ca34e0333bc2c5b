//! The debt ladder: the smallest limit whose losses stay within what the user promised.
//!
//! The largest need of all is a bad limit: a gap of 1 ms among thousands of 100 us makes everything
//! wait ten times longer, to save less than a thousandth of the link's time. Given a wanted
//! utilisation of 99.9 %, 0.1 % of the bytes *may* be lost, and the limit should be the smallest
//! that loses no more.
//!
//! Each candidate limit, a *rung*, keeps an account of what it would have lost. A need above it
//! adds the excess to its **debt**; each byte that moves pays a thousandth back. A rung deep in
//! debt is too low. The limit stands just above the highest such rung:
//!
//! ```text
//!   bytes  debt       each # is one exceedance of this rung; more than 8 are too deep
//!   ...
//!    26k   |
//!    24k   |##
//!    22k   |###                     <- limit: from here up, nobody is too deep in debt
//!    20k   |#########
//!    18k   |##############          a rung remembers 16 exceedances at most, so that it is
//!    16k   |################        forgiven in bounded time once they stop
//!    ...   not kept: an octave below the limit is enough to see where to go next
//! ```
//!
//! A rung is given up when more than [`TOLERATED`] exceedances are unpaid, so a rare gap is not
//! paid for until it proved to be frequent; and it is taken up again only when its debt is below
//! that, so the limit does not swing.

mod rung;

use taut_dql::{Error, MAX_LIMIT};

use super::Limit;
use super::front::{self, Bounds, FrontCompleter, FrontSender, Sizer};
use rung::RUNGS;

/// Exceedances that a rung may have unpaid before it is given up: few enough that a real change is
/// learned at once, enough that chance alone does not raise the limit.
const TOLERATED: u64 = 8;

/// Further exceedances that a rung remembers. A need that stays away for so many times its price
/// is forgotten; should it come again, it costs at most an eighth of the allowance more.
const REMEMBERED: u64 = 8;

/// Rungs watched below the limit: an octave, so that a limit twice too high goes down in one step.
const WATCHED: usize = 8;

/// The longest memory, in ms of allowance at full rate: what exceeded a rung ten seconds ago says
/// nothing of now.
const LONGEST_MEMORY_MS: u64 = 10_000;

/// Fraction bits of what a byte pays back.
const FRACTION_BITS: u32 = 20;

/// How much of the link's time must be used, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utilisation(u32);

impl Utilisation {
    /// 99.9 %: a thousandth of the link for a queue that is a fraction of what zero loss takes.
    pub const DEFAULT: Self = Self(999_000);

    /// The least that can be asked for; below half, hardly any limit is too low.
    pub const LEAST_PPM: u32 = 500_000;

    /// The most that can be asked for: a hundred-thousandth must remain to be paid back with.
    pub const MOST_PPM: u32 = 999_990;

    /// From millionths, [`LEAST_PPM`](Self::LEAST_PPM) to [`MOST_PPM`](Self::MOST_PPM).
    pub const fn from_ppm(ppm: u32) -> Option<Self> {
        if ppm < Self::LEAST_PPM || ppm > Self::MOST_PPM {
            return None;
        }
        Some(Self(ppm))
    }

    /// In millionths.
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// What a byte pays back, with [`FRACTION_BITS`]: nine tenths of what may be lost, the rest is
    /// for what is lost before it is noticed.
    const fn allowance(self) -> u64 {
        let may_lose_ppm = (1_000_000 - self.0) as u64;
        (((may_lose_ppm * 9) << FRACTION_BITS) + 5_000_000) / 10_000_000
    }
}

impl Default for Utilisation {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The debt ladder, over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    /// How much of the link's time must be used while a sender has something to send.
    pub utilisation: Utilisation,
    /// The least that the rule may set, in bytes.
    pub min_limit: u32,
    /// The most that the rule may set, in bytes.
    pub max_limit: u32,
}

impl Default for Ladder {
    fn default() -> Self {
        Self {
            utilisation: Utilisation::DEFAULT,
            min_limit: 0,
            max_limit: MAX_LIMIT,
        }
    }
}

impl Limit for Ladder {
    type Sender = FrontSender;
    type Completer = FrontCompleter<Debts>;

    fn split(self, now_ns: u64) -> Result<(Self::Sender, Self::Completer), Error> {
        let bounds = Bounds {
            min_limit: self.min_limit,
            max_limit: self.max_limit,
        };
        front::split(Debts::new(self.utilisation), bounds, now_ns)
    }

    fn reset(
        sender: &mut Self::Sender,
        completer: &mut Self::Completer,
        now_ns: u64,
    ) -> Result<(), Error> {
        front::reset(sender, completer, now_ns)
    }
}

/// The accounts of all rungs. Only those from `low` up to below `top` are kept; any other owes
/// nothing if it is above, and too much if it is below.
#[derive(Debug, Clone)]
pub struct Debts {
    /// What a byte pays back.
    allowance: u64,
    /// Paid back so far, in bytes, and the fraction of one.
    paid: u64,
    paid_fraction: u64,
    /// A rung owes what this is above `paid`: so one sum pays all debts at once.
    due: [u64; RUNGS],
    /// The largest exceedance of a rung, slowly forgotten.
    exceedance: [u32; RUNGS],
    low: usize,
    top: usize,
    /// The most that is tolerated and remembered, whatever the exceedance: the allowance of
    /// [`LONGEST_MEMORY_MS`]. While the rate is not known nothing is tolerated, so that a new
    /// queue finds its limit at once.
    most_tolerated: u64,
    most_remembered: u64,
    limit_bytes: u32,
}

impl Debts {
    fn new(utilisation: Utilisation) -> Self {
        Self::with_allowance(utilisation.allowance())
    }

    fn with_allowance(allowance: u64) -> Self {
        Self {
            allowance,
            paid: 0,
            paid_fraction: 0,
            due: [0; RUNGS],
            exceedance: [0; RUNGS],
            low: 0,
            top: 0,
            most_tolerated: 0,
            most_remembered: u64::MAX,
            limit_bytes: 0,
        }
    }

    fn pay(&mut self, bytes: u64) {
        let paid = bytes.min(u64::from(u32::MAX)) * self.allowance + self.paid_fraction;
        self.paid += paid >> FRACTION_BITS;
        self.paid_fraction = paid & ((1 << FRACTION_BITS) - 1);
    }

    fn debt(&self, rung: usize) -> u64 {
        self.due[rung].saturating_sub(self.paid)
    }

    fn tolerated(&self, rung: usize) -> u64 {
        (TOLERATED * u64::from(self.exceedance[rung])).min(self.most_tolerated)
    }

    fn remembered(&self, rung: usize) -> u64 {
        (REMEMBERED * u64::from(self.exceedance[rung])).min(self.most_remembered)
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
            let before = self.exceedance[rung];
            self.exceedance[rung] = excess.max(before - (before >> 4));
            let owed = self.debt(rung);
            let most = self.tolerated(rung) + self.remembered(rung);
            let charged = owed + u64::from(excess) * u64::from(weight);
            self.due[rung] = self.paid + charged.min(most.max(owed));
        }
    }

    /// Finds the limit, and moves the window of rungs that are kept.
    fn choose(&mut self) {
        while self.top > self.low + 1 && self.due[self.top - 1] <= self.paid {
            self.top -= 1;
            self.exceedance[self.top] = 0;
        }
        let too_deep = (self.low..self.top)
            .rev()
            .find(|&rung| self.debt(rung) > self.tolerated(rung));
        match too_deep {
            Some(rung) => {
                // Nothing exceeded this rung by more than that.
                let enough = rung::bytes(rung).saturating_add(self.exceedance[rung]);
                self.limit_bytes = enough.min(rung::bytes(rung + 1));
                self.low = self.low.max(rung.saturating_sub(WATCHED));
            }
            None => self.go_down(),
        }
    }

    /// Every rung that is kept is good, so the limit goes to the lowest of them, and the octave
    /// below it is tried: each of its rungs begins as deep in debt as can be, as if just given up.
    fn go_down(&mut self) {
        self.limit_bytes = rung::bytes(self.low);
        let lower = self.low.saturating_sub(WATCHED);
        for rung in lower..self.low {
            // The needs seen last were not far above: an eighth, one rung.
            self.exceedance[rung] = (rung::bytes(rung) >> 3) + 1;
            self.due[rung] = self.paid + self.tolerated(rung) + self.remembered(rung);
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
    }

    fn rate_is(&mut self, bytes_per_ms: u64) {
        let most = (bytes_per_ms * LONGEST_MEMORY_MS * self.allowance) >> FRACTION_BITS;
        self.most_tolerated = most;
        self.most_remembered = most;
    }

    fn limit_bytes(&self) -> u32 {
        self.limit_bytes
    }

    fn put(&mut self, limit_bytes: u32) {
        self.limit_bytes = limit_bytes;
    }

    /// Its memory is measured in exceedances, not in time.
    fn set_memory_ns(&mut self, _memory_ns: u64) {}

    fn reset(&mut self, _now_ns: u64) {
        *self = Self::with_allowance(self.allowance);
    }
}
