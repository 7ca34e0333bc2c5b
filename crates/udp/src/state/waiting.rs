//! Waiting for room, in turn with other tasks.

use std::io;
use std::net::UdpSocket;
use std::task::{Context, Poll, Waker};

use taut_dql::tasks::{Priority, Ticket};

use super::{RETRY_NS, State};
use crate::sys::clock::monotonic_ns;

impl State {
    /// Passes an error of the reading task to the next waiting task, with or without room.
    #[cfg(feature = "tokio")]
    pub(crate) fn fail_next(&mut self, error: io::Error) -> Option<Waker> {
        if !self.turns.is_empty() {
            self.turns.failure = Some(error);
        }
        self.turns.queue.pass_unpolled();
        self.turns.queue.wake_next()
    }

    /// Waits for a turn with room. A task that is ready has left the queue. `place` keeps the
    /// position between two calls.
    pub(crate) fn poll_turn(
        &mut self,
        socket: &UdpSocket,
        priority: Priority,
        place: &mut Option<Ticket>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(error) = self.turns.failure.take() {
            self.leave(place);
            return Poll::Ready(Err(error));
        }
        let now_ns = monotonic_ns();
        if !self.has_room(now_ns) && place.is_none() {
            // The next read returns this error, too.
            let _ = self.complete(socket);
        }
        if self.has_room(now_ns) && self.turns.queue.is_turn(place.as_ref(), priority) {
            self.leave(place);
            return Poll::Ready(Ok(()));
        }
        match place.as_ref() {
            Some(ticket) => {
                self.tracker.still_blocked();
                self.turns.queue.set_waker(ticket, context.waker());
            }
            None => {
                self.tracker.blocked();
                let joined = self.turns.queue.join(priority, context.waker());
                let kind = io::ErrorKind::QuotaExceeded;
                *place = Some(joined.map_err(|full| io::Error::new(kind, full))?);
            }
        }
        Poll::Pending
    }

    /// Returns `true` if there is room and no task waits for it. Reads notifications if there is
    /// none.
    pub(crate) fn try_turn(&mut self, socket: &UdpSocket) -> io::Result<bool> {
        let now_ns = monotonic_ns();
        if !self.has_room(now_ns) {
            self.complete(socket)?;
        }
        if !self.has_room(now_ns) {
            self.tracker.blocked();
            return Ok(false);
        }
        Ok(self.turns.queue.is_turn(None, Priority::Normal))
    }

    pub(crate) fn leave(&mut self, place: &mut Option<Ticket>) {
        if let Some(ticket) = place.take() {
            self.turns.queue.leave(ticket);
        }
    }

    /// After notifications were read: passes a woken task that was not polled, if it had time for
    /// that or others completed in the meantime.
    pub(crate) fn pass_unpolled(&mut self, completed: bool) {
        let now_ns = monotonic_ns();
        let late = now_ns >= self.turns.woken_ns.saturating_add(RETRY_NS);
        if (completed || late) && self.has_room(now_ns) {
            self.turns.queue.pass_unpolled();
        }
    }

    /// Returns when a woken task that is not polled is passed although nothing completes.
    pub(super) fn pass_at_ns(&self) -> Option<u64> {
        let at_ns = self.turns.woken_ns.saturating_add(RETRY_NS);
        let waits = self.turns.queue.is_next_woken() && self.tracker.limiter.in_flight() == 0;
        // Without room then, passing it has no effect, and a time in the past would be polled.
        (waits && self.has_room(at_ns)).then_some(at_ns)
    }

    /// Returns the waker of the next task, if there is room for it. The caller must call it after
    /// the lock is released, because a waker can run arbitrary code.
    pub(crate) fn wake_next(&mut self) -> Option<Waker> {
        if self.turns.is_empty() {
            return None;
        }
        let now_ns = monotonic_ns();
        let next = match self.has_room(now_ns) {
            true => self.turns.queue.wake_next(),
            false => None,
        };
        if next.is_some() {
            self.turns.woken_ns = now_ns;
        }
        // Also if the task was woken before: a dropped permit gives it room again.
        if self.pass_at_ns().is_some() {
            self.turns.check_reader();
        }
        next
    }
}

#[cfg(all(test, feature = "tokio"))]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Arc;

    use taut_path::AnyLimit;

    use super::*;
    use crate::place::Place;
    use crate::socket::LimitedUdp;

    /// A task was woken and is not polled, and an urgent one took the room. The reader's deadline
    /// then excludes the first task, so it must compute it again when the room is back.
    #[test]
    fn released_permit_wakes_the_reader_again() {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("socket");
        let builder = LimitedUdp::builder(socket).limit(AnyLimit::bytes(1_000));
        let udp = builder.build().expect("limited");
        let held = udp.try_reserve(2_000).expect("no error").expect("room");
        let mut context = Context::from_waker(Waker::noop());
        let mut reserve =
            |priority, place: &mut Place| place.poll_reserve(2_000, priority, &mut context);
        let mut place = Place::new(&udp);
        assert!(reserve(Priority::Normal, &mut place).is_pending());
        drop(held);
        let urgent = reserve(Priority::Urgent, &mut Place::new(&udp));
        let changed = Arc::clone(&udp.lock().turns.changed);
        let mut context = Context::from_waker(Waker::noop());
        let mut is_notified = || pin!(changed.notified()).poll(&mut context).is_ready();
        assert!(is_notified(), "the task joined the queue");
        assert!(matches!(&urgent, Poll::Ready(Ok(_))));
        assert!(!is_notified());
        drop(urgent);
        assert!(is_notified());
        assert_eq!(udp.snapshot().waiting_tasks, 1);
        drop(place);
        assert_eq!(udp.snapshot().waiting_tasks, 0);
    }
}
