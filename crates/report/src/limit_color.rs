//! One colour for a limit, over all charts of a page and over all pages.

use taut_path::limit::LIMITS;

/// Labels with a colour of their own, after the named limits, in the order of the classes `c0` and
/// up of the style sheet.
const LABELS: [&str; 2] = ["fixed", "none"];

/// Colours that have a name.
const NAMED: usize = LIMITS.len() + LABELS.len();

/// Colours for the others: a size, a number of packets, a rule with a period.
const OTHERS: usize = 4;

/// The colour of what is no limit.
pub const NEUTRAL: usize = NAMED + OTHERS;

/// The colour of `limit`, the same wherever it is drawn; `all` are those of the page, in the order
/// in which they are first seen.
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

/// Whether `name` is a limit that has a colour of its own.
pub fn named(name: &str) -> Option<usize> {
    let limits = LIMITS.iter().map(|limit| limit.name);
    limits.chain(LABELS).position(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_has_one_colour_whatever_else_is_drawn() {
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
