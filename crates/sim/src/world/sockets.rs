//! What a host's sockets do: frames that arrive, timers, applications, and what comes of them.

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::event::HostEvent;
use super::host::Host;
use super::timer::Look;
use crate::NEVER_NS;
use crate::sys::fetch;

/// Endpoints that surely fit into a second-level cache of 512 KiB, beside the rest.
const CACHED_ENDPOINTS: usize = 1_000;
/// More frames are rarely under way at once where many endpoints share a link.
const FETCHED_AT_ONCE: usize = 8;

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// The first of the frames that are under way arrives.
    #[inline(always)]
    pub fn on_arrival(&mut self, now_ns: u64) {
        // Looked at where it is.
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

    /// Fetches the endpoints of the frames that arrive next, if endpoints do not fit into the
    /// cache.
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

    /// Timers that have moved on since a look was scheduled need none yet: this is known of many at
    /// a time.
    #[inline]
    pub fn move_timers_on(&mut self, now_ns: u64) {
        self.event_queue.open_buckets(
            now_ns,
            &mut self.endpoints,
            |endpoints, event| {
                if let HostEvent::Timer(connection) = *event {
                    fetch(endpoints[connection as usize].timer());
                }
            },
            |endpoints, event, look_ns, end_ns| match *event {
                HostEvent::Timer(connection) => {
                    endpoints[connection as usize].move_timer_on(look_ns, end_ns)
                }
                _ => None,
            },
        );
    }

    pub fn on_timer(&mut self, connection: u32, now_ns: u64) {
        match self.endpoints[connection as usize].look_at_timer(now_ns) {
            Look::Due => {
                self.endpoints[connection as usize].on_timer(now_ns);
                self.pump(connection, now_ns);
            }
            Look::At(at_ns) => self.schedule_look(connection, at_ns, now_ns),
            Look::Nothing => {}
        }
    }

    /// Lets an application act that starts, has paused, or has been woken.
    pub fn act(&mut self, connection: u32, now_ns: u64) {
        self.endpoints[connection as usize].wake_app();
        if self.holds(connection, now_ns) {
            self.work(connection, now_ns);
        } else {
            self.pump(connection, now_ns);
        }
    }

    /// Lets an endpoint's application and TCP do what they can now, and sends what they have.
    #[inline(never)]
    pub fn work(&mut self, connection: u32, now_ns: u64) {
        self.work_now(connection, now_ns);
    }

    // Always: of the two places, most of what happens is in one.
    #[inline(always)]
    fn work_now(&mut self, connection: u32, now_ns: u64) {
        let record_from_ns = self.ended.record_from_ns;
        // In parts: the endpoint is looked up once for all that it does.
        let (endpoints, event_queue, mut way_down) = self.parts();
        let endpoint = &mut endpoints[connection as usize];
        let done = endpoint.run_app(now_ns);
        if done.wake_ns != NEVER_NS {
            event_queue.schedule(now_ns, done.wake_ns, HostEvent::App(connection));
        }
        let sent = way_down.send_all(endpoint, connection, now_ns);
        let look_ns = endpoint.watch_timer();
        if done.latency_ns != NEVER_NS && now_ns >= record_from_ns {
            self.ended.latencies_ns.push(done.latency_ns);
        }
        if sent {
            self.run(now_ns);
            self.watch(now_ns);
        }
        if let Some(at_ns) = look_ns {
            self.schedule_look(connection, at_ns, now_ns);
        }
    }

    /// When the endpoint's timer is surely set again: its next frame is the next to arrive.
    /// An endpoint in the cache is cheaper to check once more than to ask each time.
    fn works_again_ns(&self, connection: u32) -> u64 {
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
    fn schedule_look(&mut self, connection: u32, at_ns: u64, now_ns: u64) {
        if self.works_again_ns(connection) < at_ns {
            return;
        }
        self.endpoints[connection as usize].look_is_scheduled();
        let look = HostEvent::Timer(connection);
        self.event_queue.schedule(now_ns, at_ns, look);
    }
}
