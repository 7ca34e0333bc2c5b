//! A congestion controller that grows only while its window is used.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn::congestion::{Controller, ControllerFactory};

/// Wraps the factory of a congestion controller: the window grows only while at least half of it is
/// in flight (RFC 9002, section 7.8; Linux's TCP has the same rule).
///
/// quinn notifies its controllers of a connection that is limited by the application, but not of
/// one that is limited by the socket. So the window grows far beyond the capacity of the path. When
/// the path fails, all of that is sent, and lost.
#[derive(Debug, Clone)]
pub struct Utilised<F> {
    inner: Arc<F>,
}

impl<F> Utilised<F> {
    /// Wraps `factory`.
    pub fn new(factory: F) -> Self {
        Self {
            inner: Arc::new(factory),
        }
    }
}

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for Utilised<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.inner).build(now, current_mtu);
        Box::new(UtilisedController {
            inner,
            in_flight: 0,
        })
    }
}

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
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.in_flight = self.in_flight.saturating_add(bytes);
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &quinn_proto::RttEstimator,
    ) {
        let limited = app_limited || self.is_unused();
        self.inner.on_ack(now, sent, bytes, limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        let limited = app_limited || self.is_unused();
        self.in_flight = in_flight;
        self.inner
            .on_end_acks(now, in_flight, limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        self.inner
            .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> quinn::congestion::ControllerMetrics {
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
