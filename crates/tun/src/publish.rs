//! Publishes the paths of a tunnel for `taut show` and `taut top`.

use std::io;

use taut_linux::publish::{Publisher, QueueInfo, QueueMetrics};

use crate::snapshot::Snapshot;
use crate::tunnel::Tunnel;

/// Minimum interval of updates.
const INTERVAL_NS: u64 = 100_000_000;

impl<T: AsRef<[u8]> + AsMut<[u8]> + Send + 'static> Tunnel<T> {
    /// Publishes each path as a queue of `device`, while the tunnel has a socket.
    ///
    /// # Errors
    /// Those of [`Publisher::add`].
    pub fn publish(&self, publisher: &Publisher, device: &str) -> io::Result<()> {
        let mut slots = (0..self.paths())
            .map(|path| {
                let info = QueueInfo {
                    device,
                    queue: path as u32,
                    limit: &self.limit_name(),
                    ..QueueInfo::default()
                };
                publisher.add(&info)
            })
            .collect::<io::Result<Vec<_>>>()?;
        let queues = self.downgrade();
        let mut next_ns = 0;
        self.core.set_on_tick(Box::new(move |now_ns| {
            if now_ns < next_ns {
                return;
            }
            next_ns = now_ns + INTERVAL_NS;
            let Some(tunnel) = queues() else { return };
            for (path, slot) in slots.iter_mut().enumerate() {
                slot.publish_metrics(&metrics(&tunnel.snapshot(path)));
            }
        }));
        Ok(())
    }
}

fn metrics(snapshot: &Snapshot) -> QueueMetrics {
    let (gate, queue) = (&snapshot.gate, &snapshot.queue);
    QueueMetrics {
        limit: snapshot.limit.into(),
        in_flight: u64::from(snapshot.program_bytes) + u64::from(snapshot.kernel_bytes),
        early_completions: u64::from(!snapshot.limit_applies),
        enqueued_packets: queue.enqueued_packets,
        sent_packets: gate.released_packets,
        sent_bytes: gate.released_bytes,
        dropped_packets: queue.dropped_packets,
        marked_packets: queue.marked_packets,
        limit_stops: gate.times_blocked,
        completed_packets: gate.departed_datagrams,
        completed_bytes: gate.departed_bytes,
        stale_packets: gate.stale_packets,
        completion_batches: gate.completion_batches,
        stalls: gate.stalls,
        ..QueueMetrics::default()
    }
}
