//! Events of a host's sockets: arriving frames, timers and applications.

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::event::HostEvent;
use super::host::Host;
use super::timer::TimerCheck;
use crate::NEVER_NS;
use crate::sys::fetch;

/// This many endpoints fit into a second-level cache of 512 KiB with room to spare.
const CACHED_ENDPOINTS: usize = 1_000;
/// Maximum frames to prefetch for; more are rarely in flight if many endpoints share a link.
const FETCHED_AT_ONCE: usize = 8;

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// Processes the arrival of the first frame in flight.
    #[inline(always)]
    pub fn on_arrival(&mut self, now_ns: u64) {
        // Accessed in place.
        let Some(flight) = self.arrivals.get(0) else {
            return;
        };
        let connection = flight.connection;
        self.endpoints[connection as usize].on_arrival(flight, now_ns);
        self.arrivals.drop_first();
        if self.budgets.is_none() {
            self.work_now(connection, now_ns);
        } else {
            self.pump(connection, now_ns);
        }
    }

    /// Prefetches the endpoints of the next arriving frames, if the endpoints exceed the cache.
    #[inline]
    pub fn fetch_arrivals(&self) {
        if self.endpoints.len() > CACHED_ENDPOINTS {
            for index in 0..FETCHED_AT_ONCE {
                let Some(flight) = self.arrivals.get(index) else {
                    break;
                };
                if let Some(endpoint) = self.endpoints.get(flight.connection as usize) {
                    fetch(endpoint);
                }
            }
        }
    }

    /// Postpones the timer checks of a bucket for timers that were set again in the meantime.
    #[inline]
    pub fn postpone_timers(&mut self, now_ns: u64) {
        self.event_queue.open_buckets(
            now_ns,
            &mut self.endpoints,
            |endpoints, event| {
                if let HostEvent::Timer(connection) = *event {
                    fetch(endpoints[connection as usize].timer());
                }
            },
            |endpoints, event, check_ns, end_ns| match *event {
                HostEvent::Timer(connection) => {
                    endpoints[connection as usize].postpone_timer(check_ns, end_ns)
                }
                _ => None,
            },
        );
    }

    pub fn on_timer(&mut self, connection: u32, now_ns: u64) {
        match self.endpoints[connection as usize].check_timer(now_ns) {
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
        self.endpoints[connection as usize].wake_app();
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
        let record_from_ns = self.ended.record_from_ns;
        // In parts, so that the endpoint is looked up once.
        let (endpoints, event_queue, mut tx_path) = self.parts();
        let endpoint = &mut endpoints[connection as usize];
        let done = endpoint.run_app(now_ns);
        if done.wake_ns != NEVER_NS {
            event_queue.schedule(now_ns, done.wake_ns, HostEvent::App(connection));
        }
        let sent = tx_path.send_all(endpoint, connection, now_ns);
        let check_ns = endpoint.watch_timer();
        if done.latency_ns != NEVER_NS && now_ns >= record_from_ns {
            self.ended.latencies_ns.push(done.latency_ns);
        }
        if sent {
            self.run(now_ns);
            self.watch(now_ns);
        }
        if let Some(at_ns) = check_ns {
            self.schedule_check(connection, at_ns, now_ns);
        }
    }

    /// Returns a time by which the endpoint's timer is certainly set again, because its next frame
    /// is the next to arrive. For an endpoint in the cache, a further check is cheaper than this.
    fn next_timer_reset_ns(&self, connection: u32) -> u64 {
        match self.arrivals.get(0) {
            Some(next)
                if next.connection == connection
                    && self.endpoints.len() > CACHED_ENDPOINTS
                    && self.budgets.is_none() =>
            {
                next.at_ns
            }
            _ => NEVER_NS,
        }
    }

    #[inline(never)]
    fn schedule_check(&mut self, connection: u32, at_ns: u64, now_ns: u64) {
        if self.next_timer_reset_ns(connection) < at_ns {
            return;
        }
        self.endpoints[connection as usize].check_is_scheduled();
        let check = HostEvent::Timer(connection);
        self.event_queue.schedule(now_ns, at_ns, check);
    }
}
