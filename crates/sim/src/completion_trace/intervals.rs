//! The interrupts of a trace in a compact encoding: a long run has millions.

/// One interrupt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Time since the previous interrupt, in ns; at least 1.
    pub gap_ns: u64,
    /// Return delay of a blocked sender after this interrupt, in ns.
    pub delay_ns: u64,
}

/// Interrupts in order, in a variable-length encoding of about four bytes each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Intervals {
    bytes: Vec<u8>,
    count: u64,
    total_ns: u64,
}

/// Payload bits of a byte; the highest bit indicates that another byte follows.
const BITS: u32 = 7;
const MORE: u8 = 1 << BITS;

impl Intervals {
    /// Creates an empty list.
    pub const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            count: 0,
            total_ns: 0,
        }
    }

    /// Appends an interrupt.
    pub fn push(&mut self, interval: Interval) {
        self.push_number(interval.gap_ns);
        self.push_number(interval.delay_ns);
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(interval.gap_ns);
    }

    /// Returns the number of interrupts.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the time of the last interrupt, in ns.
    pub const fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// Iterates over the interrupts.
    pub fn iter(&self) -> impl Iterator<Item = Interval> + '_ {
        Reader(&self.bytes)
    }

    fn push_number(&mut self, mut number: u64) {
        while number >= u64::from(MORE) {
            self.bytes.push(number as u8 | MORE);
            number >>= BITS;
        }
        self.bytes.push(number as u8);
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self) -> Option<u64> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & !MORE) << shift;
            if byte & MORE == 0 {
                return Some(number);
            }
            shift += BITS;
        }
    }
}

impl Iterator for Reader<'_> {
    type Item = Interval;

    fn next(&mut self) -> Option<Interval> {
        let gap_ns = self.number()?;
        let delay_ns = self.number()?;
        Some(Interval { gap_ns, delay_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoded_intervals_are_decoded_unchanged() {
        let numbers = [
            1,
            127,
            128,
            16_383,
            16_384,
            100_000,
            u64::from(u32::MAX),
            u64::MAX,
        ];
        let mut kept = Intervals::new();
        for &gap_ns in &numbers {
            for &delay_ns in numbers.iter().chain(&[0]) {
                kept.push(Interval { gap_ns, delay_ns });
            }
        }
        let mut back = kept.iter();
        for &gap_ns in &numbers {
            for &delay_ns in numbers.iter().chain(&[0]) {
                assert_eq!(back.next(), Some(Interval { gap_ns, delay_ns }));
            }
        }
        assert_eq!((back.next(), kept.count()), (None, 72));
        assert_eq!(kept.total_ns(), u64::MAX);
    }
}
