//! Colours of limits, the same in all charts and pages.

use taut_path::limit::LIMITS;

/// Labels with their own colour, after the named limits, in the order of the classes `c0` and
/// following of the style sheet.
const LABELS: [&str; 2] = ["fixed", "none"];

/// Number of named colours.
const NAMED: usize = LIMITS.len() + LABELS.len();

/// Number of colours for the others: a size, a number of packets, a rule with a period.
const OTHERS: usize = 4;

/// The colour of lines that are not limits.
pub const NEUTRAL: usize = NAMED + OTHERS;

/// Returns the colour of `limit`, the same in all charts; `all` are the limits of the page, in
/// order of appearance.
pub fn limit_color<'a>(limit: &str, all: impl IntoIterator<Item = &'a str>) -> usize {
    if let Some(at) = named(limit) {
        return at;
    }
    let mut others: Vec<&str> = Vec::new();
    for other in all {
        if named(other).is_none() && !others.contains(&other) {
            others.push(other);
        }
    }
    let at = others.iter().position(|other| *other == limit).unwrap_or(0);
    NAMED + at % OTHERS
}

/// Returns the colour of a limit with its own colour.
pub fn named(name: &str) -> Option<usize> {
    let limits = LIMITS.iter().map(|limit| limit.name);
    limits.chain(LABELS).position(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_colour_is_independent_of_others() {
        assert_eq!(
            limit_color("taut", ["taut"]),
            limit_color("taut", ["off", "dql", "taut"])
        );
        let all = ["off", "40k", "dql", "32p"];
        let colors = all.map(|limit| limit_color(limit, all));
        assert_eq!(colors, [0, 5, 1, 6]);
        assert!(colors.iter().all(|&color| color < NEUTRAL));
    }
}
