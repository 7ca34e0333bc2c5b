//! A place in the wait queue of a socket.

use taut_dql::tasks::Ticket;

use crate::socket::LimitedUdp;

/// A place in the wait queue, left when it is dropped: a wait can fail, and a future be cancelled.
#[derive(Debug)]
pub(crate) struct Place {
    limited: LimitedUdp,
    /// `None` while it does not wait.
    pub(crate) ticket: Option<Ticket>,
}

impl Place {
    pub(crate) fn new(limited: &LimitedUdp) -> Self {
        Self {
            limited: limited.clone(),
            ticket: None,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.limited.cancel_wait(ticket);
        }
    }
}
