//! What the user promises away.

use core::fmt;
use core::str::FromStr;

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

/// Why a share was not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseUtilisationError;

impl fmt::Display for ParseUtilisationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let least = Utilisation(Utilisation::LEAST_PPM);
        let most = Utilisation(Utilisation::MOST_PPM);
        write!(
            f,
            "a utilisation is {least} to {most}, with up to four decimals, such as 99.5%"
        )
    }
}

impl core::error::Error for ParseUtilisationError {}

/// Decimals of a share in per cent that millionths can hold.
const DECIMALS: usize = 4;

impl FromStr for Utilisation {
    type Err = ParseUtilisationError;

    fn from_str(text: &str) -> Result<Self, ParseUtilisationError> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let percent = text.strip_suffix('%').ok_or(ParseUtilisationError)?;
        let (whole, decimals) = percent.split_once('.').unwrap_or((percent, "0"));
        let sound = (1..=3).contains(&whole.len())
            && (1..=DECIMALS).contains(&decimals.len())
            && digits(whole)
            && digits(decimals);
        if !sound {
            return Err(ParseUtilisationError);
        }
        let number = |text: &str| text.parse::<u32>().map_err(|_| ParseUtilisationError);
        let scale = 10_u32.pow((DECIMALS - decimals.len()) as u32);
        Self::from_ppm(number(whole)? * 10_000 + number(decimals)? * scale)
            .ok_or(ParseUtilisationError)
    }
}

impl fmt::Display for Utilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, mut decimals, mut places) = (self.0 / 10_000, self.0 % 10_000, DECIMALS);
        while places > 0 && decimals % 10 == 0 {
            decimals /= 10;
            places -= 1;
        }
        if places == 0 {
            write!(f, "{whole}%")
        } else {
            write!(f, "{whole}.{decimals:0places$}%")
        }
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

    #[test]
    fn a_share_is_read_and_written_in_per_cent() {
        for (text, ppm) in [
            ("99.9%", 999_000),
            ("50%", 500_000),
            ("99.999%", 999_990),
            ("97.05%", 970_500),
        ] {
            let utilisation = Utilisation(ppm);
            assert_eq!(text.parse(), Ok(utilisation), "{text}");
            assert_eq!(alloc::format!("{utilisation}"), text);
        }
        for text in [
            "",
            "%",
            "99.9",
            "49.9999%",
            "100%",
            "99.99999%",
            "9.%",
            "+99%",
            "0099%",
        ] {
            assert_eq!(
                text.parse::<Utilisation>(),
                Err(ParseUtilisationError),
                "{text}"
            );
        }
    }
}
