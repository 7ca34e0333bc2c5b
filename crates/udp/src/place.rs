//! A place in the wait queue of a socket.

use std::io;
use std::task::{Context, Poll};

use taut_dql::tasks::{Priority, Ticket};

use crate::permit::{Permit, reserve};
use crate::socket::LimitedUdp;
use crate::state::State;

/// A place in the wait queue of a socket, for a task of any runtime. It waits from the first call
/// that returns `Pending` until one returns `Ready`, or until it is dropped.
///
/// A call reads the kernel's notifications once, before it starts to wait. Another task must call
/// [`LimitedUdp::complete`] in the meantime. It keeps the socket open.
#[derive(Debug)]
pub struct Place {
    udp: LimitedUdp,
    /// `None` while it does not wait.
    ticket: Option<Ticket>,
}

impl Place {
    /// Creates a place that does not wait yet.
    pub fn new(udp: &LimitedUdp) -> Self {
        Self {
            udp: udp.clone(),
            ticket: None,
        }
    }

    /// Waits for room in FIFO order: `Ready` when it is the caller's turn and there is room. The
    /// room is not reserved: another sender can take it before the caller sends. Use
    /// [`poll_reserve`](Self::poll_reserve) where that matters.
    ///
    /// # Errors
    /// Returns an error if the maximum number of tasks wait
    /// ([`Builder::waiters`](crate::Builder::waiters), `QuotaExceeded`), or if the task that calls
    /// `complete` for the others could not read the socket. The wait then ends, and no waker is
    /// registered.
    pub fn poll_room(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_turn(Priority::Normal, context, |_| Ok(()))
    }

    /// Waits for room and reserves it for one object of `bytes` on the wire, as
    /// [`LimitedUdp::try_reserve`] does.
    ///
    /// # Errors
    /// `InvalidInput` as for [`LimitedUdp::try_reserve`]; as for [`poll_room`](Self::poll_room).
    pub fn poll_reserve(
        &mut self,
        bytes: u32,
        priority: Priority,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<Permit>> {
        let reserved = self.poll_turn(priority, context, |state| reserve(state, bytes));
        reserved.map_ok(|units| self.udp.permit(units))
    }

    /// Waits for a turn, and calls `then` under the same lock.
    pub(crate) fn poll_turn<T>(
        &mut self,
        priority: Priority,
        context: &mut Context<'_>,
        then: impl FnOnce(&mut State) -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        let (udp, ticket) = (&self.udp, &mut self.ticket);
        // The next task is woken even if it is not the caller's turn: it might have read
        // completions.
        udp.update(|state| {
            // A passed task joins again: no other waits then.
            let joins = ticket.is_none() || state.turns.is_empty();
            let polled = state.poll_turn(udp.socket(), priority, ticket, context);
            let done = polled.map(|turn| turn.and_then(|()| then(state)));
            // A reader that always reads needs no earlier deadline, except while the kernel is full
            // and nothing is in flight: no completion wakes it then.
            let is_read = state.turns.reads_always && !state.is_full();
            if joins && done.is_pending() && !is_read {
                state.turns.check_reader();
            }
            done
        })
    }
}

impl Drop for Place {
    /// Leaves the queue, and wakes the next task if there is room: a wait can fail, and a future be
    /// cancelled.
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            self.udp.update(|state| state.turns.queue.leave(ticket));
        }
    }
}
