//! Looking at a queue, and asking things of it, from any thread.

use alloc::sync::Arc;
use core::fmt;

use taut_dql::{Config, MAX_LIMIT};

use super::Snapshot;
use super::counters::{CompleterCells, CompleterCounters, SenderCells, SenderCounters};
use super::shared::Shared;
use crate::knobs::{Knob, KnobError, Setting};
use crate::sharing::{Sharing, Threads, Wide, Word};

/// What each half counts, and what others asked for.
#[derive(Debug)]
pub(crate) struct Published<M: Sharing> {
    pub(super) sender: SenderCells<M>,
    pub(super) completer: CompleterCells<M>,
    config: ConfigCells<M>,
    asked: Asked<M>,
}

/// The settings of the limit. Written by the completer only.
#[derive(Debug)]
#[repr(align(128))]
struct ConfigCells<M: Sharing> {
    limit: M::Word,
    min_limit: M::Word,
    max_limit: M::Word,
    hold_time_ns: M::Wide,
    /// Not 0 while the device's completions mean nothing.
    distrusted: M::Word,
}

/// Written by whoever asks.
#[derive(Debug)]
#[repr(align(128))]
struct Asked<M: Sharing> {
    /// Settings asked for so far, of any kind.
    total: M::Word,
    values: [M::Word; Setting::KINDS],
    times: [M::Word; Setting::KINDS],
}

/// What the completer knows of what was asked.
#[derive(Debug, Default)]
pub(super) struct Heard {
    total: u32,
    times: [u32; Setting::KINDS],
}

impl<M: Sharing> Published<M> {
    pub(super) fn new() -> Self {
        let number = || M::Word::new(0);
        Self {
            sender: SenderCells::new(),
            completer: CompleterCells::new(),
            config: ConfigCells {
                limit: number(),
                min_limit: number(),
                max_limit: number(),
                hold_time_ns: M::Wide::new(0),
                distrusted: number(),
            },
            asked: Asked {
                total: number(),
                values: core::array::from_fn(|_| number()),
                times: core::array::from_fn(|_| number()),
            },
        }
    }

    /// For the completer: lets others see the limit.
    #[inline]
    pub(super) fn limit(&self, limit: u32) {
        self.config.limit.store(limit);
    }

    /// For the completer: lets others see whether completions mean anything.
    pub(super) fn trust(&self, trusted: bool) {
        self.config.distrusted.store(u32::from(!trusted));
    }

    fn completions_are_false(&self) -> bool {
        self.config.distrusted.load() != 0
    }

    /// For the completer: lets others see the settings.
    pub(super) fn set_config(&self, config: &Config) {
        self.config.limit.store(config.limit);
        self.config.min_limit.store(config.min_limit);
        self.config.max_limit.store(config.max_limit);
        self.config.hold_time_ns.store(config.hold_time_ns);
    }

    fn config(&self) -> Config {
        Config {
            limit: self.config.limit.load(),
            min_limit: self.config.min_limit.load(),
            max_limit: self.config.max_limit.load(),
            hold_time_ns: self.config.hold_time_ns.load(),
        }
    }

    /// The settings as they will be once all that was asked for is in force.
    fn wanted(&self, mut config: Config) -> Config {
        for kind in 0..Setting::KINDS {
            if self.asked.times[kind].load_acquire() > 0 {
                Setting::of_kind(kind, self.asked.values[kind].load()).change(&mut config);
            }
        }
        config
    }

    /// Asks the completer to change a setting. Any thread may; of two at once, one wins.
    fn ask(&self, setting: Setting) {
        let kind = setting.kind();
        self.asked.values[kind].store(setting.value());
        self.asked.times[kind].add(1);
        self.asked.total.add(1);
    }

    /// For the completer: the settings that were asked for since it looked last.
    #[inline]
    pub(super) fn take_asked(&self, heard: &mut Heard, mut apply: impl FnMut(Setting)) {
        let total = self.asked.total.load_acquire();
        if total == heard.total {
            return;
        }
        heard.total = total;
        for kind in 0..Setting::KINDS {
            let times = self.asked.times[kind].load_acquire();
            if core::mem::replace(&mut heard.times[kind], times) != times {
                apply(Setting::of_kind(kind, self.asked.values[kind].load()));
            }
        }
    }
}

/// A queue as another thread sees it. Each field is true, the set is not atomic: both halves go on
/// while it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WatchSnapshot {
    /// The limit and what is in flight; its totals stay 0.
    pub queue: Snapshot,
    /// What the sender did.
    pub sender: SenderCounters,
    /// What the completer did.
    pub completer: CompleterCounters,
    /// Times that a waiting sender was woken, wrapping.
    pub wakeups: u32,
}

/// Looks at a queue from any thread, changes its settings, and asks for a reset.
#[derive(Clone)]
pub struct Watch {
    shared: Arc<Shared<Threads>>,
}

impl Watch {
    pub(super) fn new(shared: Arc<Shared<Threads>>) -> Self {
        Self { shared }
    }

    /// What can be seen now.
    pub fn snapshot(&self) -> WatchSnapshot {
        let config = self.shared.published.config();
        let completions_are_false = self.shared.published.completions_are_false();
        WatchSnapshot {
            queue: Snapshot {
                limit: if completions_are_false {
                    MAX_LIMIT
                } else {
                    config.limit
                },
                min_limit: config.min_limit,
                max_limit: config.max_limit,
                hold_time_ns: config.hold_time_ns,
                in_flight: self.shared.ledger.in_flight(),
                completions_are_false,
                ..Snapshot::default()
            },
            sender: self.shared.published.sender.read(),
            completer: self.shared.published.completer.read(),
            wakeups: self.shared.room.wakeups(),
        }
    }

    /// Whether one half is gone: nothing new will be seen but what the other drains.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Asks the completer to change a setting; it does so at its next round.
    ///
    /// # Errors
    /// If the value is out of range, or contradicts a setting in force. One that contradicts what
    /// another thread asked for meanwhile is dropped.
    pub fn set(&self, setting: Setting) -> Result<(), KnobError> {
        let in_force = self.shared.published.config();
        let check = |mut config: Config| {
            setting.change(&mut config);
            config.validate()
        };
        // Beside what is in force, or what was asked for and is not yet.
        check(self.shared.published.wanted(in_force))
            .or_else(|_| check(in_force))
            .map_err(|error| KnobError::Refused(setting.knob(), error))?;
        self.shared.published.ask(setting);
        self.shared.completer_waker.wake_by_ref();
        Ok(())
    }

    /// As [`set`](Self::set), by the name and the text that sysfs would take.
    ///
    /// # Errors
    /// Says what is allowed.
    pub fn set_by_name(&self, name: &str, value: &str) -> Result<(), KnobError> {
        self.set(Knob::by_name(name)?.parse(value)?)
    }

    /// Asks both halves to reset the queue, each at its next call, and wakes them: a sender that waits
    /// for room, and whoever `completer_waker` wakes. An owner who sleeps in
    /// [`Intake::must_wait`](super::many::Intake::must_wait) hears of it with the next packet. See
    /// [`Queue::reset`](super::Queue::reset).
    pub fn ask_reset(&self) {
        self.shared.ask_reset();
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.snapshot()).finish()
    }
}
