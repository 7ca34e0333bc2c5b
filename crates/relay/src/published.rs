//! Publishes the queues of this process for `taut show` and similar tools.

use std::sync::{Mutex, PoisonError};

use taut_linux::publish::{Publisher, QueueInfo, QueueSlot, WeakPublisher};
use taut_path::queue::MonitorSnapshot;
use taut_path::{Limit, Probe, Qdisc, Queue};

/// Minimum publishing interval: readers sample less often.
const PERIOD_NS: u64 = 1_000_000;

/// A published queue, if publishing is possible. Failures are ignored.
#[derive(Debug, Default)]
pub struct Published {
    slot: Option<QueueSlot>,
    next_ns: u64,
}

impl Published {
    /// Takes a slot for a queue.
    pub fn new(info: &QueueInfo<'_>) -> Self {
        Self {
            slot: publisher().and_then(|publisher| publisher.add(info).ok()),
            next_ns: 0,
        }
    }

    /// Publishes the current state of `queue` if the interval has passed.
    pub fn look<D, L: Limit, Q: Qdisc, P: Probe>(
        &mut self,
        now_ns: u64,
        queue: &Queue<D, L, Q, P>,
    ) {
        let Some(slot) = self.slot.as_mut().filter(|_| now_ns >= self.next_ns) else {
            return;
        };
        self.next_ns = now_ns + PERIOD_NS;
        slot.publish(&MonitorSnapshot {
            queue: queue.snapshot(),
            sender: queue.sender_counters(),
            completer: queue.completer_counters(),
            wakeups: 0,
        });
    }
}

/// Returns the publisher of this process, which is closed with its last queue.
fn publisher() -> Option<Publisher> {
    static PUBLISHER: Mutex<Option<WeakPublisher>> = Mutex::new(None);
    let mut kept = PUBLISHER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(publisher) = kept.as_ref().and_then(WeakPublisher::upgrade) {
        return Some(publisher);
    }
    let publisher = Publisher::open(&program()).ok()?;
    *kept = Some(publisher.downgrade());
    Some(publisher)
}

/// Returns the command with its subcommands, as the user would name it.
fn program() -> String {
    let words = std::env::args()
        .skip(1)
        .take_while(|it| !it.starts_with('-'));
    let words = words.take(2).filter(|it| !it.contains('/'));
    words.fold("taut".to_owned(), |all, word| all + " " + &word)
}
