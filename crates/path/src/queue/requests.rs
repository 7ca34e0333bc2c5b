//! Settings that other threads request, and those that they read.

use taut_dql::Config;

use super::outcome::Snapshot;
use crate::limit::Limit;
use crate::sharing::{Sharing, Wide, Word};
use crate::tunables::{Setting, Tunable, TunableError};

/// Requested settings: a value for each kind, and a bit for each kind that the completer has not
/// applied yet. Written by any thread.
#[derive(Debug, Default)]
pub(super) struct Requests<M: Sharing> {
    pending: M::Word,
    values: [M::Word; Tunable::ALL.len()],
}

impl<M: Sharing> Requests<M> {
    /// Requests a setting. Of two concurrent requests of one kind, one wins.
    pub(super) fn request(&self, setting: Setting) {
        let kind = setting.tunable as usize;
        self.values[kind].store(setting.value);
        self.pending.set_bits(1 << kind);
    }

    fn settings(&self, kinds: u32) -> impl Iterator<Item = Setting> + Clone {
        let requested = Tunable::ALL.into_iter().zip(&self.values);
        requested.filter_map(move |(tunable, value)| {
            let is_requested = kinds & 1 << tunable as usize != 0;
            let value = value.load();
            is_requested.then_some(Setting { tunable, value })
        })
    }

    /// Returns the settings after all requests are applied.
    pub(super) fn requested(&self, mut config: Config) -> Config {
        for setting in self.settings(self.pending.load_acquire()) {
            setting.change(&mut config);
        }
        config
    }

    /// For the completer: takes the settings requested since the last call.
    #[inline]
    pub(super) fn take(&self) -> Option<impl Iterator<Item = Setting> + Clone> {
        (self.pending.load() != 0).then(|| self.settings(self.pending.take()))
    }
}

/// The settings of the limit, for other threads. Written by the completer only.
#[derive(Debug, Default)]
pub(super) struct PublishedSettings<M: Sharing> {
    /// The limit of the rule.
    limit: M::Word,
    /// Excess of the limit that an operator reads: 1 for a hard limit, 0 for a soft one.
    displayed_above: M::Word,
    min_limit: M::Word,
    max_limit: M::Word,
    hold_time_ns: M::Wide,
    /// Not 0 while completions are early, so that no limit is applied.
    early: M::Word,
}

impl<M: Sharing> PublishedSettings<M> {
    #[inline]
    pub(super) fn set_limit(&self, limit: u32) {
        self.limit.store(limit);
    }

    pub(super) fn set_early_completions(&self, early: bool) {
        self.early.store(early.into());
    }

    pub(super) fn set_config(&self, rule: &impl Limit) {
        let (config, limit) = (rule.config(), rule.limit());
        self.limit.store(limit);
        self.displayed_above.store(config.limit.wrapping_sub(limit));
        self.min_limit.store(config.min_limit);
        self.max_limit.store(config.max_limit);
        self.hold_time_ns.store(config.hold_time_ns);
    }

    pub(super) fn config(&self) -> Config {
        Config {
            limit: self.limit.load().wrapping_add(self.displayed_above.load()),
            min_limit: self.min_limit.load(),
            max_limit: self.max_limit.load(),
            hold_time_ns: self.hold_time_ns.load(),
        }
    }

    /// The limit and its settings. The totals stay 0.
    pub(super) fn snapshot(&self, in_flight: u32) -> Snapshot {
        Snapshot::of(self.config(), self.early.load() != 0, in_flight)
    }
}

/// Checks `setting` against the current settings, or against those that are requested and not
/// applied yet.
pub(super) fn check<M: Sharing>(
    current: Config,
    requests: &Requests<M>,
    setting: Setting,
) -> Result<(), TunableError> {
    setting.tunable.check_writable()?;
    let check = |mut config: Config| {
        setting.change(&mut config);
        config.validate()
    };
    check(requests.requested(current))
        .or_else(|_| check(current))
        .map_err(|error| TunableError::Rejected(setting.tunable, error))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use taut_dql::MAX_LIMIT;

    use super::*;
    use crate::limit::Fixed;
    use crate::sharing::{Local, Threads};

    fn setting(tunable: Tunable, value: u32) -> Setting {
        Setting { tunable, value }
    }

    fn requests_are_taken_once<M: Sharing>() {
        let requests = Requests::<M>::default();
        let taken = || requests.take().map(|all| all.collect::<Vec<_>>());
        assert_eq!(taken(), None);
        requests.request(setting(Tunable::LimitMax, 9));
        requests.request(setting(Tunable::LimitMin, 5));
        requests.request(setting(Tunable::LimitMin, 7));
        let wanted = requests.requested(Config::default());
        assert_eq!((wanted.min_limit, wanted.max_limit), (7, 9));
        let both = [setting(Tunable::LimitMin, 7), setting(Tunable::LimitMax, 9)];
        assert_eq!(taken().as_deref(), Some(&both[..]));
        assert_eq!(taken(), None);
        assert_eq!(requests.requested(Config::default()), Config::default());
    }

    #[test]
    fn request_is_taken_once_with_its_last_value() {
        requests_are_taken_once::<Local>();
        requests_are_taken_once::<Threads>();
    }

    #[test]
    fn request_is_checked_against_pending_ones() {
        let requests = Requests::<Threads>::default();
        let current = Config {
            max_limit: 10,
            ..Config::default()
        };
        let min = setting(Tunable::LimitMin, 20);
        assert!(check(current, &requests, min).is_err());
        requests.request(setting(Tunable::LimitMax, 30));
        assert_eq!(check(current, &requests, min), Ok(()));
        assert_eq!(
            check(current, &requests, setting(Tunable::LimitMin, 5)),
            Ok(())
        );
    }

    #[test]
    fn early_completions_are_shown_as_no_limit() {
        let settings = PublishedSettings::<Threads>::default();
        settings.set_config(&Fixed::bytes(5));
        assert_eq!(settings.snapshot(3).limit, 5);
        settings.set_early_completions(true);
        let shown = settings.snapshot(3);
        assert_eq!(
            (shown.limit, shown.in_flight, shown.early_completions),
            (MAX_LIMIT, 3, true)
        );
    }
}
