//! Locks and small queues of a host's sockets.

use taut_path::limit::Limit;
use taut_path::tsq::Flow;
use taut_path::{Probe, Qdisc};

use super::event::HostEvent;
use super::host::Host;
use super::small_queues::LIST;

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// Returns the small queue of a connection, if it is limited.
    #[inline]
    pub fn flow(&self, connection: u32) -> Option<&Flow> {
        Some(self.tx.budgets.as_ref()?.flow(connection))
    }

    /// Locks the socket of an application that runs, and schedules the unlock. Returns `true` if it
    /// is locked.
    pub fn lock_for_app(&mut self, connection: u32, now_ns: u64) -> bool {
        let Some(budgets) = &self.tx.budgets else {
            return false;
        };
        let holds = budgets.hold_ns > 0 && budgets.flow(connection).try_lock_or_mark();
        if holds {
            let at_ns = now_ns.saturating_add(budgets.hold_ns);
            self.event_queue
                .schedule(now_ns, at_ns, HostEvent::Unlock(connection));
        }
        holds
    }

    /// Runs an endpoint, or marks its socket if it is locked: the unlock then runs it.
    #[inline]
    pub fn pump(&mut self, connection: u32, now_ns: u64) {
        if self.tx.budgets.is_none() {
            return self.work(connection, now_ns);
        }
        self.pump_locked(connection, now_ns);
    }

    #[cold]
    fn pump_locked(&mut self, connection: u32, now_ns: u64) {
        if self.flow(connection).is_some_and(Flow::try_lock_or_mark) {
            self.work(connection, now_ns);
            self.unlock(connection, now_ns);
        }
    }

    /// Processes the work that was marked while a socket was locked, and unlocks it.
    pub fn unlock(&mut self, connection: u32, now_ns: u64) {
        while let Some(flow) = self.flow(connection)
            && !flow.try_unlock()
        {
            self.work(connection, now_ns);
        }
    }

    /// Runs the connections whose small queues have room again.
    pub fn run_deferred(&mut self, now_ns: u64) {
        let Some(budgets) = &mut self.tx.budgets else {
            return;
        };
        budgets.begin_run().run_deferred(LIST, |connection| {
            self.work(connection, now_ns);
        });
        self.watch(now_ns);
    }
}
