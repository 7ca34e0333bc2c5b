//! The target utilisation of the link.

use alloc::format;
use core::fmt;
use core::str::FromStr;

use crate::units::parse_ppm;

/// The fraction of the time in which the link is busy while a sender has something to send, in
/// millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utilisation(u32);

impl Utilisation {
    /// The default, 99.9 %: a loss of 0.1 % of the link time needs a far shorter queue than no
    /// loss.
    pub const DEFAULT: Self = Self(999_000);

    /// The lowest target, 50 %.
    pub const MIN_PPM: u32 = 500_000;

    /// The highest target, 99.999 %. With 100 % the limit could never decrease.
    pub const MAX_PPM: u32 = 999_990;

    /// Creates a target from millionths; `None` outside of [`MIN_PPM`](Self::MIN_PPM) to
    /// [`MAX_PPM`](Self::MAX_PPM).
    pub const fn from_ppm(ppm: u32) -> Option<Self> {
        if ppm < Self::MIN_PPM || ppm > Self::MAX_PPM {
            return None;
        }
        Some(Self(ppm))
    }

    /// Returns the target in millionths.
    pub const fn ppm(self) -> u32 {
        self.0
    }

    /// Returns the loss budget of each byte that is sent, in bytes with `fraction_bits`.
    pub(super) const fn allowance(self, fraction_bits: u32) -> u64 {
        let allowed_ppm = (1_000_000 - self.0) as u64;
        ((allowed_ppm << fraction_bits) + 500_000) / 1_000_000
    }
}

impl Default for Utilisation {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The text is not a target utilisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "target utilisation: {} to {}, up to four decimals, such as 99.5%",
    Utilisation(Utilisation::MIN_PPM),
    Utilisation(Utilisation::MAX_PPM)
)]
pub struct ParseUtilisationError;

impl FromStr for Utilisation {
    type Err = ParseUtilisationError;

    fn from_str(text: &str) -> Result<Self, ParseUtilisationError> {
        let ppm = parse_ppm(text).ok().and_then(|ppm| u32::try_from(ppm).ok());
        ppm.and_then(Self::from_ppm).ok_or(ParseUtilisationError)
    }
}

impl fmt::Display for Utilisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = format!("{}.{:04}", self.0 / 10_000, self.0 % 10_000);
        let percent = percent.trim_end_matches('0').trim_end_matches('.');
        write!(f, "{percent}%")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_is_what_the_target_leaves() {
        let allowance = |ppm| Utilisation::from_ppm(ppm).map(|it| it.allowance(20));
        assert_eq!(allowance(999_000), Some(1_049));
        assert_eq!(allowance(500_000), Some(524_288));
        assert_eq!(allowance(999_990), Some(10), "not nothing");
        assert_eq!([allowance(499_999), allowance(999_991)], [None, None]);
    }

    #[test]
    fn utilisation_is_written_in_per_cent() {
        for (text, ppm) in [
            ("99.9%", 999_000),
            ("50%", 500_000),
            ("99.999%", 999_990),
            ("97.05%", 970_500),
        ] {
            let utilisation = Utilisation(ppm);
            assert_eq!(text.parse(), Ok(utilisation), "{text}");
            assert_eq!(format!("{utilisation}"), text);
        }
        for text in [
            "",
            "%",
            "99.9",
            "49.9999%",
            "100%",
            "99.99999%",
            "+99%",
            "nan%",
        ] {
            assert_eq!(
                text.parse::<Utilisation>(),
                Err(ParseUtilisationError),
                "{text}"
            );
        }
    }
}
