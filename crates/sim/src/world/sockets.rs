//! What a host's sockets do: frames that arrive, timers, applications, and what comes of them.

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::host::{Event, Host, TIMER_LANE};
use super::timer::Look;
use super::wire::{Flight, Says};
use super::worker::Task;
use crate::sys::fetch;

/// Endpoints that surely fit into a second-level cache of 512 KiB, beside the rest.
const CACHED_ENDPOINTS: usize = 1_000;
/// More frames are rarely under way at once where many endpoints share a link.
const FETCHED_AT_ONCE: usize = 8;

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// The first of the frames that are under way arrives.
    #[inline(always)]
    pub fn on_arrival(&mut self, now_ns: u64) {
        let Some(flight) = self.arrivals.pop() else {
            return;
        };
        if self.must_wait(self.cost.segment_ns, Task::Receive, now_ns) {
            self.arrived.push_back(flight);
            return;
        }
        self.receive(&flight, now_ns);
    }

    /// Fetches the endpoints of the frames that arrive next, if endpoints do not fit into the cache.
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

    /// Fetches the timer that is looked at next.
    fn fetch_next_timer(&self) {
        if self.endpoints.len() > CACHED_ENDPOINTS {
            for next in self.agenda.candidates(TIMER_LANE) {
                if let Some(&Event::Timer(connection)) = next
                    && let Some(endpoint) = self.endpoints.get(connection as usize)
                {
                    fetch(endpoint.timer());
                }
            }
        }
    }

    /// The core has come to the first of the frames that arrived.
    #[inline(never)]
    pub fn receive_late(&mut self, now_ns: u64) {
        if let Some(flight) = self.arrived.pop_front() {
            self.receive(&flight, now_ns);
        }
    }

    #[inline(always)]
    fn receive(&mut self, flight: &Flight, now_ns: u64) {
        if flight.says(Says::DATAGRAM) {
            return self.on_datagram(flight.connection);
        }
        self.endpoints[flight.connection as usize].on_arrival(flight, now_ns);
        if self.budgets.is_none() {
            return self.work_now(flight.connection, false, now_ns);
        }
        self.pump(flight.connection, false, now_ns);
    }

    pub fn on_timer(&mut self, connection: u32, now_ns: u64) {
        self.fetch_next_timer();
        match self.endpoints[connection as usize].look_at_timer(now_ns) {
            Look::Due if self.must_wait(0, Task::Timer(connection), now_ns) => {}
            Look::Due => self.time_out(connection, now_ns),
            Look::At(at_ns) => self.schedule_look(connection, at_ns, now_ns),
            Look::Nothing => {}
        }
    }

    pub fn time_out(&mut self, connection: u32, now_ns: u64) {
        self.endpoints[connection as usize].on_timer(now_ns);
        self.pump(connection, false, now_ns);
    }

    pub fn on_app(&mut self, connection: u32, now_ns: u64) {
        if !self.must_wait(0, Task::App(connection), now_ns) {
            self.act(connection, now_ns);
        }
    }

    /// Lets an application act that starts, has paused, or has been woken.
    pub fn act(&mut self, connection: u32, now_ns: u64) {
        self.endpoints[connection as usize].wake_app(now_ns);
        if self.holds(connection, now_ns) {
            self.work(connection, true, now_ns);
        } else {
            self.pump(connection, true, now_ns);
        }
    }

    /// Lets an endpoint's application and TCP do what they can now, and sends what they have. An
    /// application that has not `woken` takes its time.
    #[inline(never)]
    pub fn work(&mut self, connection: u32, woken: bool, now_ns: u64) {
        self.work_now(connection, woken, now_ns);
    }

    // Always: of the two places, most of what happens is in one.
    #[inline(always)]
    fn work_now(&mut self, connection: u32, woken: bool, now_ns: u64) {
        let reaction_ns = self.cost.reaction_ns;
        let endpoint = &mut self.endpoints[connection as usize];
        let done = if woken || reaction_ns == 0 {
            endpoint.run_app(now_ns)
        } else {
            endpoint.rouse_app(now_ns, now_ns.saturating_add(reaction_ns))
        };
        if let Some(at_ns) = done.wake_ns {
            self.agenda.schedule(now_ns, at_ns, Event::App(connection));
        }
        if let Some(latency_ns) = done.latency_ns
            && now_ns >= self.record_from_ns
        {
            self.ended_ns.push(latency_ns);
        }
        self.send_all(connection, now_ns);
        self.watch_timer(connection, now_ns);
    }

    /// Sends what an endpoint's TCP has.
    #[inline(always)]
    fn send_all(&mut self, connection: u32, now_ns: u64) {
        let (mut sent, mut queued) = (false, false);
        loop {
            let budgets = self.budgets.as_ref();
            let flow = budgets.map(|budgets| budgets.flow(connection));
            let endpoint = &mut self.endpoints[connection as usize];
            let Some(segment) = endpoint.next_data(connection, flow, now_ns) else {
                break;
            };
            queued |= self.send(&segment, now_ns);
            sent = true;
        }
        if let Some(segment) = self.endpoints[connection as usize].last_ack(connection) {
            queued |= self.send(&segment, now_ns);
            sent = true;
        }
        if queued {
            self.run(now_ns);
        }
        if sent {
            self.watch(now_ns);
        }
    }

    #[inline]
    fn watch_timer(&mut self, connection: u32, now_ns: u64) {
        if let Some(at_ns) = self.endpoints[connection as usize].watch_timer() {
            self.schedule_look(connection, at_ns, now_ns);
        }
    }

    fn schedule_look(&mut self, connection: u32, at_ns: u64, now_ns: u64) {
        let look = Event::Timer(connection);
        self.agenda
            .schedule_in_lane_or_heap(TIMER_LANE, now_ns, at_ns, look);
    }
}
