//! The rounds of a case, their medians, and the least fixed limit among them.

use taut_scenarios::software_consumer::{Case, LimitName};

use super::hold::Hold;
use super::run::Ran;

/// What a run showed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Figures {
    pub packets_per_s: f64,
    /// Packets a second over those of the run without a limit in the same round.
    pub of_off: f64,
    pub limit_p50: f64,
    pub in_flight_mean: f64,
    pub ping_p50_ns: f64,
    pub ping_p99_ns: f64,
}

impl Figures {
    /// Those of `ran`, where no limit gave `off_per_s` packets a second.
    pub fn of(ran: &Ran, off_per_s: f64) -> Self {
        let ping_ns = |share| ran.ping_ns.value_at_quantile(share) as f64;
        Self {
            packets_per_s: ran.packets_per_s,
            of_off: ran.packets_per_s / off_per_s.max(1.0),
            limit_p50: ran.limit_p50,
            in_flight_mean: ran.in_flight_mean,
            ping_p50_ns: ping_ns(0.5),
            ping_p99_ns: ping_ns(0.99),
        }
    }

    /// The median of each figure over `rounds`.
    fn median(rounds: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(rounds.iter().map(figure).collect());
        Self {
            packets_per_s: of(|it| it.packets_per_s),
            of_off: of(|it| it.of_off),
            limit_p50: of(|it| it.limit_p50),
            in_flight_mean: of(|it| it.in_flight_mean),
            ping_p50_ns: of(|it| it.ping_p50_ns),
            ping_p99_ns: of(|it| it.ping_p99_ns),
        }
    }
}

/// Of an even number the mean of the middle two.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let upper = values.len() / 2;
    match values.get(upper) {
        None => 0.0,
        Some(&value) if values.len() % 2 == 1 => value,
        Some(&value) => f64::midpoint(values[upper - 1], value),
    }
}

/// A case, as often as it was run under everything.
pub struct Found {
    pub case: Case,
    pub rounds: usize,
    /// The medians.
    holds: Vec<(Hold, Figures)>,
}

impl Found {
    /// Of the figures of each round, in the order of `holds`.
    pub fn new(case: Case, holds: &[Hold], rounds: &[Vec<Figures>]) -> Self {
        let median = |at: usize| {
            let figures: Vec<_> = rounds.iter().map(|round| round[at]).collect();
            Figures::median(&figures)
        };
        let holds = holds.iter().cloned().enumerate();
        Self {
            case,
            rounds: rounds.len(),
            holds: holds.map(|(at, hold)| (hold, median(at))).collect(),
        }
    }

    fn depths(&self) -> impl Iterator<Item = &Figures> {
        let depths = self.holds.iter();
        depths.filter_map(|(hold, figures)| matches!(hold, Hold::Depth(_)).then_some(figures))
    }

    /// What the best fixed limit gives over no limit; of no limit if none was tried.
    pub fn best_of_off(&self) -> f64 {
        self.depths()
            .map(|it| it.of_off)
            .reduce(f64::max)
            .unwrap_or(1.0)
    }

    /// The least fixed limit that gives `share` of what the best one gives.
    pub fn least(&self, share: f64) -> Option<&Figures> {
        let enough = self.best_of_off() * share;
        self.depths().find(|it| it.of_off >= enough)
    }

    /// What `limit` showed.
    pub fn figures(&self, limit: &LimitName) -> Option<&Figures> {
        if let LimitName::Fixed(share) = limit {
            return self.least(f64::from(share.ppm()) / 1e6);
        }
        let mut holds = self.holds.iter();
        let found = holds.find(|(hold, _)| matches!(hold, Hold::Rule(name) if name == limit));
        found.map(|(_, figures)| figures)
    }

    /// The limits other than the fixed ones, no limit first.
    pub fn rules(&self) -> impl Iterator<Item = &LimitName> {
        self.holds.iter().filter_map(|(hold, _)| match hold {
            Hold::Rule(name) => Some(name),
            Hold::Depth(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(of_off: f64, ping_p99_ns: f64) -> Figures {
        Figures {
            of_off,
            ping_p99_ns,
            ..Figures::default()
        }
    }

    #[test]
    fn the_least_is_the_first_that_gives_enough_of_the_best_by_the_medians_of_the_rounds() {
        let case = Case {
            consumer: "slow".parse().unwrap(),
            core: "own".parse().unwrap(),
            told: "each".parse().unwrap(),
        };
        let holds = [Hold::Depth(1), Hold::Depth(2), Hold::Depth(3)];
        let round = |shares: [f64; 3]| shares.map(|share| figures(share, share)).to_vec();
        let rounds = [
            round([0.90, 1.00, 1.00]),
            round([0.80, 0.99, 1.10]),
            // One round that was disturbed.
            round([1.50, 0.10, 0.90]),
        ];
        let found = Found::new(case, &holds, &rounds);
        assert_eq!(found.best_of_off(), 1.0);
        assert_eq!(found.least(0.985).unwrap().of_off, 0.99);
        assert_eq!(found.least(0.999).unwrap().of_off, 1.0);
        assert_eq!(found.least(0.9).unwrap().of_off, 0.9);
        assert_eq!(
            found
                .figures(&"fixed:99.9%".parse().unwrap())
                .unwrap()
                .of_off,
            1.0
        );
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![]), 0.0);
    }
}
