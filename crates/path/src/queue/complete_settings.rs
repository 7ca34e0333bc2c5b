//! The settings of the completing half, and the queue as it sees it.

use taut_dql::Config;

use super::admission::Admission;
use super::complete::CompleteHalf;
use super::outcome::{Snapshot, shown_limit};
use super::shared::Shared;
use crate::limit::Limit;
use crate::sharing::Sharing;
use crate::tunables::{NS_PER_MS, Setting, Tunable, TunableError};

impl<L: Limit, A: Admission> CompleteHalf<L, A> {
    /// Returns the limit as an operator reads it.
    pub(super) fn shown_limit(&self) -> u32 {
        shown_limit(self.config(), self.control.is_disabled())
    }

    pub(super) fn snapshot<M: Sharing>(&self, shared: &Shared<M>) -> Snapshot {
        let (control, ledger) = (&self.control, &shared.ledger);
        let in_flight = ledger.completer_in_flight();
        Snapshot {
            num_queued: control.num_queued(ledger),
            num_completed: control.num_completed(ledger),
            ..Snapshot::of(self.config(), control.is_disabled(), in_flight)
        }
    }

    pub(super) fn config(&self) -> Config {
        self.control.rule().config()
    }

    /// Applies settings that other threads requested.
    #[inline]
    pub(super) fn apply_requests<M: Sharing>(&mut self, shared: &Shared<M>) {
        if let Some(settings) = shared.others.requests.take() {
            self.apply(shared, settings);
        }
    }

    #[cold]
    fn apply<M: Sharing>(
        &mut self,
        shared: &Shared<M>,
        settings: impl Iterator<Item = Setting> + Clone,
    ) {
        let mut config = self.config();
        for setting in settings.clone() {
            setting.change(&mut config);
        }
        // All at once, because each setting might contradict one that another replaces.
        let _ = self.control.set_config(config);
        shared.settings.set_config(self.control.rule());
        for setting in settings {
            // They were checked when they were requested. A setting that contradicts another is
            // dropped.
            let _ = self.set(shared, setting);
        }
    }

    pub(super) fn set<M: Sharing>(
        &mut self,
        shared: &Shared<M>,
        setting: Setting,
    ) -> Result<(), TunableError> {
        setting.tunable.check_writable()?;
        if setting.tunable == Tunable::StallThresholdMs {
            let threshold_ns = u64::from(setting.value) * NS_PER_MS;
            self.stalls
                .set_threshold_ns(&shared.generations, threshold_ns);
            return Ok(());
        }
        let mut config = self.config();
        setting.change(&mut config);
        self.control
            .set_config(config)
            .map_err(|error| TunableError::Rejected(setting.tunable, error))?;
        shared.settings.set_config(self.control.rule());
        Ok(())
    }

    pub(super) fn read<M: Sharing>(&self, tunable: Tunable, shared: &Shared<M>) -> u64 {
        let limit = self.snapshot(shared);
        match tunable {
            Tunable::Limit => limit.limit.into(),
            Tunable::LimitMin => limit.min_limit.into(),
            Tunable::LimitMax => limit.max_limit.into(),
            Tunable::HoldTimeMs => limit.hold_time_ns / NS_PER_MS,
            Tunable::Inflight => limit.in_flight.into(),
            Tunable::StallThresholdMs => self.stalls.threshold_ns() / NS_PER_MS,
            Tunable::StallCnt => self.stalls.count(),
            Tunable::StallMax => self.stalls.longest_ns() / NS_PER_MS,
        }
    }
}
