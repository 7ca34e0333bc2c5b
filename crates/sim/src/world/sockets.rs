//! Events of a host's sockets: arriving frames, timers and applications; locks and small queues.

use taut_path::limit::Limit;
use taut_path::tsq::Flow;
use taut_path::{Probe, Qdisc};

use super::event_queue::HostEvent;
use super::host::Host;
use super::timer::TimerCheck;
use crate::NEVER_NS;

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// Processes the arrival of the first frame in flight.
    #[inline(always)]
    pub fn on_arrival(&mut self, now_ns: u64) {
        // Accessed in place.
        let Some(flight) = self.arrivals.front() else {
            return;
        };
        let connection = flight.connection;
        self.endpoints[connection as usize].on_arrival(flight, now_ns);
        self.arrivals.pop_front();
        if self.tx.budgets.is_none() {
            self.work_now(connection, now_ns);
        } else {
            self.pump(connection, now_ns);
        }
    }

    pub fn on_timer(&mut self, connection: u32, now_ns: u64) {
        match self.endpoints[connection as usize].timer.check(now_ns) {
            TimerCheck::Due => {
                self.endpoints[connection as usize].on_timer(now_ns);
                self.pump(connection, now_ns);
            }
            TimerCheck::At(at_ns) => self.schedule_check(connection, at_ns, now_ns),
            TimerCheck::Nothing => {}
        }
    }

    /// Runs an application that starts, has paused, or was woken.
    pub fn act(&mut self, connection: u32, now_ns: u64) {
        self.endpoints[connection as usize].desk.wake();
        if self.lock_for_app(connection, now_ns) {
            self.work(connection, now_ns);
        } else {
            self.pump(connection, now_ns);
        }
    }

    /// Runs an endpoint's application and TCP, and sends their data.
    #[inline(never)]
    pub fn work(&mut self, connection: u32, now_ns: u64) {
        self.work_now(connection, now_ns);
    }

    // Inlined because one of the two call sites handles most events.
    #[inline(always)]
    fn work_now(&mut self, connection: u32, now_ns: u64) {
        let record_from_ns = self.record_from_ns;
        let endpoint = &mut self.endpoints[connection as usize];
        let done = endpoint.run_app(now_ns);
        if done.wake_ns != NEVER_NS {
            let app = HostEvent::App(connection);
            self.event_queue.schedule(now_ns, done.wake_ns, app);
        }
        let sent = self.tx.send_all(endpoint, connection, now_ns);
        let check_ns = endpoint.watch_timer();
        if done.latency_ns != NEVER_NS && now_ns >= record_from_ns {
            self.latency_ns.saturating_record(done.latency_ns);
        }
        if sent {
            self.run(now_ns);
            self.watch(now_ns);
        }
        if let Some(at_ns) = check_ns {
            self.schedule_check(connection, at_ns, now_ns);
        }
    }

    #[inline(never)]
    fn schedule_check(&mut self, connection: u32, at_ns: u64, now_ns: u64) {
        let endpoint = &mut self.endpoints[connection as usize];
        endpoint.timer.check_is_scheduled();
        let check = HostEvent::Timer(connection);
        self.event_queue.schedule(now_ns, at_ns, check);
    }

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
        budgets.begin_run().run_deferred(|connection| {
            self.work(connection, now_ns);
        });
        self.watch(now_ns);
    }
}
