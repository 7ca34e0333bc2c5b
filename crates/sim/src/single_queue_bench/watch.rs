//! The probe of a bench's queue.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use taut_path::{Event, Probe};

use crate::nic::{Framing, WireWatch};
use crate::time_series::TimeSeriesRecorder;
use taut_measure::meter::{Meter, Since, histogram_ns};

/// Measures a bench.
pub(super) struct BenchProbe {
    pub(super) meter: Meter<Since>,
    pub(super) series: TimeSeriesRecorder,
    pub(super) latency_ns: Histogram<u64>,
    pub(super) held_ns: Histogram<u64>,
    /// Link time of all packets submitted to the NIC, in bytes.
    pub(super) submitted_time_bytes: u64,
    framing: Framing,
    measure_from_ns: u64,
    /// Arrival time of each packet that is not reaped, in ns.
    entered_ns: VecDeque<u64>,
}

impl BenchProbe {
    pub(super) fn new(framing: Framing, measure_from_ns: u64, end_ns: u64) -> Self {
        Self {
            meter: Meter::new(Since(measure_from_ns), 0, end_ns),
            series: TimeSeriesRecorder::new(end_ns),
            latency_ns: histogram_ns(),
            held_ns: histogram_ns(),
            submitted_time_bytes: 0,
            framing,
            measure_from_ns,
            entered_ns: VecDeque::new(),
        }
    }

    /// Records that the oldest unsent packet has left.
    pub(super) fn on_left(&mut self, left_ns: u64) {
        if let Some(entered_ns) = self.entered_ns.pop_front()
            && left_ns >= self.measure_from_ns
        {
            self.latency_ns
                .saturating_record(left_ns.saturating_sub(entered_ns));
        }
    }

    /// Records that the oldest packet has left and was reaped.
    pub(super) fn on_reaped(&mut self, left_ns: u64, now_ns: u64) {
        self.on_left(left_ns);
        if now_ns >= self.measure_from_ns {
            // A packet that counts as sent at its start can be reaped before its last bit has left.
            let held_ns = now_ns.saturating_sub(left_ns);
            self.held_ns.saturating_record(held_ns);
        }
    }
}

/// Sending times of the packets that are not reaped, oldest first.
#[derive(Default)]
pub(super) struct Left {
    pub(super) oldest_ns: VecDeque<u64>,
}

impl WireWatch for Left {
    fn sent(&mut self, bytes: u32, _starts_ns: u64, ends_ns: u64) {
        // The last frame of the packet.
        if bytes > 0 {
            self.oldest_ns.push_back(ends_ns);
        }
    }
}

impl Probe for BenchProbe {
    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        match event {
            Event::Enqueued(_) => return self.entered_ns.push_back(now_ns),
            Event::Dequeued(_) => return,
            Event::Dropped(..) => {
                // The discipline drops at its tail: the packet that arrived last.
                self.entered_ns.pop_back();
                return;
            }
            Event::Sent(packet) => {
                self.submitted_time_bytes += self.framing.packet_time(packet).bytes;
            }
            _ => {}
        }
        self.series.event(now_ns, event);
        self.meter.event(now_ns, event);
    }
}
