//! Sets of queue numbers: `0-3,7`.

use std::ops::RangeInclusive;
use std::str::FromStr;

/// A set of queue numbers, in ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSet(Vec<RangeInclusive<u32>>);

impl QueueSet {
    /// Returns `true` if `queue` is in the set.
    pub fn contains(&self, queue: u32) -> bool {
        self.0.iter().any(|range| range.contains(&queue))
    }

    /// Returns a single number, or the end of a range, for which `exists` returns `false`.
    pub fn missing(&self, exists: impl Fn(u32) -> bool) -> Option<u32> {
        let ends = self
            .0
            .iter()
            .flat_map(|range| [*range.start(), *range.end()]);
        ends.into_iter().find(|&queue| !exists(queue))
    }

    /// Returns sorted numbers as text, such as `0-3,7`.
    pub fn ranges(queues: &[u32]) -> String {
        let ranges =
            queues
                .chunk_by(|a, b| a.checked_add(1) == Some(*b))
                .map(|range| match range {
                    [one] => one.to_string(),
                    [first, .., last] => format!("{first}-{last}"),
                    [] => String::new(),
                });
        ranges.collect::<Vec<_>>().join(",")
    }
}

impl From<u32> for QueueSet {
    fn from(queue: u32) -> Self {
        Self(vec![queue..=queue])
    }
}

const ALLOWED: &str = "queues such as 0, 0-3 or 0-3,7 (at most 65535)";

impl FromStr for QueueSet {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse::<u16>().ok().map(u32::from);
        let range = |part: &str| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = number(first).zip(number(last))?;
            (first <= last).then_some(first..=last)
        };
        let part = |part: &str| range(part).ok_or_else(|| format!("{part:?}; allowed: {ALLOWED}"));
        text.split(',')
            .map(part)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranges_and_single_numbers() {
        let set: QueueSet = "0-3,7".parse().unwrap();
        let inside: Vec<u32> = (0..10).filter(|&queue| set.contains(queue)).collect();
        assert_eq!(inside, [0, 1, 2, 3, 7]);
        assert_eq!(set.missing(|queue| queue < 4), Some(7));
        assert_eq!(set.missing(|queue| queue < 8), None);
    }

    #[test]
    fn errors_name_what_is_allowed() {
        for bad in [
            "", ",", "1-", "-1", "3-1", "a", "0,,1", "65536", "1-2-3", " 1",
        ] {
            let error = bad.parse::<QueueSet>().unwrap_err();
            assert!(error.contains("allowed: queues such as"), "{bad}: {error}");
        }
    }

    #[test]
    fn consecutive_queues_become_ranges() {
        assert_eq!(QueueSet::ranges(&[0, 1, 2, 3, 7]), "0-3,7");
        assert_eq!(QueueSet::ranges(&[5]), "5");
        assert_eq!(QueueSet::ranges(&[1, 3, 4]), "1,3-4");
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_without_panic(text in "[-0-9,a ]{0,20}|\\PC{0,20}") {
            let _ = text.parse::<QueueSet>();
        }
    }
}
