//! An axis of a chart: its range, its ticks, and the positions of values.

use crate::number::{short, time};

/// Approximate number of steps on a linear axis.
const STEPS: f64 = 5.0;

/// Up to this number of decades, a logarithmic axis has ticks at 1, 2 and 5. With more decades they
/// would overlap on a phone.
const DENSE_DECADES: f64 = 2.0;

/// Up to this number of decades, it has ticks at 1 and 3.
const FAIR_DECADES: f64 = 3.0;

/// One axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// The quantity, with its unit.
    pub title: String,
    low: f64,
    high: f64,
    scale: Scale,
    label: fn(f64) -> String,
}

#[derive(Debug, Clone, PartialEq)]
enum Scale {
    Linear,
    Logarithmic,
    /// The names of the values 1, 2 and so on.
    Names(Vec<String>),
}

impl Axis {
    /// Creates a linear axis from 0 to the first tick at or above `high`.
    pub fn linear(title: impl Into<String>, high: f64) -> Self {
        let high = positive(high);
        let step = step(high);
        Self {
            title: title.into(),
            low: 0.0,
            high: (high / step - 1e-9).ceil() * step,
            scale: Scale::Linear,
            label: short,
        }
    }

    /// Creates a linear axis from 0 to exactly `high`.
    pub fn up_to(title: impl Into<String>, high: f64) -> Self {
        Self {
            high: positive(high),
            ..Self::linear(title, high)
        }
    }

    /// Creates a logarithmic axis of times in ns.
    pub fn times(title: impl Into<String>, low_ns: f64, high_ns: f64) -> Self {
        Self {
            label: time,
            ..Self::logarithmic(title, low_ns.max(1.0), high_ns)
        }
    }

    /// Creates a logarithmic axis from the tick at or below `low` to the tick at or above `high`.
    pub fn logarithmic(title: impl Into<String>, low: f64, high: f64) -> Self {
        let low = positive(low);
        let high = if high.is_finite() { high } else { low };
        Self {
            title: title.into(),
            low: tick_at_or_below(low),
            high: tick_at_or_above(high.max(low * 2.0)),
            scale: Scale::Logarithmic,
            label: short,
        }
    }

    /// Creates an axis of names: the first is the value 1, the second 2, with half a step at
    /// both ends.
    pub fn names(title: impl Into<String>, names: Vec<String>) -> Self {
        Self {
            title: title.into(),
            low: 0.5,
            high: names.len().max(1) as f64 + 0.5,
            scale: Scale::Names(names),
            label: short,
        }
    }

    /// Returns the position of `value`: 0 at the start, 1 at the end. Values outside are clamped.
    pub fn position(&self, value: f64) -> f64 {
        let part = match self.scale {
            Scale::Logarithmic => {
                (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
            }
            Scale::Linear | Scale::Names(_) => (value - self.low) / (self.high - self.low),
        };
        if part.is_nan() {
            0.0
        } else {
            part.clamp(0.0, 1.0)
        }
    }

    /// Returns the positions and labels of the ticks.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let tick = |value| (self.position(value), (self.label)(value));
        match &self.scale {
            Scale::Logarithmic => self.logarithmic_ticks().into_iter().map(tick).collect(),
            Scale::Linear => self.linear_ticks().into_iter().map(tick).collect(),
            Scale::Names(names) => (1..)
                .zip(names)
                .map(|(value, name): (u32, _)| (self.position(value.into()), name.clone()))
                .collect(),
        }
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let step = step(self.high);
        // An axis that nearly reaches a tick includes it.
        let count = (self.high / step + 0.01).floor() as u32;
        (0..=count).map(|at| f64::from(at) * step).collect()
    }

    fn logarithmic_ticks(&self) -> Vec<f64> {
        let decades = (self.high / self.low).log10();
        let factors: &[f64] = if decades <= DENSE_DECADES + 1e-9 {
            &[1.0, 2.0, 5.0]
        } else if decades <= FAIR_DECADES + 1e-9 {
            &[1.0, 3.0]
        } else {
            &[1.0]
        };
        let (first, last) = (self.low.log10().floor(), self.high.log10().ceil());
        let within = (self.low * (1.0 - 1e-9))..=(self.high * (1.0 + 1e-9));
        (first as i32..=last as i32)
            .flat_map(|decade| {
                factors
                    .iter()
                    .map(move |factor| factor * 10f64.powi(decade))
            })
            .filter(|value| within.contains(value))
            .collect()
    }
}

/// Returns `value`, or 1 if it is not a positive number.
fn positive(value: f64) -> f64 {
    match value.is_finite() && value > 0.0 {
        true => value,
        false => 1.0,
    }
}

/// Returns 1, 2 or 5 times a power of ten, so that about [`STEPS`] of them reach `high`.
fn step(high: f64) -> f64 {
    tick_at_or_above(high / STEPS)
}

fn tick_at_or_above(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let factors = [1.0, 2.0, 5.0];
    let found = factors
        .into_iter()
        .find(|it| it * decade >= value * (1.0 - 1e-9));
    found.unwrap_or(10.0) * decade
}

fn tick_at_or_below(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let factors = [5.0, 2.0];
    let found = factors
        .into_iter()
        .find(|it| it * decade <= value * (1.0 + 1e-9));
    found.unwrap_or(1.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn linear_ticks_cover_the_highest_value() {
        for (high, expected) in [
            (3_484_000.0, "0 1M 2M 3M 4M"),
            (195_711.0, "0 50k 100k 150k 200k"),
            (1.0, "0 0.2 0.4 0.6 0.8 1"),
            (7.0, "0 2 4 6 8"),
            (0.0, "0 0.2 0.4 0.6 0.8 1"),
            (f64::NAN, "0 0.2 0.4 0.6 0.8 1"),
        ] {
            let axis = Axis::linear("", high);
            assert_eq!(labels(&axis).join(" "), expected, "{high}");
            assert_eq!(axis.ticks().last().unwrap().0, 1.0, "{high}");
        }
    }

    #[test]
    fn exact_axis_has_ticks_inside_only() {
        let axis = Axis::up_to("", 7.0);
        assert_eq!(labels(&axis), ["0", "2", "4", "6"]);
        assert_eq!(axis.position(7.0), 1.0);
        assert_eq!(labels(&Axis::up_to("", 4.999)).last().unwrap(), "5");
    }

    #[test]
    fn time_positions_are_logarithmic() {
        let axis = Axis::times("", 650_000.0, 30_000_000.0);
        assert_eq!(
            labels(&axis),
            ["500 us", "1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms"]
        );
        assert!((axis.position(5e6) - 0.5).abs() < 1e-9);
        let wide = Axis::times("", 1e3, 1e9);
        assert_eq!(labels(&wide).len(), 7);
    }

    #[test]
    fn positions_are_clamped_to_the_chart() {
        for axis in [Axis::linear("", 10.0), Axis::times("", 1e3, 1e6)] {
            for value in [-1.0, 0.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                assert!((0.0..=1.0).contains(&axis.position(value)), "{value}");
            }
        }
        let same = Axis::times("", 5e3, 5e3);
        assert!(same.ticks().len() >= 2);
        assert!(Axis::times("", 0.0, f64::NAN).position(1.0).is_finite());
    }

    #[test]
    fn names_are_at_whole_values() {
        let axis = Axis::names("", vec!["2mbit".to_owned(), "none".to_owned()]);
        assert_eq!(
            axis.ticks(),
            [(0.25, "2mbit".to_owned()), (0.75, "none".to_owned())]
        );
    }

    #[test]
    fn logarithmic_ticks_are_short() {
        let axis = Axis::logarithmic("", 900.0, 1e6);
        assert_eq!(labels(&axis), ["1k", "10k", "100k", "1M"]);
    }
}
