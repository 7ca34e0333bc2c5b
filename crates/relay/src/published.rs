//! Publishes the queues of this process for `taut show` and similar tools.

use taut_linux::publish::{Publisher, QueueInfo, QueueSlot};
use taut_path::limit::Unit;
use taut_path::queue::MonitorSnapshot;
use taut_path::{AnyLimit, AnyQdisc, Limit, Probe, Queue};

/// Minimum publishing interval: readers sample less often.
const PERIOD_NS: u64 = 1_000_000;

/// A published queue, if publishing is possible. Failures are ignored.
#[derive(Debug, Default)]
pub struct Published {
    slot: Option<QueueSlot>,
    next_ns: u64,
}

impl Published {
    /// Takes a slot for the queue of `device`, which a shaper of this rate can precede.
    pub fn new(device: &str, limit: &AnyLimit, rate_bits_per_s: Option<u64>) -> Self {
        let info = QueueInfo {
            device,
            queue: 0,
            limit: &limit.to_string(),
            in_packets: limit.unit() == Unit::Packets,
            rate_bits_per_s,
        };
        let slot = Publisher::open(&program()).and_then(|publisher| publisher.add(&info));
        Self {
            slot: slot.ok(),
            next_ns: 0,
        }
    }

    /// Publishes the current state of `queue` if the interval has passed.
    pub fn publish_if_due<D, P: Probe>(
        &mut self,
        now_ns: u64,
        queue: &Queue<D, AnyLimit, AnyQdisc, P>,
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

/// Returns the command with its subcommands, as the user would name it.
fn program() -> String {
    let words = std::env::args()
        .skip(1)
        .take_while(|it| !it.starts_with('-'));
    let words = words.take(2).filter(|it| !it.contains('/'));
    words.fold("taut".to_owned(), |all, word| all + " " + &word)
}
