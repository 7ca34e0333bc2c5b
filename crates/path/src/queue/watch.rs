//! Looking at a queue, and asking things of it, from any thread.

use alloc::sync::Arc;
use core::fmt;

use taut_dql::Config;

use super::Snapshot;
use super::counters::{CompleterCounters, Drops, SenderCounters};
use super::shared::Shared;
use crate::knobs::{Knob, KnobError, Setting};
use crate::packet::DropReason;
use crate::sharing::{Number, Sharing, Threads, Wide};

const REASONS: usize = DropReason::ALL.len();

/// What each half last published, and what others asked for.
#[derive(Debug)]
pub(crate) struct Published<M: Sharing> {
    sender: SenderReport<M>,
    completer: CompleterReport<M>,
    asked: Asked<M>,
}

/// Written by the sender only.
#[derive(Debug)]
#[repr(align(128))]
struct SenderReport<M: Sharing> {
    counters: [M::Wide; 7],
    drops: [M::Wide; REASONS],
}

/// Written by the completer only.
#[derive(Debug)]
#[repr(align(128))]
struct CompleterReport<M: Sharing> {
    counters: [M::Wide; 11],
    limits: [M::Number; 3],
    hold_time_ns: M::Wide,
}

/// Written by whoever asks.
#[derive(Debug)]
#[repr(align(128))]
struct Asked<M: Sharing> {
    /// Settings asked for so far, of any kind.
    total: M::Number,
    values: [M::Number; Setting::KINDS],
    times: [M::Number; Setting::KINDS],
}

/// What the completer knows of what was asked.
#[derive(Debug, Default)]
pub(super) struct Heard {
    total: u32,
    times: [u32; Setting::KINDS],
}

impl<M: Sharing> Published<M> {
    pub(super) fn new() -> Self {
        let number = |_| M::Number::new(0);
        Self {
            sender: SenderReport {
                counters: core::array::from_fn(|_| M::Wide::new(0)),
                drops: core::array::from_fn(|_| M::Wide::new(0)),
            },
            completer: CompleterReport {
                counters: core::array::from_fn(|_| M::Wide::new(0)),
                limits: core::array::from_fn(number),
                hold_time_ns: M::Wide::new(0),
            },
            asked: Asked {
                total: M::Number::new(0),
                values: core::array::from_fn(number),
                times: core::array::from_fn(number),
            },
        }
    }

    /// For the sender: lets others see what it did.
    pub(super) fn sender(&self, of: &SenderCounters) {
        let values = [
            of.enqueued_packets,
            of.sent_packets,
            of.sent_bytes,
            of.marked_packets,
            of.limit_stops,
            of.ring_stops,
            of.kicks,
        ];
        store(&self.sender.counters, values);
        store(&self.sender.drops, of.drops.by_reason());
    }

    /// For the completer: lets others see what it did, and the limit.
    pub(super) fn completer(&self, of: &CompleterCounters, config: &Config) {
        let values = [
            of.completed_packets,
            of.completed_bytes,
            of.late_packets,
            of.stray_packets,
            of.orphaned_packets,
            of.rounds,
            of.starved,
            of.resets,
            of.repairs,
            of.stalls,
            of.longest_stall_ns,
        ];
        store(&self.completer.counters, values);
        let limits = [config.limit, config.min_limit, config.max_limit];
        for (to, value) in self.completer.limits.iter().zip(limits) {
            to.store(value);
        }
        self.completer.hold_time_ns.store(config.hold_time_ns);
    }

    fn sender_counters(&self) -> SenderCounters {
        let at = |index: usize| self.sender.counters[index].load();
        let drops = core::array::from_fn(|index: usize| self.sender.drops[index].load());
        SenderCounters {
            enqueued_packets: at(0),
            sent_packets: at(1),
            sent_bytes: at(2),
            marked_packets: at(3),
            limit_stops: at(4),
            ring_stops: at(5),
            kicks: at(6),
            drops: Drops::of_reasons(drops),
        }
    }

    fn completer_counters(&self) -> CompleterCounters {
        let at = |index: usize| self.completer.counters[index].load();
        CompleterCounters {
            completed_packets: at(0),
            completed_bytes: at(1),
            late_packets: at(2),
            stray_packets: at(3),
            orphaned_packets: at(4),
            rounds: at(5),
            starved: at(6),
            resets: at(7),
            repairs: at(8),
            stalls: at(9),
            longest_stall_ns: at(10),
        }
    }

    fn config(&self) -> Config {
        let limit = |index: usize| self.completer.limits[index].load();
        Config {
            limit: limit(0),
            min_limit: limit(1),
            max_limit: limit(2),
            hold_time_ns: self.completer.hold_time_ns.load(),
        }
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

fn store<W: Wide, const N: usize>(to: &[W; N], values: [u64; N]) {
    for (to, value) in to.iter().zip(values) {
        to.store(value);
    }
}

/// A queue as another thread sees it. Each field is true, the set is not atomic: both halves go on
/// while it is taken. Counters are those of the last call of each half.
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
        WatchSnapshot {
            queue: Snapshot {
                limit: config.limit,
                min_limit: config.min_limit,
                max_limit: config.max_limit,
                hold_time_ns: config.hold_time_ns,
                in_flight: self.shared.ledger.in_flight(),
                ..Snapshot::default()
            },
            sender: self.shared.published.sender_counters(),
            completer: self.shared.published.completer_counters(),
            wakeups: self.shared.room.wakeups(),
        }
    }

    /// Asks the completer to change a setting; it does so at its next round.
    ///
    /// # Errors
    /// If the value is out of range, or contradicts a setting in force. One that contradicts what
    /// another thread asked for meanwhile is dropped.
    pub fn set(&self, setting: Setting) -> Result<(), KnobError> {
        let mut config = self.shared.published.config();
        setting.change(&mut config);
        config
            .validate()
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

    /// Asks both halves to reset the queue, each at its next call, and wakes them. See
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
