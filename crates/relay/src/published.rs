//! Publishes the queues of this process for `taut show` and similar tools.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use taut_linux::publish::{Publisher, QueueInfo, QueueSlot};
use taut_path::limit::Unit;
use taut_path::queue::MonitorSnapshot;
use taut_path::{AnyLimit, Limit, Probe, Qdisc, Queue};

/// Minimum publishing interval: readers sample less often.
const PERIOD_NS: u64 = 1_000_000;

/// A published queue, if publishing is possible. Failures are ignored.
#[derive(Debug, Default)]
pub struct Published {
    slot: Option<QueueSlot>,
    /// The publisher is closed with the last queue.
    _publisher: Option<Arc<Publisher>>,
    next_ns: u64,
}

impl Published {
    /// Takes a slot for the queue of `device`, which a shaper of this rate can precede.
    pub fn new(device: &str, limit: &AnyLimit, rate_bits_per_s: Option<u64>) -> Self {
        let publisher = publisher();
        let info = QueueInfo {
            device,
            queue: 0,
            limit: &limit.to_string(),
            in_packets: limit.unit() == Unit::Packets,
            rate_bits_per_s,
        };
        Self {
            slot: publisher.as_ref().and_then(|it| it.add(&info).ok()),
            _publisher: publisher,
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

/// Returns the publisher of this process.
fn publisher() -> Option<Arc<Publisher>> {
    static PUBLISHER: Mutex<Weak<Publisher>> = Mutex::new(Weak::new());
    let mut kept = PUBLISHER.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(publisher) = kept.upgrade() {
        return Some(publisher);
    }
    let publisher = Arc::new(Publisher::open(&program()).ok()?);
    *kept = Arc::downgrade(&publisher);
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
