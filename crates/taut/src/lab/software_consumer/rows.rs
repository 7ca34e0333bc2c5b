//! The rounds of a case, their medians, and the least fixed limit among them.

use taut_scenarios::software_consumer::{Case, LimitName};

use super::hold::Hold;
use super::run::Ran;

/// The fixed limit that the others are compared with gives so much of what the best one gives: what `taut`
/// promises.
pub const ENOUGH: f64 = 0.999;

/// So many fixed limits on each side of a least one are run again: the first round may be wrong by that.
const ABOUT: usize = 2;

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

/// A case, as often as it was run.
pub struct Found {
    pub case: Case,
    pub rounds: usize,
    /// Each with a figure a round in which it was run.
    runs: Vec<(Hold, Vec<Figures>)>,
}

impl Found {
    /// Nothing of `holds` yet: no limit first, and the fixed ones in order.
    pub fn new(case: Case, holds: &[Hold]) -> Self {
        Self {
            case,
            rounds: 0,
            runs: holds.iter().map(|hold| (hold.clone(), vec![])).collect(),
        }
    }

    /// What the next round runs: everything in the first, and of the fixed limits then the best, and those about the
    /// least ones that give `shares` of what the best one gives.
    pub fn next_round(&self, shares: &[f64]) -> Vec<Hold> {
        let depths: Vec<_> = self.depths().collect();
        let best = self.best_of_off();
        let least = |share: f64| depths.iter().position(|it| it.1.of_off >= best * share);
        let leasts: Vec<_> = [ENOUGH]
            .iter()
            .chain(shares)
            .copied()
            .filter_map(least)
            .collect();
        let is_wanted = |depth: &Hold| {
            let Some(at) = depths.iter().position(|it| it.0 == depth) else {
                return self.rounds == 0;
            };
            depths[at].1.of_off >= best || leasts.iter().any(|least| least.abs_diff(at) <= ABOUT)
        };
        let holds = self.runs.iter().map(|(hold, _)| hold);
        let wanted = holds.filter(|hold| !matches!(hold, Hold::Depth(_)) || is_wanted(hold));
        wanted.cloned().collect()
    }

    /// A round of `figures`.
    pub fn add(&mut self, figures: Vec<(Hold, Figures)>) {
        self.rounds += 1;
        for (hold, figures) in figures {
            let runs = self.runs.iter_mut().find(|(it, _)| *it == hold);
            runs.into_iter().for_each(|(_, runs)| runs.push(figures));
        }
    }

    /// The fixed limits that were run in more than half of the rounds, with the medians: one run says too little.
    fn depths(&self) -> impl Iterator<Item = (&Hold, Figures)> {
        let depths = self
            .runs
            .iter()
            .filter(|(hold, runs)| matches!(hold, Hold::Depth(_)) && runs.len() * 2 > self.rounds);
        depths.map(|(hold, runs)| (hold, Figures::median(runs)))
    }

    /// What the best fixed limit gives over no limit; of no limit if none was tried.
    pub fn best_of_off(&self) -> f64 {
        let best = self.depths().map(|it| it.1.of_off).reduce(f64::max);
        best.unwrap_or(1.0)
    }

    /// The least fixed limit that gives `share` of what the best one gives.
    pub fn least(&self, share: f64) -> Option<Figures> {
        let enough = self.best_of_off() * share;
        let mut figures = self.depths().map(|(_, figures)| figures);
        figures.find(|it| it.of_off >= enough)
    }

    /// What `limit` showed.
    pub fn figures(&self, limit: &LimitName) -> Option<Figures> {
        if let LimitName::Fixed(share) = limit {
            return self.least(f64::from(share.ppm()) / 1e6);
        }
        let mut runs = self.runs.iter();
        let found = runs.find(|(hold, _)| matches!(hold, Hold::Rule(name) if name == limit));
        found.map(|(_, runs)| Figures::median(runs))
    }

    /// The limits other than the fixed ones, no limit first.
    pub fn rules(&self) -> impl Iterator<Item = &LimitName> {
        self.runs.iter().filter_map(|(hold, _)| match hold {
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
        let mut found = Found::new(case, &holds);
        for round in rounds {
            found.add(holds.iter().cloned().zip(round).collect());
        }
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
    fn after_the_first_round_the_best_and_those_about_the_least_are_run_and_one_run_decides_nothing()
     {
        let case = Case {
            consumer: "slow".parse().unwrap(),
            core: "own".parse().unwrap(),
            told: "each".parse().unwrap(),
        };
        let off: Hold = Hold::Rule("off".parse().unwrap());
        let depths = (0..10).map(Hold::Depth);
        let holds: Vec<_> = std::iter::once(off).chain(depths).collect();
        let mut found = Found::new(case, &holds);
        assert_eq!(found.next_round(&[0.98]), holds);
        // The third limit is the first that gives 99.9 % of the best, and by luck.
        let shares = [1.0, 0.5, 0.6, 1.0, 0.99, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0005];
        let round = holds.iter().cloned().zip(shares.map(|it| figures(it, it)));
        found.add(round.collect());
        assert_eq!(found.least(0.999).unwrap().of_off, 1.0);
        let wanted = found.next_round(&[0.59]);
        let names: Vec<_> = wanted.iter().map(Hold::to_string).collect();
        let about = ["fixed 0", "fixed 1", "fixed 2", "fixed 3", "fixed 4"];
        assert_eq!(names, [&["off"], &about[..], &["fixed 9"]].concat());
        let again = wanted.into_iter().map(|hold| {
            let share = if hold == Hold::Depth(2) { 0.9 } else { 0.98 };
            (hold, figures(share, share))
        });
        found.add(again.collect());
        // The others were run once.
        assert_eq!(found.depths().count(), 6);
        assert_eq!(found.best_of_off(), f64::midpoint(1.0005, 0.98));
        assert_eq!(found.least(0.999).unwrap().of_off, 0.99);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        assert_eq!(median(vec![4.0, 1.0, 3.0, 2.0]), 2.5);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![]), 0.0);
    }
}
