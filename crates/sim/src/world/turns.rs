//! A host runs alone for a while, from three sources in order of time: the frames that arrive, its
//! NIC, and its event_queue.

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::event::HostEvent;
use super::frames_in_flight::FramesInFlight;
use super::host::Host;

/// What is next.
#[derive(Clone, Copy)]
enum EventSource {
    Arrival,
    Nic,
    EventQueue,
}

/// Hears, after a host ran alone: from when on it did, the host, its index, the wire that its
/// frames are on, and how many were there before.
pub(super) trait AfterWindow<P, L, Q: Qdisc>:
    FnMut(u64, &Host<P, L, Q>, usize, &FramesInFlight, usize)
{
}

impl<P, L, Q: Qdisc, F: FnMut(u64, &Host<P, L, Q>, usize, &FramesInFlight, usize)>
    AfterWindow<P, L, Q> for F
{
}

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// When something may happen here next, in ns.
    pub fn next_ns(&self) -> u64 {
        let event_ns = self.event_queue.not_before_ns();
        self.arrivals
            .first_ns()
            .min(self.nic_wakeup.at_ns)
            .min(event_ns)
    }

    /// Does all that is due before `end_ns`, if nothing that the other host does meanwhile can
    /// arrive before. What leaves is under way `to` the other host.
    pub fn run_before(&mut self, end_ns: u64, to: &mut FramesInFlight) {
        if self.log.fault.is_some() {
            return;
        }
        self.fetch_arrivals();
        loop {
            let (arrival_ns, nic_ns) = (self.arrivals.first_ns(), self.nic_wakeup.at_ns);
            let event_ns = self.event_queue.not_before_ns();
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

    /// Of several things that are due now, what was scheduled first is first. Of what was scheduled
    /// at one time at two hosts, what arrives.
    #[cold]
    fn first_of_tie(&mut self, now_ns: u64) -> EventSource {
        let event_queue = self.event_queue.first_turn(now_ns);
        let event_queue = event_queue.map(|turn| (turn, EventSource::EventQueue));
        let nic =
            (self.nic_wakeup.at_ns == now_ns).then_some((self.nic_wakeup.turn, EventSource::Nic));
        let mine = match (event_queue, nic) {
            (Some(event_queue), Some(nic)) if event_queue.0 < nic.0 => Some(event_queue),
            (event_queue, nic) => nic.or(event_queue),
        };
        let arrival = self.arrivals.get(0).filter(|first| first.at_ns == now_ns);
        match (mine, arrival) {
            (Some((turn, source)), Some(first)) if turn.since_ns < first.told_ns() => source,
            (_, Some(_)) => EventSource::Arrival,
            (Some((_, source)), None) => source,
            // It was known too early.
            (None, None) => EventSource::EventQueue,
        }
    }

    fn on_event(&mut self, now_ns: u64) {
        self.move_timers_on(now_ns);
        match self.event_queue.next(now_ns) {
            // It was known too early: now it knows when.
            None => self.log.events -= 1,
            Some((_, HostEvent::Timer(connection))) => self.on_timer(connection, now_ns),
            Some((_, HostEvent::App(connection))) => self.act(connection, now_ns),
            Some((_, HostEvent::Deferred)) => self.run_deferred(now_ns),
            Some((_, HostEvent::LetGo(connection))) => self.let_go(connection, now_ns),
        }
    }
}
