//! Publishes the paths of a tunnel for `taut show` and `taut top`.

use std::io;

use taut_linux::publish::{MAX_QUEUES, Publisher, QueueInfo, QueueMetrics};

use crate::core::lock;
use crate::snapshot::Snapshot;
use crate::tunnel::Tunnel;

/// Minimum interval of updates.
const INTERVAL_NS: u64 = 100_000_000;

impl<T: AsRef<[u8]> + AsMut<[u8]> + Send + 'static> Tunnel<T> {
    /// Publishes each path as a queue of `device`, while the tunnel has a socket. A [`Publisher`]
    /// of `taut-linux` has room for at most [`MAX_QUEUES`] paths.
    ///
    /// Sent packets are released packets and unmatched datagrams; completed packets are departed
    /// datagrams. All bytes include the overhead.
    ///
    /// # Errors
    /// `InvalidInput` for more paths than [`MAX_QUEUES`]; those of [`Publisher::add`].
    pub fn publish(&self, publisher: &Publisher, device: &str) -> io::Result<()> {
        let paths = self.paths();
        if paths > MAX_QUEUES {
            let message = format!("{paths} paths; allowed: at most {MAX_QUEUES} can be published");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let limit = self.core.gates().paths[0].limit.rule().to_string();
        let mut slots = (0..paths)
            .map(|path| {
                let info = QueueInfo {
                    device,
                    queue: path as u32,
                    limit: &limit,
                    ..QueueInfo::default()
                };
                publisher.add(&info)
            })
            .collect::<io::Result<Vec<_>>>()?;
        let queues = self.downgrade();
        let mut next_ns = 0;
        *lock(&self.core.on_tick) = Some(Box::new(move |now_ns| {
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
    let (counters, queue) = (&snapshot.counters, &snapshot.queue);
    QueueMetrics {
        limit: snapshot.limit.into(),
        limit_min: snapshot.min_limit.into(),
        limit_max: snapshot.max_limit.into(),
        hold_time_ns: snapshot.hold_time_ns,
        in_flight: u64::from(snapshot.program_bytes) + u64::from(snapshot.kernel_bytes),
        early_completions: u64::from(!snapshot.limit_applies),
        enqueued_packets: queue.enqueued_packets,
        sent_packets: counters.released_packets + counters.unmatched_datagrams,
        sent_bytes: counters.released_bytes + counters.unmatched_bytes,
        dropped_packets: queue.dropped_packets,
        marked_packets: queue.marked_packets,
        limit_stops: counters.times_blocked,
        completed_packets: counters.departed_datagrams - counters.lost_completions,
        completed_bytes: counters.departed_bytes,
        stale_packets: counters.late_residuals + counters.stale_datagrams,
        completion_batches: counters.completion_batches,
        stalls: counters.stalls,
        ..QueueMetrics::default()
    }
}
