//! The user's observer.

use crate::account::Departure;
use crate::events::{IssueCounters, Observer, SocketIssue};

/// Passes departures and issues to the observer, and counts issues.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) issues: IssueCounters,
}

impl Listeners {
    pub(super) fn departed(&mut self, departure: &Departure) {
        if let Some(observer) = &mut self.observer {
            observer.departed(departure);
        }
    }

    pub(super) fn issue(&mut self, issue: SocketIssue) {
        self.issues.count(&issue);
        if let Some(observer) = &mut self.observer {
            observer.issue(&issue);
        }
    }
}
