//! What the user promises away.

/// How much of the link's time must be used while there is something to send, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utilisation(u32);

impl Utilisation {
    /// 99.9 %: a thousandth of the link for a queue that is a fraction of what zero loss takes.
    pub const DEFAULT: Self = Self(999_000);

    /// The least that can be asked for; below half, hardly any limit is too low.
    pub const LEAST_PPM: u32 = 500_000;

    /// The most that can be asked for: at least a hundred-thousandth must be left to pay debts.
    pub const MOST_PPM: u32 = 999_990;

    /// From millionths; `None` outside of [`LEAST_PPM`](Self::LEAST_PPM) to
    /// [`MOST_PPM`](Self::MOST_PPM).
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

    /// What each byte pays of a debt, with `fraction_bits`: nine tenths of what may be lost. The
    /// last tenth is for what is lost before it is noticed.
    pub(super) const fn allowance(self, fraction_bits: u32) -> u64 {
        let may_lose_ppm = (1_000_000 - self.0) as u64;
        (((may_lose_ppm * 9) << fraction_bits) + 5_000_000) / 10_000_000
    }
}

impl Default for Utilisation {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nine_tenths_of_what_may_be_lost_pay_debts() {
        let allowance = |ppm| Utilisation::from_ppm(ppm).map(|it| it.allowance(20));
        assert_eq!(allowance(999_000), Some(944));
        assert_eq!(allowance(500_000), Some(471_859));
        assert_eq!(allowance(999_990), Some(9), "not nothing");
        assert_eq!([allowance(499_999), allowance(999_991)], [None, None]);
    }
}
