//! The user's observer and probe.

use taut_path::{Event, Probe};

use crate::account::Departure;
use crate::events::{Observer, Trouble, Troubles};

/// Receives what happens on the socket, and counts what went wrong.
pub(crate) struct Listeners {
    pub(super) observer: Option<Box<dyn Observer>>,
    pub(super) probe: Option<Box<dyn Probe + Send>>,
    pub(crate) troubles: Troubles,
}

impl Listeners {
    pub(super) fn new(
        observer: Option<Box<dyn Observer>>,
        probe: Option<Box<dyn Probe + Send>>,
    ) -> Self {
        Self {
            observer,
            probe,
            troubles: Troubles::default(),
        }
    }

    pub(super) fn departed(&mut self, departure: &Departure) {
        if let Some(observer) = &mut self.observer {
            observer.departed(departure);
        }
    }

    pub(super) fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Some(probe) = &mut self.probe {
            probe.event(now_ns, event);
        }
    }

    pub(super) fn trouble(&mut self, trouble: Trouble) {
        self.troubles.count(&trouble);
        if let Some(observer) = &mut self.observer {
            observer.trouble(&trouble);
        }
    }
}
