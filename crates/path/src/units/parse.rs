//! The parser of rates, sizes and times, and the errors that it returns.

use core::fmt;

/// Decimals, trailing zeros not counted: with more, a product below could leave `u128`.
const MAX_DECIMALS: usize = 18;

/// A syntax error of a value, and its position.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseUnitError {
    /// Position of the offending character, from 1.
    pub position: usize,
    what: What,
    allowed: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    NoNumber,
    UnknownUnit,
    NoUnit,
    TooLarge,
    TooManyDecimals,
    NotWhole,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            What::NoNumber => "expected a number",
            What::UnknownUnit => "unknown unit",
            What::NoUnit => "a unit is missing",
            What::TooLarge => "the value is too large",
            What::TooManyDecimals => "more than 18 decimals",
            What::NotWhole => "the value is not a whole number of the smallest unit",
        };
        write!(
            f,
            "{what} at position {}; allowed: {}",
            self.position, self.allowed
        )
    }
}

impl core::error::Error for ParseUnitError {}

impl ParseUnitError {
    /// Returns `true` if the text does not start with a number.
    pub(crate) fn is_no_number(&self) -> bool {
        self.what == What::NoNumber
    }
}

/// A suffix and its value, as a fraction.
type Suffix = (&'static str, u128, u128);

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
        ("bit", 1, 1),
        ("kbit", 1_000, 1),
        ("mbit", 1_000_000, 1),
        ("gbit", 1_000_000_000, 1),
        ("tbit", 1_000_000_000_000, 1),
        ("kibit", KI, 1),
        ("mibit", MI, 1),
        ("gibit", GI, 1),
        ("tibit", TI, 1),
        ("bps", 8, 1),
        ("kbps", 8_000, 1),
        ("mbps", 8_000_000, 1),
        ("gbps", 8_000_000_000, 1),
        ("tbps", 8_000_000_000_000, 1),
        ("kibps", 8 * KI, 1),
        ("mibps", 8 * MI, 1),
        ("gibps", 8 * GI, 1),
        ("tibps", 8 * TI, 1),
    ],
    bare: Some(1),
    allowed: "a rate such as 100mbit, 1gbit or 1000000 (bit/s)",
};

const SIZES: Table = Table {
    suffixes: &[
        ("b", 1, 1),
        ("k", KI, 1),
        ("kb", KI, 1),
        ("kib", KI, 1),
        ("m", MI, 1),
        ("mb", MI, 1),
        ("mib", MI, 1),
        ("g", GI, 1),
        ("gb", GI, 1),
        ("gib", GI, 1),
        ("kbit", KI, 8),
        ("mbit", MI, 8),
        ("gbit", GI, 8),
    ],
    bare: Some(1),
    allowed: "a size such as 1514, 40k or 3MiB (bytes)",
};

const TIMES: Table = Table {
    suffixes: &[
        ("ns", 1, 1),
        ("nsec", 1, 1),
        ("nsecs", 1, 1),
        ("us", 1_000, 1),
        ("usec", 1_000, 1),
        ("usecs", 1_000, 1),
        ("ms", 1_000_000, 1),
        ("msec", 1_000_000, 1),
        ("msecs", 1_000_000, 1),
        ("s", 1_000_000_000, 1),
        ("sec", 1_000_000_000, 1),
        ("secs", 1_000_000_000, 1),
    ],
    bare: None,
    allowed: "a time such as 250us, 10ms or 5s",
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

impl Table {
    fn parse(&self, text: &str) -> Result<u64, ParseUnitError> {
        let error = |position, what| ParseUnitError {
            position,
            what,
            allowed: self.allowed,
        };
        let (digits, fraction, used) = number(text).map_err(|(at, what)| error(at, what))?;
        let (times, over) = match &text[used..] {
            "" => (self.bare.ok_or_else(|| error(used + 1, What::NoUnit))?, 1),
            suffix => self
                .suffixes
                .iter()
                .find(|(name, ..)| name.eq_ignore_ascii_case(suffix))
                .map(|&(_, times, over)| (times, over))
                .ok_or_else(|| error(used + 1, What::UnknownUnit))?,
        };
        let too_large = error(1, What::TooLarge);
        let scaled = digits.checked_mul(times).ok_or(too_large)?;
        let divisor = 10u128.pow(fraction) * over;
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

/// Writes a size in the largest exact unit, so that [`parse_size_bytes`] returns the same.
///
/// # Errors
/// Those of the writer.
pub fn write_size(f: &mut impl fmt::Write, bytes: u64) -> fmt::Result {
    let scales = [(1 << 30, "g"), (1 << 20, "m"), (1 << 10, "k")];
    let exact = |(scale, _): &(u64, &str)| bytes > 0 && bytes.is_multiple_of(*scale);
    match scales.into_iter().find(exact) {
        Some((scale, suffix)) => write!(f, "{}{suffix}", bytes / scale),
        None => write!(f, "{bytes}"),
    }
}

/// Writes a time in the largest exact unit, so that [`parse_time_ns`] returns the same.
///
/// # Errors
/// Those of the writer.
pub fn write_time(f: &mut impl fmt::Write, ns: u64) -> fmt::Result {
    let scales = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let exact = |(scale, _): &(u64, &str)| ns > 0 && ns.is_multiple_of(*scale);
    let (scale, suffix) = scales.into_iter().find(exact).unwrap_or((1, "ns"));
    write!(f, "{}{suffix}", ns / scale)
}
