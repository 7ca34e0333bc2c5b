//! The two variants behind one trait.

use std::sync::Arc;

use taut_dql::{Completer, Config, Dql, Error, Sender, Shared, Snapshot, split};

/// Either variant.
pub trait Queue: Sized {
    fn fresh(config: Config, now_ns: u64) -> Result<Self, Error>;
    fn queued(&mut self, units: u32) -> Result<(), Error>;
    fn unqueue(&mut self, units: u32) -> Result<(), Error>;
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error>;
    fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error>;
    fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error>;
    fn reset(&mut self, now_ns: u64) -> Result<(), Error>;
    fn set(&mut self, setting: Setting) -> Result<(), Error>;
    fn snapshot(&self) -> Snapshot;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    Limit(u32),
    MinLimit(u32),
    MaxLimit(u32),
    HoldTimeNs(u64),
}

impl Setting {
    fn applied_to(self, mut config: Config) -> Config {
        match self {
            Setting::Limit(limit) => config.limit = limit,
            Setting::MinLimit(limit) => config.min_limit = limit,
            Setting::MaxLimit(limit) => config.max_limit = limit,
            Setting::HoldTimeNs(hold_time_ns) => config.hold_time_ns = hold_time_ns,
        }
        config
    }
}

impl Queue for Dql {
    fn fresh(config: Config, now_ns: u64) -> Result<Self, Error> {
        Dql::with_config(config, now_ns)
    }
    fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.queued(units)
    }
    fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.unqueue(units)
    }
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.completed(units, now_ns)
    }
    fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        self.observe_in_flight(units, now_ns)
    }
    fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error> {
        self.repair(in_flight, now_ns)
    }
    fn reset(&mut self, now_ns: u64) -> Result<(), Error> {
        self.reset(now_ns);
        Ok(())
    }
    fn set(&mut self, setting: Setting) -> Result<(), Error> {
        self.set_config(setting.applied_to(self.config()))
    }
    fn snapshot(&self) -> Snapshot {
        self.snapshot()
    }
}

/// The two-thread variant, on one thread.
pub struct Halves {
    pub shared: Arc<Shared>,
    pub sender: Sender<Arc<Shared>>,
    pub completer: Completer<Arc<Shared>>,
}

impl Queue for Halves {
    fn fresh(config: Config, now_ns: u64) -> Result<Self, Error> {
        let shared = Arc::new(Shared::new());
        let (sender, completer) = split(shared.clone(), config, now_ns)?;
        Ok(Halves {
            shared,
            sender,
            completer,
        })
    }
    fn queued(&mut self, units: u32) -> Result<(), Error> {
        self.sender.queued(units)
    }
    fn unqueue(&mut self, units: u32) -> Result<(), Error> {
        self.sender.unqueue(units)
    }
    fn completed(&mut self, units: u32, now_ns: u64) -> Result<(), Error> {
        self.completer.completed(units, now_ns)
    }
    fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, Error> {
        self.completer.observe_in_flight(units, now_ns)
    }
    fn repair(&mut self, in_flight: u32, now_ns: u64) -> Result<i64, Error> {
        self.completer.repair(&mut self.sender, in_flight, now_ns)
    }
    fn reset(&mut self, now_ns: u64) -> Result<(), Error> {
        self.completer.reset(&mut self.sender, now_ns)
    }
    fn set(&mut self, setting: Setting) -> Result<(), Error> {
        let config = setting.applied_to(self.completer.config());
        self.completer.set_config(config)
    }
    fn snapshot(&self) -> Snapshot {
        self.completer.snapshot()
    }
}
