//! The clock of an endpoint on tokio.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use s2n_quic_core::time::Timestamp;
use s2n_quic_core::time::clock::{Clock, ClockWithTimer, StdClock, Timer};
use tokio::time::{self, Instant};

#[derive(Clone, Default)]
pub(crate) struct TokioClock(StdClock);

impl Clock for TokioClock {
    fn get_time(&self) -> Timestamp {
        self.0.get_time()
    }
}

impl ClockWithTimer for TokioClock {
    type Timer = Sleep;

    fn timer(&self) -> Sleep {
        Sleep {
            clock: self.clone(),
            sleep: Box::pin(time::sleep(Duration::ZERO)),
            is_set: false,
        }
    }
}

pub(crate) struct Sleep {
    clock: TokioClock,
    sleep: Pin<Box<time::Sleep>>,
    /// A timer that has fired must not be polled again.
    is_set: bool,
}

impl Timer for Sleep {
    fn poll_ready(&mut self, context: &mut Context) -> Poll<()> {
        if !self.is_set {
            return Poll::Pending;
        }
        let done = self.sleep.as_mut().poll(context);
        self.is_set = done.is_pending();
        done
    }

    fn update(&mut self, at: Timestamp) {
        let left = at.saturating_duration_since(self.clock.get_time());
        self.sleep.as_mut().reset(Instant::now() + left);
        self.is_set = true;
    }
}
