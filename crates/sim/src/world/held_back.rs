//! What a host does with sockets that are held back.

use taut_path::limit::Limit;
use taut_path::tsq::Flow;
use taut_path::{Probe, Qdisc};

use super::event::HostEvent;
use super::host::Host;
use super::small_queues::LIST;

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// What holds a connection back, if anything does.
    #[inline]
    pub fn flow(&self, connection: u32) -> Option<&Flow> {
        Some(self.budgets.as_ref()?.flow(connection))
    }

    /// Whether an application that acts takes its socket for a while. It lets go by itself.
    pub fn holds(&mut self, connection: u32, now_ns: u64) -> bool {
        let Some(budgets) = &self.budgets else {
            return false;
        };
        let holds = budgets.hold_ns > 0 && budgets.flow(connection).try_lock_or_mark();
        if holds {
            let at_ns = now_ns.saturating_add(budgets.hold_ns);
            self.event_queue
                .schedule(now_ns, at_ns, HostEvent::LetGo(connection));
        }
        holds
    }

    /// Lets an endpoint work, unless its socket is held: then it works when that is let go.
    #[inline]
    pub fn pump(&mut self, connection: u32, now_ns: u64) {
        if self.budgets.is_none() {
            return self.work(connection, now_ns);
        }
        self.pump_held_back(connection, now_ns);
    }

    #[cold]
    fn pump_held_back(&mut self, connection: u32, now_ns: u64) {
        if self.flow(connection).is_some_and(Flow::try_lock_or_mark) {
            self.work(connection, now_ns);
            self.let_go(connection, now_ns);
        }
    }

    /// Does what was noted while a socket was held, and lets go of it.
    pub fn let_go(&mut self, connection: u32, now_ns: u64) {
        while let Some(flow) = self.flow(connection)
            && !flow.try_unlock()
        {
            self.work(connection, now_ns);
        }
    }

    /// Those whose small queues have room again send on.
    pub fn run_deferred(&mut self, now_ns: u64) {
        let Some(budgets) = &mut self.budgets else {
            return;
        };
        budgets.begin_run().run_deferred(LIST, |connection| {
            self.work(connection, now_ns);
        });
        self.watch(now_ns);
    }
}
