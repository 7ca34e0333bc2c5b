//! How well a scenario predicted what was published.

use taut_sim::results::Figure;

use super::number::float;

/// What the figures say together.
#[derive(Debug)]
pub struct Verdict<'a> {
    /// What was chosen to meet published figures, each named once.
    pub constants: Vec<&'a str>,
    /// Figures within a tenth of what was published, or of the nearer end of its range.
    pub met: usize,
    /// The others.
    pub missed: Vec<&'a Figure>,
}

impl<'a> Verdict<'a> {
    /// Judges `figures`.
    pub fn of(figures: &'a [Figure]) -> Self {
        let mut constants: Vec<&str> = Vec::new();
        for constant in figures.iter().flat_map(|figure| &figure.constants) {
            if !constants.contains(constant) {
                constants.push(constant);
            }
        }
        let missed: Vec<&Figure> = figures.iter().filter(|it| !it.is_predicted()).collect();
        Self {
            constants,
            met: figures.len() - missed.len(),
            missed,
        }
    }

    /// Figures that count as predicted: each constant could have been chosen to meet one.
    pub fn predicted(&self) -> usize {
        self.met.saturating_sub(self.constants.len())
    }

    /// "N constants chosen, M figures predicted", and what that is made of. `None` where nothing
    /// was published.
    pub fn sentence(&self) -> Option<String> {
        let figures = self.met + self.missed.len();
        if figures == 0 {
            return None;
        }
        let constants = self.constants.len();
        let names = match constants {
            0 => String::new(),
            _ => format!(" ({})", self.constants.join(", ")),
        };
        let not_counted = match constants.min(self.met) {
            0 => String::new(),
            1 => ", less one for the constant".to_owned(),
            many => format!(", less {many} for the constants"),
        };
        Some(format!(
            "{} chosen{names}, {} predicted: {} of {figures} met{not_counted}",
            counted(constants, "constant"),
            counted(self.predicted(), "figure"),
            self.met,
        ))
    }
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// The published figure or its range, for people.
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
    fn as_many_figures_as_constants_do_not_count() {
        let figures = [
            figure(100.0, &["cadence"]),
            figure(101.0, &["cadence", "hosts"]),
            figure(102.0, &["hosts"]),
            figure(200.0, &["cadence"]),
        ];
        let verdict = Verdict::of(&figures);
        assert_eq!(verdict.constants, ["cadence", "hosts"]);
        assert_eq!((verdict.met, verdict.predicted()), (3, 1));
        assert_eq!(verdict.missed, [&figures[3]]);
        assert_eq!(
            verdict.sentence().unwrap(),
            "2 constants chosen (cadence, hosts), 1 figure predicted: \
             3 of 4 met, less 2 for the constants"
        );
    }

    #[test]
    fn more_constants_than_figures_predict_nothing() {
        let figures = [figure(100.0, &["a", "b"])];
        let verdict = Verdict::of(&figures);
        assert_eq!(verdict.predicted(), 0);
        assert!(verdict.sentence().unwrap().contains("0 figures predicted"));
    }

    #[test]
    fn nothing_published_is_nothing_to_say() {
        assert_eq!(Verdict::of(&[]).sentence(), None);
    }
}
