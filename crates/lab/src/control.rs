//! The state that the threads of a row share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use taut_measure::meter::Window;

/// A counter that one thread writes and others read.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    /// Sets the counter.
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// Adds to a counter that only the calling thread writes.
    pub fn add(&self, value: u64) {
        self.set(self.get() + value);
    }

    /// Returns the counter.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The state of a row, and the counters of its progress line.
#[derive(Debug, Default)]
pub struct Control {
    stop: AtomicBool,
    recording: AtomicBool,
    pub in_flight_bytes: Gauge,
    pub received_bytes: Gauge,
    pub transactions: Gauge,
}

impl Control {
    /// Interval at which a thread that waits for the network checks for the end of the row.
    pub const CHECK_INTERVAL: Duration = Duration::from_millis(100);

    /// Ends the row: every thread leaves its loop soon.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Starts or ends the measured time.
    pub fn record(&self, on: bool) {
        self.recording.store(on, Ordering::Relaxed);
    }

    pub fn is_recording(&self) -> bool {
        self.recording.load(Ordering::Relaxed)
    }
}

/// Stops the row when a thread ends, even by a panic: otherwise the other threads would not end.
pub struct StopOnDrop<'a>(pub &'a Control);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Restricts a meter to the time in which the row is recorded.
pub struct Watch {
    pub control: Arc<Control>,
    /// The counters of the progress line.
    pub shown: bool,
}

impl Window for Watch {
    fn measured_ns(&self, since_ns: u64, now_ns: u64) -> u64 {
        if self.control.is_recording() {
            now_ns.saturating_sub(since_ns)
        } else {
            0
        }
    }

    fn in_flight_changed(&mut self, bytes: u64) {
        if self.shown {
            self.control.in_flight_bytes.set(bytes);
        }
    }
}
