//! What one rung would have lost, and what of that is not paid yet.

/// Exceedances that a rung may have unpaid before it is given up: so many that chance alone does
/// not raise the limit.
const TOLERATED: u32 = 8;

/// Further exceedances that a rung remembers at most. A need that stays away for so many times its
/// price is forgotten; if it keeps coming back just then, that costs an eighth of the allowance.
const REMEMBERED: u32 = 8;

/// Exceedances that come so many times faster than the allowance can pay for them are no chance:
/// the second one already says that the rung is too low. By chance one in 64 is as fast as that.
const HOPELESS: u64 = 64;

/// A need that stayed away for so many times its longest wait is over. By chance, with waits
/// around a mean, that happens once in e^8, some 3,000, waits at most.
const OVER: u32 = 8;

/// A young queue bears such a part of what was paid, 2^-3: what it learns by losing is then little beside what
/// no rule can know before.
const YOUNG_BEARS_SHIFT: u32 = 3;

/// It is young for such a part of the longest memory: 1.25 s, and then bears whatever is paid later. A promise holds
/// from 1 s on.
const YOUNG_SHIFT: u32 = 3;

/// No more debt than that is borne or remembered: 10 s of what 400 Gbit/s pay at 99.9 %. So all amounts fit
/// in 32 bits.
const MOST_BYTES: u32 = 1 << 29;

/// What all rungs have in common at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    /// Paid so far, in bytes, wrapping: by this much has every debt fallen since the reset.
    paid: u32,
    /// The most that is tolerated, and that is remembered beyond it, whatever the exceedance.
    most_bytes: u32,
    /// Paid since the reset, in bytes; no more than 32 bits hold.
    paid_in_all: u32,
    /// The most that is tolerated at this age: found once, for all rungs.
    borne_bytes: u32,
}

impl Terms {
    /// Nothing paid.
    pub(crate) const fn new() -> Self {
        Self {
            paid: 0,
            most_bytes: MOST_BYTES,
            paid_in_all: 0,
            borne_bytes: 0,
        }
    }

    /// Pays so much of every debt; whoever pays 2^30 in all calls [`Account::settle`] on each account meanwhile.
    pub(crate) fn pay(&mut self, bytes: u32) {
        self.paid = self.paid.wrapping_add(bytes);
        self.paid_in_all = self.paid_in_all.saturating_add(bytes);
        self.find_borne();
    }

    /// Finds what may be borne without having lost more than was paid, for any exceedance.
    fn find_borne(&mut self) {
        let later = self
            .paid_in_all
            .saturating_sub(self.most_bytes >> YOUNG_SHIFT);
        let bearable = later.max(self.paid_in_all >> YOUNG_BEARS_SHIFT);
        self.borne_bytes = bearable.min(self.most_bytes);
    }

    /// Tolerates and remembers no more than that.
    pub(crate) fn set_most(&mut self, bytes: u64) {
        self.most_bytes = u32::try_from(bytes).map_or(MOST_BYTES, |bytes| bytes.min(MOST_BYTES));
        self.find_borne();
    }
}

/// The account of one rung; all in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Account {
    /// The debt is what this is above what was paid: one sum pays all debts at once.
    due: u32,
    /// The largest exceedance, slowly forgotten.
    exceedance: u32,
    /// What had been paid at the last exceedance.
    last: u32,
    /// The longest wait from one exceedance to the next, in what was paid meanwhile, slowly
    /// forgotten; at most the price of one.
    wait: u32,
}

impl Account {
    /// Of a rung that was never exceeded, or not for long.
    pub(crate) fn new(terms: &Terms) -> Self {
        let not_for = terms.paid_in_all.min(1 << 31);
        Self {
            due: terms.paid,
            exceedance: 0,
            last: terms.paid.wrapping_sub(not_for),
            wait: 0,
        }
    }

    /// Of a rung that owed nothing, from now on.
    pub(crate) fn open(&mut self, terms: &Terms) {
        self.exceedance = 0;
        self.owe(0, terms);
    }

    /// As deep in debt as can be for a rung of `rung_bytes`, as if it had just been given up like
    /// the one `above` it. The needs seen last were not far above: an eighth, one rung.
    pub(crate) fn given_up(rung_bytes: u32, above: &Self, terms: &Terms) -> Self {
        let mut account = Self {
            exceedance: (rung_bytes >> 3) + 1,
            ..*above
        };
        account.owe(account.tolerated(terms) + account.remembered(terms), terms);
        account
    }

    /// What is not paid yet, at most 2^30.
    pub(crate) fn debt(&self, terms: &Terms) -> u32 {
        (self.due.wrapping_sub(terms.paid) as i32).max(0) as u32
    }

    fn owe(&mut self, bytes: u32, terms: &Terms) {
        self.due = terms.paid.wrapping_add(bytes);
    }

    /// Forgets how long ago a debt was paid.
    pub(crate) fn settle(&mut self, terms: &Terms) {
        self.owe(self.debt(terms), terms);
    }

    /// The largest exceedance of late.
    pub(crate) fn exceedance(&self) -> u32 {
        self.exceedance
    }

    /// Whether the rung is too low.
    pub(crate) fn is_too_deep(&self, terms: &Terms) -> bool {
        self.debt(terms) > self.tolerated(terms)
    }

    /// The device has become so much slower, as a share over 2^16: a debt is worth link time, and so is fewer
    /// bytes now.
    pub(crate) fn slow_down(&mut self, share: u32, terms: &Terms) {
        let slower = |bytes: u32| ((u64::from(bytes) * u64::from(share)) >> 16) as u32;
        self.owe(slower(self.debt(terms)), terms);
        self.wait = slower(self.wait);
    }

    /// The rung was exceeded by `excess`, at least 1, which counts `weight` times.
    pub(crate) fn charge(&mut self, excess: u32, weight: u32, terms: &Terms) {
        let before = self.exceedance;
        self.exceedance = excess.max(before - (before >> 4));
        let hopeless = self.waited(excess, terms);
        let weight = if hopeless {
            weight.max(TOLERATED)
        } else {
            weight
        };
        let debt = self.debt(terms);
        let most = (self.tolerated(terms) + self.remembered(terms)).max(debt);
        let charged = u64::from(debt) + u64::from(excess) * u64::from(weight);
        self.owe(charged.min(most.into()) as u32, terms);
        debug_assert!(self.debt(terms) <= most, "the memory is bounded");
    }

    /// Notes how long the exceedance took to come. Returns whether that was hopelessly short.
    fn waited(&mut self, excess: u32, terms: &Terms) -> bool {
        let waited = terms.paid.wrapping_sub(self.last);
        self.last = terms.paid;
        // A long wait is remembered for about eight times the price of an exceedance, however
        // short those after it are: forgetting a need costs that price, and so can happen for at
        // most an eighth of the allowance.
        let price = self.exceedance.max(1);
        let faded = (u64::from(self.wait) * u64::from(waited)) >> (price.ilog2() + 3);
        let longest = u64::from(self.wait).saturating_sub(faded + 1);
        self.wait = (longest as u32).max(waited).min(price);
        u64::from(waited) * HOPELESS < u64::from(excess)
    }

    /// So many bytes of debt are borne: [`TOLERATED`] exceedances, but never more than a queue of this age
    /// can. So a new queue finds its limit at once.
    fn tolerated(&self, terms: &Terms) -> u32 {
        let bytes = u64::from(self.exceedance) * u64::from(TOLERATED);
        bytes.min(terms.borne_bytes.into()) as u32
    }

    /// So many bytes of debt are remembered beyond those that are borne: as long as it takes to be
    /// sure that the need is over, no longer than [`REMEMBERED`] exceedances are worth, and no
    /// shorter than an eighth of one, or a rung could never be too deep.
    fn remembered(&self, terms: &Terms) -> u32 {
        let exceedance = u64::from(self.exceedance);
        let least = (exceedance >> 3) + 1;
        let worth = exceedance * u64::from(REMEMBERED);
        let sure = u64::from(self.wait) * u64::from(OVER);
        sure.max(least).min(worth).min(terms.most_bytes.into()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICE: u32 = 100_000;

    /// Long after the reset.
    fn at(paid: u64) -> Terms {
        let mut terms = Terms {
            paid: paid as u32,
            most_bytes: MOST_BYTES,
            paid_in_all: u32::MAX,
            borne_bytes: 0,
        };
        terms.find_borne();
        terms
    }

    /// Exceedances so far apart, in what is paid meanwhile. Returns how many it takes until the
    /// rung is given up, long after the reset.
    fn given_up_after(wait: u64) -> Option<u64> {
        let start = 100 * u64::from(PRICE);
        let mut account = Account::new(&at(start));
        (0..1_000)
            .find(|count| {
                let terms = at(start + count * wait);
                account.charge(PRICE, 1, &terms);
                account.is_too_deep(&terms)
            })
            .map(|before| before + 1)
    }

    #[test]
    fn a_rung_is_given_up_the_sooner_the_less_can_be_paid() {
        let price = u64::from(PRICE);
        assert_eq!(given_up_after(price + 1), None, "all is paid");
        assert_eq!(given_up_after(price / 2), Some(16));
        assert_eq!(given_up_after(price / 10), Some(9));
        assert_eq!(
            given_up_after(price / 64 + 1),
            Some(9),
            "it could be chance"
        );
        assert_eq!(given_up_after(price / 64 - 1), Some(2), "it is not");
        assert_eq!(given_up_after(0), Some(2));
    }

    #[test]
    fn nothing_is_borne_before_anything_was_paid() {
        let mut account = Account::default();
        account.charge(PRICE, 1, &Terms::new());
        assert!(account.is_too_deep(&Terms::new()));
    }

    #[test]
    fn a_young_queue_bears_an_eighth_of_what_was_paid_and_an_older_one_all_that_was_paid_later() {
        let bearable = |paid_in_all| {
            let mut terms = Terms::new();
            terms.set_most(80_000);
            terms.pay(paid_in_all);
            terms.borne_bytes
        };
        assert_eq!([0, 8_000, 11_000].map(bearable), [0, 1_000, 1_375]);
        assert_eq!([20_000, 90_000].map(bearable), [10_000, 80_000]);
    }

    /// How much must be paid until a rung is good again that was exceeded `wait` apart for long.
    fn forgiven_after(wait: u64) -> u64 {
        let (mut account, mut paid) = (Account::default(), 1_000_000_000);
        for _ in 0..100_000 {
            paid += wait;
            account.charge(PRICE, 1, &at(paid));
        }
        (0..)
            .find(|after| !account.is_too_deep(&at(paid + after)))
            .expect("debts are paid")
    }

    #[test]
    fn a_rung_is_forgiven_when_its_exceedances_are_over_for_sure() {
        assert_eq!(forgiven_after(100), u64::from(PRICE) / 8 + 1, "the least");
        assert_eq!(forgiven_after(3_000), 8 * 3_000);
        let most = 8 * u64::from(PRICE);
        assert_eq!(forgiven_after(u64::from(PRICE) * 9 / 10), most * 9 / 10);
    }

    #[test]
    fn a_long_wait_is_remembered_for_eight_prices() {
        let mut account = Account::default();
        let (wait, mut paid) = (20_000, 0);
        account.charge(PRICE, 1, &at(paid));
        paid += wait;
        account.charge(PRICE, 1, &at(paid));
        let remembered = |account: &Account, paid| u64::from(account.remembered(&at(paid)) / OVER);
        assert_eq!(remembered(&account, paid), wait);
        for _ in 0..8_000 {
            paid += 100;
            account.charge(PRICE, 1, &at(paid));
        }
        // Eight prices later about an e-th of it is left.
        let left = remembered(&account, paid);
        assert!((wait / 8..wait / 2).contains(&left), "{left}");
    }

    #[test]
    fn no_amounts_overflow() {
        let terms = at(u64::from(u32::MAX));
        let mut account = Account::new(&terms);
        for _ in 0..100 {
            account.charge(i32::MAX as u32, u32::MAX, &terms);
        }
        assert_eq!(account.debt(&terms), 2 * MOST_BYTES);
        let below = Account::given_up(1 << 30, &account, &terms);
        assert!(below.is_too_deep(&terms));
        // What was paid wraps.
        assert!(!below.is_too_deep(&at(u64::from(u32::MAX) + (1 << 30))));
    }

    #[test]
    fn a_device_ten_times_slower_owes_a_tenth() {
        let mut account = Account::new(&at(0));
        account.charge(PRICE, 1, &at(0));
        account.slow_down((1 << 16) / 10, &at(0));
        assert!(account.debt(&at(0)).abs_diff(PRICE / 10) < 20);
        assert_eq!(
            account.exceedance(),
            PRICE,
            "the need was as large as it was"
        );
    }
}
