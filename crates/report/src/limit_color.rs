//! Colours of limits, the same in all charts and pages.

use taut_path::limit::LIMITS;

/// Number of colours for limits without their own: a size, a number of packets, a rule with a
/// period. They are the first classes, `c0` and following, of the style sheet.
const OTHERS: usize = 4;

/// Labels with their own colour. The named limits follow, in the order of their table.
const LABELS: [&str; 3] = ["fixed", "none", "neutral"];

/// The colour of lines that are not limits.
pub const NEUTRAL: usize = OTHERS + 2;

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
    at % OTHERS
}

/// Returns the colour of a limit with its own colour.
pub fn named(name: &str) -> Option<usize> {
    let limits = LIMITS.iter().map(|limit| limit.name);
    let at = LABELS.into_iter().chain(limits).position(|it| it == name);
    at.map(|at| OTHERS + at)
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
        assert_eq!(colors, [7, 0, 8, 1]);
        assert_eq!(named("neutral"), Some(NEUTRAL));
    }

    #[test]
    fn style_sheet_has_a_colour_for_each_limit() {
        for name in LIMITS.iter().map(|limit| limit.name).chain(LABELS) {
            let class = format!(".c{} ", named(name).expect(name));
            let style = crate::plot::STYLE.replace(',', " ");
            assert!(style.contains(&class), "{name}: {class}");
        }
    }
}
