//! How a limit is shown: as it would be said on a command line.

use std::fmt;

use taut_path::LimitSpec;

const KIB: u32 = 1 << 10;
const MIB: u32 = 1 << 20;

/// A limit for people: 40960 bytes are `40k`, and each rule has one name.
#[derive(Debug, Clone, Copy)]
pub struct LimitName(pub LimitSpec);

impl fmt::Display for LimitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self.0 {
            LimitSpec::Bytes(bytes) if bytes.is_multiple_of(MIB) => format!("{}m", bytes / MIB),
            LimitSpec::Bytes(bytes) if bytes.is_multiple_of(KIB) => format!("{}k", bytes / KIB),
            LimitSpec::Ladder(promise) => LimitSpec::Taut(promise).to_string(),
            other => other.to_string(),
        };
        f.pad(&text)
    }
}

/// For `#[serde(serialize_with)]`.
#[cfg(feature = "scenario")]
pub(crate) mod serialize {
    use serde::Serializer;
    use taut_path::LimitSpec;

    use super::LimitName;

    pub fn one<S: Serializer>(limit: &LimitSpec, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&LimitName(*limit))
    }

    pub fn all<S: Serializer>(limits: &[LimitSpec], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(limits.iter().map(|limit| LimitName(*limit).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_shown_as_it_was_said_and_read_back_as_it_was() {
        for text in [
            "off",
            "dql",
            "taut",
            "taut:99.5%",
            "need",
            "40k",
            "1m",
            "1500",
            "32p",
        ] {
            let limit: LimitSpec = text.parse().expect("a limit");
            assert_eq!(LimitName(limit).to_string(), text);
        }
        assert_eq!(LimitName(LimitSpec::Bytes(40_960)).to_string(), "40k");
        assert_eq!(LimitName(LimitSpec::LADDER).to_string(), "taut");
        assert_eq!(format!("{:<5}|", LimitName(LimitSpec::Off)), "off  |");
    }
}
