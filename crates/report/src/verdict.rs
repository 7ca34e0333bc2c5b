//! Comparison of results with published ones.

use crate::document::Figure;

use super::number::float;

/// Summary of all comparisons.
#[derive(Debug)]
pub struct Verdict<'a> {
    /// Constants that were fitted to published results, each once.
    pub constants: Vec<&'a str>,
    /// Results that differ by at most a tenth from the published value, or from the nearer end of
    /// its range.
    pub within: usize,
    /// All other results.
    pub outside: Vec<&'a Figure>,
}

impl<'a> Verdict<'a> {
    /// Summarises the comparisons.
    pub fn of(figures: &'a [Figure]) -> Self {
        let mut constants: Vec<&str> = Vec::new();
        for constant in figures.iter().flat_map(|figure| &figure.constants) {
            if !constants.contains(constant) {
                constants.push(constant);
            }
        }
        let outside: Vec<&Figure> = figures.iter().filter(|it| !it.is_within_tenth()).collect();
        Self {
            constants,
            within: figures.len() - outside.len(),
            outside,
        }
    }

    /// Returns the number of predicted results: each constant could have been fitted to one.
    pub fn predicted(&self) -> usize {
        self.within.saturating_sub(self.constants.len())
    }

    /// Returns the number of results that differ by at most a tenth, and of predicted ones. `None`
    /// without published results.
    pub fn sentence(&self) -> Option<String> {
        let figures = self.within + self.outside.len();
        if figures == 0 {
            return None;
        }
        let within = format!(
            "{} of {} differ by at most 10 % from the published ones",
            self.within,
            counted(figures, "figure")
        );
        let constants = self.constants.len();
        if constants == 0 {
            return Some(format!("{within}. No constant was fitted to them"));
        }
        let was = if constants == 1 { "was" } else { "were" };
        Some(format!(
            "{within}. {} {was} fitted to them ({}), so {} predicted",
            counted(constants, "constant"),
            self.constants.join(", "),
            match self.predicted() {
                0 => "none is".to_owned(),
                1 => "only 1 is".to_owned(),
                more => format!("only {more} are"),
            },
        ))
    }
}

/// Meaning of the comparison.
pub const MEANING: &str = "Within: inside the published figure or range, or at most a tenth away. \
    Outside shows the deviation of this machine or model from the published one; it is not a \
    failed test.";

/// The page with the sources of the published results.
pub const SOURCES: &str = "docs/sources.md";

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// Formats the published value or its range.
pub fn published(figure: &Figure) -> String {
    let ends: Vec<String> = figure.published.iter().copied().map(float).collect();
    ends.join(" to ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(value: f64, constants: &[&'static str]) -> Figure {
        Figure {
            id: "E0/row/column".to_owned(),
            published: vec![100.0],
            value,
            unit: "bytes",
            constants: constants.to_vec(),
        }
    }

    #[test]
    fn each_constant_reduces_the_predictions() {
        let figures = [
            figure(100.0, &["coalesce"]),
            figure(101.0, &["coalesce", "hosts"]),
            figure(102.0, &["hosts"]),
            figure(200.0, &["coalesce"]),
        ];
        let verdict = Verdict::of(&figures);
        assert_eq!(verdict.constants, ["coalesce", "hosts"]);
        assert_eq!((verdict.within, verdict.predicted()), (3, 1));
        assert_eq!(verdict.outside, [&figures[3]]);
        assert_eq!(
            verdict.sentence().unwrap(),
            "3 of 4 figures differ by at most 10 % from the published ones. 2 constants were \
             fitted to them (coalesce, hosts), so only 1 is predicted"
        );
    }

    #[test]
    fn more_constants_than_results_predict_nothing() {
        let figures = [figure(100.0, &["a", "b"])];
        let verdict = Verdict::of(&figures);
        assert_eq!(verdict.predicted(), 0);
        assert!(
            verdict
                .sentence()
                .unwrap()
                .ends_with("so none is predicted")
        );
    }

    #[test]
    fn no_published_results_no_sentence() {
        assert_eq!(Verdict::of(&[]).sentence(), None);
    }
}
