//! A congestion controller that grows only while its window is used.

use std::any::Any;
use std::sync::Arc;
use std::time::{Duration, Instant};

use noq::congestion::{Controller, ControllerFactory, ControllerMetrics};
use noq_proto::RttEstimator;

/// Wraps the factory of a congestion controller: the window grows only while at least half of it is
/// in flight (RFC 9002, section 7.8).
///
/// noq does not count a sender that waits for room as limited by the application. Without this, its
/// window would grow without need, and all of it would be lost when the path fails.
#[derive(Debug)]
pub struct Utilised<F>(Arc<F>);

impl<F> Utilised<F> {
    /// Wraps `factory`.
    pub fn new(factory: F) -> Self {
        Self(Arc::new(factory))
    }
}

impl<F: ControllerFactory> ControllerFactory for Utilised<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.0).build(now, current_mtu);
        Box::new(UtilisedController {
            inner,
            in_flight: 0,
        })
    }
}

#[derive(Debug)]
struct UtilisedController {
    inner: Box<dyn Controller>,
    /// Bytes in flight after the last acknowledgements, and bytes sent since.
    in_flight: u64,
}

impl UtilisedController {
    fn is_unused(&self) -> bool {
        self.in_flight.saturating_mul(2) < self.inner.window()
    }
}

impl Controller for UtilisedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.in_flight = self.in_flight.saturating_add(bytes);
        self.inner.on_sent(now, bytes, largest_pn);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        let limited = app_limited || self.is_unused();
        self.inner.on_ack(now, sent, bytes, pn, limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_acked: Option<u64>,
    ) {
        let limited = app_limited || self.is_unused();
        self.in_flight = in_flight;
        self.inner
            .on_end_acks(now, in_flight, limited, largest_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        persistent: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        self.inner
            .on_congestion_event(now, sent, persistent, is_ecn, lost_bytes, largest_lost_pn);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn on_ack_frequency_update(&mut self, threshold: u64, max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(threshold, max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            inner: self.inner.clone_box(),
            in_flight: self.in_flight,
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        // Callers downcast to the controller that they chose.
        self.inner.into_any()
    }
}
