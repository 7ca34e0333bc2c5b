//! The parser of rates, sizes and times, and the errors that it returns.

/// Decimals, trailing zeros not counted: with more, a product below could leave `u128`.
const MAX_DECIMALS: usize = 18;

/// A syntax error of a value, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what} at position {position}; allowed: {allowed}")]
pub struct ParseUnitError {
    /// Position of the offending character, from 1.
    pub position: usize,
    what: What,
    allowed: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum What {
    #[error("expected a number")]
    NoNumber,
    #[error("unknown unit")]
    UnknownUnit,
    #[error("a unit is missing")]
    NoUnit,
    #[error("the value is too large")]
    TooLarge,
    #[error("more than 18 decimals")]
    TooManyDecimals,
    #[error("the value is not a whole number of the smallest unit")]
    NotWhole,
}

impl ParseUnitError {
    /// Returns `true` if the text does not start with a number.
    pub(crate) fn is_no_number(&self) -> bool {
        self.what == What::NoNumber
    }
}

/// A suffix and its value.
type Suffix = (&'static str, u128);

const KI: u128 = 1 << 10;
const MI: u128 = 1 << 20;
const GI: u128 = 1 << 30;
const TI: u128 = 1 << 40;

struct Table {
    suffixes: &'static [Suffix],
    /// Value of a number without a suffix; `None` rejects it.
    bare: Option<u128>,
    allowed: &'static str,
}

const RATES: Table = Table {
    suffixes: &[
        ("bit", 1),
        ("kbit", 1_000),
        ("mbit", 1_000_000),
        ("gbit", 1_000_000_000),
        ("tbit", 1_000_000_000_000),
        ("kibit", KI),
        ("mibit", MI),
        ("gibit", GI),
        ("tibit", TI),
        ("bps", 8),
        ("kbps", 8_000),
        ("mbps", 8_000_000),
        ("gbps", 8_000_000_000),
        ("tbps", 8_000_000_000_000),
        ("kibps", 8 * KI),
        ("mibps", 8 * MI),
        ("gibps", 8 * GI),
        ("tibps", 8 * TI),
    ],
    bare: Some(1),
    allowed: "a rate such as 100mbit, 1gbit or 1000000 (bit/s)",
};

const SIZES: Table = Table {
    suffixes: &[
        ("b", 1),
        ("k", KI),
        ("kb", KI),
        ("kib", KI),
        ("m", MI),
        ("mb", MI),
        ("mib", MI),
        ("g", GI),
        ("gb", GI),
        ("gib", GI),
        ("kbit", 128),
        ("mbit", 128 * KI),
        ("gbit", 128 * MI),
    ],
    bare: Some(1),
    allowed: "a size such as 1514, 40k or 3MiB (bytes)",
};

const TIMES: Table = Table {
    suffixes: &[
        ("ns", 1),
        ("nsec", 1),
        ("nsecs", 1),
        ("us", 1_000),
        ("usec", 1_000),
        ("usecs", 1_000),
        ("ms", 1_000_000),
        ("msec", 1_000_000),
        ("msecs", 1_000_000),
        ("s", 1_000_000_000),
        ("sec", 1_000_000_000),
        ("secs", 1_000_000_000),
    ],
    bare: None,
    allowed: "a time such as 250us, 10ms or 5s",
};

const SHARES: Table = Table {
    suffixes: &[("%", 10_000)],
    bare: None,
    allowed: "a share such as 99.5%",
};

/// Parses a rate in bit/s.
///
/// # Errors
/// Contains the position of the error and the allowed values.
pub fn parse_rate_bits_per_s(text: &str) -> Result<u64, ParseUnitError> {
    RATES.parse(text)
}

/// Parses a size in bytes.
///
/// # Errors
/// Contains the position of the error and the allowed values.
pub fn parse_size_bytes(text: &str) -> Result<u64, ParseUnitError> {
    SIZES.parse(text)
}

/// Parses a time in ns.
///
/// # Errors
/// Contains the position of the error and the allowed values.
pub fn parse_time_ns(text: &str) -> Result<u64, ParseUnitError> {
    TIMES.parse(text)
}

/// Parses a share in per cent, in millionths.
pub(crate) fn parse_ppm(text: &str) -> Result<u64, ParseUnitError> {
    SHARES.parse(text)
}

impl Table {
    fn parse(&self, text: &str) -> Result<u64, ParseUnitError> {
        let error = |position, what| ParseUnitError {
            position,
            what,
            allowed: self.allowed,
        };
        let (digits, fraction, used) = number(text).map_err(|(at, what)| error(at, what))?;
        let times = match &text[used..] {
            "" => self.bare.ok_or_else(|| error(used + 1, What::NoUnit))?,
            suffix => self
                .suffixes
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case(suffix))
                .map(|&(_, times)| times)
                .ok_or_else(|| error(used + 1, What::UnknownUnit))?,
        };
        let too_large = error(1, What::TooLarge);
        let scaled = digits.checked_mul(times).ok_or(too_large)?;
        let divisor = 10u128.pow(fraction);
        if scaled % divisor != 0 {
            return Err(error(1, What::NotWhole));
        }
        u64::try_from(scaled / divisor).map_err(|_| too_large)
    }
}

/// Parses `123` or `1.25`. Returns all digits as one integer, the number of decimals, and the
/// number of bytes consumed.
fn number(text: &str) -> Result<(u128, u32, usize), (usize, What)> {
    let whole_bytes = digits_at_start(text);
    let mut used = whole_bytes;
    let mut decimals = "";
    if let Some(after_point) = text[used..].strip_prefix('.') {
        decimals = &after_point[..digits_at_start(after_point)];
        used += 1 + decimals.len();
    }
    if whole_bytes + decimals.len() == 0 {
        return Err((1, What::NoNumber));
    }
    let decimals = decimals.trim_end_matches('0');
    if decimals.len() > MAX_DECIMALS {
        return Err((whole_bytes + 1 + MAX_DECIMALS + 1, What::TooManyDecimals));
    }
    let mut digits = 0u128;
    for byte in text[..whole_bytes].bytes() {
        digits = digits * 10 + u128::from(byte - b'0');
        if digits > u64::MAX.into() {
            return Err((1, What::TooLarge));
        }
    }
    for byte in decimals.bytes() {
        digits = digits * 10 + u128::from(byte - b'0');
    }
    Ok((digits, decimals.len() as u32, used))
}

fn digits_at_start(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}
