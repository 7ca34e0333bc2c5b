//! A host runs alone for a while, from three sources in order of time: the frames that arrive, its NIC,
//! and its agenda.

use taut_path::limit::Limit;
use taut_path::{Probe, Qdisc};

use super::event::Event;
use super::host::Host;
use super::wire::Wire;

/// What is next.
#[derive(Clone, Copy)]
enum Source {
    Arrival,
    Nic,
    Agenda,
}

/// Hears, after a host ran alone: from when on it did, the host, its index, the wire that its frames are
/// on, and how many were there before.
pub(super) trait AfterWindow<P, L, Q: Qdisc>:
    FnMut(u64, &Host<P, L, Q>, usize, &Wire, usize)
{
}

impl<P, L, Q: Qdisc, F: FnMut(u64, &Host<P, L, Q>, usize, &Wire, usize)> AfterWindow<P, L, Q>
    for F
{
}

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// When something may happen here next, in ns.
    pub fn next_ns(&self) -> u64 {
        let agenda_ns = self.agenda.not_before_ns();
        self.arrivals.first_ns().min(self.nic_ns).min(agenda_ns)
    }

    /// Does all that is due before `end_ns`, if nothing that the other host does meanwhile can
    /// arrive before. What leaves is under way `to` the other host.
    pub fn run_before(&mut self, end_ns: u64, to: &mut Wire) {
        if self.fault.is_some() {
            return;
        }
        self.fetch_arrivals();
        loop {
            let (arrival_ns, nic_ns) = (self.arrivals.first_ns(), self.nic_ns);
            let agenda_ns = self.agenda.not_before_ns();
            let (now_ns, source) = if arrival_ns < nic_ns && arrival_ns < agenda_ns {
                (arrival_ns, Some(Source::Arrival))
            } else if nic_ns < arrival_ns && nic_ns < agenda_ns {
                (nic_ns, Some(Source::Nic))
            } else if agenda_ns < arrival_ns && agenda_ns < nic_ns {
                (agenda_ns, Some(Source::Agenda))
            } else {
                (arrival_ns.min(nic_ns).min(agenda_ns), None)
            };
            if now_ns >= end_ns {
                return;
            }
            let source = source.unwrap_or_else(|| self.first_of_tie(now_ns));
            match source {
                Source::Arrival => self.on_arrival(now_ns),
                Source::Nic => self.on_nic(now_ns, to),
                Source::Agenda => self.on_agenda(now_ns),
            }
            self.events += 1;
        }
    }

    /// Of several things that are due now, what was scheduled first is first. Of what was scheduled at
    /// one time at two hosts, what arrives.
    #[cold]
    fn first_of_tie(&mut self, now_ns: u64) -> Source {
        let agenda = self.agenda.first_turn(now_ns);
        let agenda = agenda.map(|turn| (turn, Source::Agenda));
        let nic = (self.nic_ns == now_ns).then_some((self.nic_turn, Source::Nic));
        let mine = match (agenda, nic) {
            (Some(agenda), Some(nic)) if agenda.0 < nic.0 => Some(agenda),
            (agenda, nic) => nic.or(agenda),
        };
        let arrival = self.arrivals.get(0).filter(|first| first.at_ns == now_ns);
        match (mine, arrival) {
            (Some((turn, source)), Some(first)) if turn.since_ns < first.told_ns() => source,
            (_, Some(_)) => Source::Arrival,
            (Some((_, source)), None) => source,
            // It was known too early.
            (None, None) => Source::Agenda,
        }
    }

    fn on_agenda(&mut self, now_ns: u64) {
        self.move_timers_on(now_ns);
        match self.agenda.next(now_ns) {
            // It was known too early: now it knows when.
            None => self.events -= 1,
            Some((_, Event::Timer(connection))) => self.on_timer(connection, now_ns),
            Some((_, Event::App(connection))) => self.on_app(connection, now_ns),
            Some((_, Event::Blind(number))) => self.on_blind(number, now_ns),
            Some((_, Event::Core)) => self.on_core(now_ns),
            Some((_, Event::Deferred)) => self.on_deferred(now_ns),
            Some((_, Event::LetGo(connection))) => self.on_let_go(connection, now_ns),
        }
    }
}
