//! The user's observer and probe.

use taut_path::{Event, Probe};

use crate::account::Departure;
use crate::events::{IssueCounters, Observer, SocketIssue};

/// Passes events of the socket to both, and counts issues.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) probe: Option<Box<dyn Probe + Send>>,
    pub(crate) issues: IssueCounters,
}

impl Listeners {
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

    pub(super) fn issue(&mut self, issue: SocketIssue) {
        self.issues.count(&issue);
        if let Some(observer) = &mut self.observer {
            observer.issue(&issue);
        }
    }
}
