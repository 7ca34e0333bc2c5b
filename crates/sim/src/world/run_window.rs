//! Runs a host alone for a time window, with its events in order of time: arriving frames, its NIC,
//! and its event queue.

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::event_queue::HostEvent;
use super::frames_in_flight::FramesInFlight;
use super::host::Host;
use crate::NEVER_NS;

/// Source of the next event.
#[derive(Clone, Copy)]
enum EventSource {
    Arrival,
    Nic,
    EventQueue,
}

/// Called after a host ran alone. Arguments: start of the window, the host, its index, the wire
/// with its frames, and the number of frames before.
pub(super) type AfterWindow<'a, P, L, Q> =
    &'a mut dyn FnMut(u64, &Host<P, L, Q>, usize, &FramesInFlight, usize);

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// Returns the earliest time of the next event, in ns.
    pub fn next_ns(&self) -> u64 {
        let event_ns = self.event_queue.next_ns();
        self.arrival_ns().min(self.nic_wakeup.at_ns).min(event_ns)
    }

    /// Returns the arrival time of the first frame in flight, in ns; [`NEVER_NS`] if there is none.
    #[inline]
    fn arrival_ns(&self) -> u64 {
        self.arrivals.front().map_or(NEVER_NS, |first| first.at_ns)
    }

    /// Processes all events before `end_ns`. The other host must not send frames that arrive before
    /// that time. Frames that leave are passed `to` the other host.
    pub fn run_before(&mut self, end_ns: u64, to: &mut FramesInFlight) {
        if self.log.fault.is_some() {
            return;
        }
        loop {
            let (arrival_ns, nic_ns) = (self.arrival_ns(), self.nic_wakeup.at_ns);
            let event_ns = self.event_queue.next_ns();
            let (now_ns, source) = if arrival_ns < nic_ns && arrival_ns < event_ns {
                (arrival_ns, Some(EventSource::Arrival))
            } else if nic_ns < arrival_ns && nic_ns < event_ns {
                (nic_ns, Some(EventSource::Nic))
            } else if event_ns < arrival_ns && event_ns < nic_ns {
                (event_ns, Some(EventSource::EventQueue))
            } else {
                (arrival_ns.min(nic_ns).min(event_ns), None)
            };
            if now_ns >= end_ns {
                return;
            }
            let source = source.unwrap_or_else(|| self.first_of_tie(now_ns));
            match source {
                EventSource::Arrival => self.on_arrival(now_ns),
                EventSource::Nic => self.on_nic(now_ns, to),
                EventSource::EventQueue => self.on_event(now_ns),
            }
            self.log.events += 1;
        }
    }

    /// Selects among simultaneous events the one that was scheduled first. If two hosts scheduled
    /// at one time, an arriving frame is first.
    #[cold]
    fn first_of_tie(&mut self, now_ns: u64) -> EventSource {
        let event_queue = self.event_queue.first_turn(now_ns);
        let event_queue = event_queue.map(|turn| (turn, EventSource::EventQueue));
        let nic =
            (self.nic_wakeup.at_ns == now_ns).then_some((self.nic_wakeup.turn, EventSource::Nic));
        let mine = [event_queue, nic].into_iter().flatten();
        let mine = mine.min_by_key(|&(turn, _)| turn);
        let arrival = self.arrivals.front().filter(|first| first.at_ns == now_ns);
        match mine {
            Some((turn, source)) if arrival.is_none_or(|it| turn.since_ns < it.reported_ns()) => {
                source
            }
            _ => EventSource::Arrival,
        }
    }

    fn on_event(&mut self, now_ns: u64) {
        let Some((_, event)) = self.event_queue.next(now_ns) else {
            return;
        };
        match event {
            HostEvent::Timer(connection) => self.on_timer(connection, now_ns),
            HostEvent::App(connection) => self.act(connection, now_ns),
            HostEvent::Deferred => self.run_deferred(now_ns),
            HostEvent::Unlock(connection) => self.unlock(connection, now_ns),
        }
    }
}
