//! The socket's state behind its lock: the account, and the calls that feed it.

mod failures;
mod numbers;
mod sources;

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::task::Waker;

use taut_dql::tasks::Turns;
use taut_path::queue::StopReason;
use taut_path::{Event, Frame, Packet, Probe};

use crate::account::{Account, Completed, Departure, Settings, Source};
use crate::control::Name;
use crate::datagram::{Asks, Datagram};
use crate::events::{Observer, Trouble, Troubles};
use crate::pool::{Pool, Span};
use crate::signal::Signal;
use crate::socket::{Sent, Stop};
use crate::sys::clock::{monotonic_ns, real_ns};
use crate::sys::message::{self, BATCH, Control, Entry, Outgoing};
use crate::sys::socket as options;
use failures::{After, RETRY_NS};
use numbers::Numbers;
pub(crate) use sources::{Ready, Sources, ready};

/// Objects sent before news is looked for although there is room.
const SENT_BEFORE_DRAIN: u32 = 16;
/// Reads of the error queue in one look: it cannot be kept there for ever.
const READS_LIMIT: usize = 64;
/// Zero-copy sends that are looked at one by one, and of how many later ones one is.
const LOOKS_AT_FIRST: u64 = 128;
const LOOKS_ONE_OF: u64 = 32;

pub(crate) struct State {
    pub(crate) account: Account,
    pub(crate) turns: Turns,
    pub(crate) troubles: Troubles,
    ears: Ears,
    sources: Sources,
    pool_bytes: usize,
    entered_stamps: bool,
    pool: Option<Pool>,
    /// `SOF_TIMESTAMPING_TX_*`; 0 when nothing is asked.
    stamps: u32,
    pub(crate) own_ids: bool,
    ipv4: bool,
    sent_since_drain: u32,
    /// The send buffer is full: until when nothing is tried unless something completes.
    full_until_ns: Option<u64>,
    numbers: Numbers,
    held: Held,
    /// Objects sent when the source was taken, and before the next look at one.
    looks_from: u64,
    looks_in: u64,
    scratch: Box<Scratch>,
}

/// A datagram that is too large is tried twice, for the error may be an earlier one's: what the queue
/// tells at the first try is held until the second one says whose it is.
enum Held {
    Nothing,
    Wanted,
    Kept(Trouble),
}

/// Who hears.
struct Ears {
    observer: Option<Box<dyn Observer>>,
    probe: Option<Box<dyn Probe + Send>>,
}

impl Ears {
    fn departed(&mut self, departure: &Departure) {
        if let Some(observer) = &mut self.observer {
            observer.departed(departure);
        }
    }

    fn event(&mut self, now_ns: u64, event: Event<'_>) {
        if let Some(probe) = &mut self.probe {
            probe.event(now_ns, event);
        }
    }
}

/// Room that is used again for each call.
struct Scratch {
    controls: [Control; BATCH],
    control_bytes: [usize; BATCH],
    names: [Name; BATCH],
    spans: [Option<Span>; BATCH],
    entries: [Entry; BATCH],
}

/// Whether what is sent needs room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    Needed,
    NotNeeded,
}

pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) sources: Sources,
    pub(crate) ready: Ready,
    pub(crate) pool_bytes: usize,
    pub(crate) entered_stamps: bool,
    pub(crate) own_ids: bool,
    pub(crate) ipv4: bool,
    pub(crate) waiters: usize,
    pub(crate) observer: Option<Box<dyn Observer>>,
    pub(crate) probe: Option<Box<dyn Probe + Send>>,
}

impl State {
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            account: Account::new(&setup.settings, monotonic_ns()),
            turns: Turns::new(setup.waiters),
            troubles: Troubles::default(),
            ears: Ears {
                observer: setup.observer,
                probe: setup.probe,
            },
            sources: setup.sources,
            pool_bytes: setup.pool_bytes,
            entered_stamps: setup.entered_stamps,
            pool: setup.ready.pool,
            stamps: setup.ready.stamps,
            own_ids: setup.own_ids,
            ipv4: setup.ipv4,
            sent_since_drain: 0,
            full_until_ns: None,
            numbers: setup.ready.numbers,
            held: Held::Nothing,
            looks_from: 0,
            looks_in: 0,
            scratch: Box::new(Scratch {
                controls: [Control::EMPTY; BATCH],
                control_bytes: [0; BATCH],
                names: [Name::NONE; BATCH],
                spans: [None; BATCH],
                entries: [Entry::EMPTY; BATCH],
            }),
        }
    }

    pub(crate) fn has_room(&self, now_ns: u64) -> bool {
        self.full_until_ns.is_none_or(|until_ns| now_ns >= until_ns)
            && self.account.has_room(now_ns)
    }

    /// Whether only time or the socket's write readiness makes room.
    pub(crate) fn is_full(&self) -> bool {
        self.full_until_ns.is_some()
    }

    pub(crate) fn next_wakeup(&self) -> Option<u64> {
        let nudge_ns = self.full_until_ns.filter(|_| !self.turns.is_empty());
        [self.account.next_wakeup(), nudge_ns]
            .into_iter()
            .flatten()
            .min()
    }

    /// The waker of whoever is next, if there is room for it.
    pub(crate) fn next_in_turn(&self, now_ns: u64) -> Option<Waker> {
        if self.turns.is_empty() || !self.has_room(now_ns) {
            return None;
        }
        self.turns.first().cloned()
    }

    pub(crate) fn trouble(&mut self, trouble: Trouble) {
        self.troubles.count(&trouble);
        if let Some(observer) = &mut self.ears.observer {
            observer.trouble(&trouble);
        }
    }

    /// Sends as many of `datagrams` as there is room for.
    pub(crate) fn send(
        &mut self,
        socket: &UdpSocket,
        datagrams: &[Datagram<'_>],
        room: Room,
    ) -> io::Result<Sent> {
        self.look_for_a_source(socket)?;
        let needed = room == Room::Needed;
        let first = self.account.next_id();
        let mut count = 0;
        let mut retried = false;
        // Each call that finds no room looks for news, whoever looked before: it may be the only one.
        let mut looked = false;
        while count < datagrams.len() {
            let now_ns = monotonic_ns();
            let stopped = needed && !self.has_room(now_ns);
            if self.sent_since_drain >= SENT_BEFORE_DRAIN || (stopped && !looked) {
                self.complete(socket)?;
                looked = true;
            }
            if self.must_learn_numbers(socket, now_ns)? {
                return Ok(Sent::stopped(first, count, Stop::BufferFull));
            }
            if !datagrams[count].has_fitting_source(self.ipv4) {
                let refused = Stop::Refused(libc::EAFNOSUPPORT);
                return Ok(Sent::stopped(first, count, refused));
            }
            let queued = self.queue(&datagrams[count..], now_ns, needed);
            if queued == 0 {
                self.account.refused();
                self.ears.event(now_ns, Event::Stopped(StopReason::Limit));
                return Ok(Sent::stopped(first, count, Stop::NoRoom));
            }
            match self.hand_over(socket, &datagrams[count..count + queued]) {
                Ok(taken) => {
                    count += taken;
                    (retried, looked) = (false, false);
                    self.tell_held();
                }
                Err(error) => match self.failed(socket, &datagrams[count], &error, retried)? {
                    After::Again => retried = true,
                    After::Stop(stop) => return Ok(Sent::stopped(first, count, stop)),
                },
            }
        }
        Ok(Sent::all(first, count))
    }

    /// Counts as many of `datagrams` as there is room for, before the kernel sees them.
    fn queue(&mut self, datagrams: &[Datagram<'_>], now_ns: u64, needed: bool) -> usize {
        let real_ns = real_ns();
        let mut queued = 0;
        let group = self.group(datagrams);
        let mut unstamped = 0;
        // Zero-copy numbers follow from what the kernel took, and of several it does not say why it
        // stopped.
        let most = if self.pool.is_some() { 1 } else { BATCH };
        for datagram in datagrams.iter().take(most) {
            // One that cannot go is the first of the next.
            if (needed && !self.has_room(now_ns)) || !datagram.has_fitting_source(self.ipv4) {
                break;
            }
            let span = match &mut self.pool {
                Some(pool) => match pool.put(self.account.next_id(), datagram.payload()) {
                    Some(span) => Some(span),
                    None => {
                        // Only a completion makes room there, and who waits must look for one.
                        self.full_until_ns = Some(now_ns + RETRY_NS);
                        break;
                    }
                },
                None => None,
            };
            let bytes = datagram.wire_bytes(self.ipv4);
            let id = self
                .account
                .queue(bytes, datagram.datagrams(), now_ns, real_ns);
            let mut asks = Asks {
                stamps: self.stamps,
                own_id: self.own_ids.then_some(id),
            };
            let closes = match datagrams.get(queued + 1) {
                Some(next) => next.destination() != datagram.destination(),
                None => true,
            };
            unstamped += 1;
            let more = !needed || self.has_room(now_ns);
            if unstamped < group && !closes && queued + 1 < most && more {
                asks.stamps = 0;
                self.account.make_last_quiet();
            } else {
                unstamped = 0;
            }
            let scratch = &mut self.scratch;
            scratch.spans[queued] = span;
            scratch.names[queued] = datagram.name();
            scratch.control_bytes[queued] =
                datagram.write_control(&asks, self.ipv4, &mut scratch.controls[queued]);
            queued += 1;
        }
        queued
    }

    /// How many datagrams share a stamp: each has its own where somebody wants to hear of it, or the
    /// kernel numbers them.
    fn group(&self, datagrams: &[Datagram<'_>]) -> u32 {
        let each = self.ears.observer.is_some() || !self.own_ids || self.stamps == 0;
        match datagrams.first() {
            Some(first) if !each => self.account.group(first.wire_bytes(self.ipv4)),
            _ => 1,
        }
    }

    /// What was held was an earlier datagram's, for this one was taken now.
    fn tell_held(&mut self) {
        if let Held::Kept(trouble) = std::mem::replace(&mut self.held, Held::Nothing) {
            self.trouble(trouble);
        }
    }

    /// Gives the kernel what was queued; what it does not take is taken back.
    fn hand_over(&mut self, socket: &UdpSocket, datagrams: &[Datagram<'_>]) -> io::Result<usize> {
        let level = match self.account.source() {
            Source::Polled => options::send_queue_bytes(socket.as_fd())?,
            _ => 0,
        };
        let flags = match self.account.source() {
            Source::ZeroCopy => libc::MSG_ZEROCOPY,
            _ => 0,
        };
        let nothing = Outgoing {
            name: &[],
            payload: &[],
            control: &[],
        };
        let mut outgoing = [nothing; BATCH];
        let scratch = &*self.scratch;
        for (at, (datagram, out)) in datagrams.iter().zip(&mut outgoing).enumerate() {
            let payload = match (&self.pool, scratch.spans[at]) {
                (Some(pool), Some(span)) => pool.bytes(span),
                _ => datagram.payload(),
            };
            *out = Outgoing {
                name: scratch.names[at].bytes(),
                payload,
                control: &scratch.controls[at].0[..scratch.control_bytes[at]],
            };
        }
        let sent = message::send(socket.as_fd(), &outgoing[..datagrams.len()], flags);
        let taken = *sent.as_ref().unwrap_or(&0);
        let left = datagrams.len() - taken;
        self.account.take_back(left);
        if let Some(pool) = &mut self.pool {
            pool.take_back(left);
        }
        if taken > 0 {
            self.account.returned(taken, real_ns());
            self.sent_since_drain += taken as u32;
            self.full_until_ns = None;
            self.look_after(socket, taken, level)?;
            self.tell_sent(&datagrams[..taken]);
        }
        sent
    }

    /// Looks whether what was sent waits, where completions do not say it.
    fn look_after(&mut self, socket: &UdpSocket, taken: usize, level: u32) -> io::Result<()> {
        match self.account.source() {
            Source::Stamps => {}
            Source::Polled => {
                let now = options::send_queue_bytes(socket.as_fd())?;
                self.account.rose(taken, now.saturating_sub(level));
            }
            Source::ZeroCopy => {
                let sent = self.account.totals().sent_objects;
                let at_first = sent < self.looks_from + LOOKS_AT_FIRST;
                let due = at_first || sent >= self.looks_in;
                if due {
                    self.looks_in = sent + LOOKS_ONE_OF;
                    let last = self.account.next_id().wrapping_sub(1);
                    self.complete(socket)?;
                    let waits = self.account.is_in_flight(last);
                    self.account.look(waits);
                }
            }
        }
        Ok(())
    }

    fn tell_sent(&mut self, datagrams: &[Datagram<'_>]) {
        let Some(probe) = self.ears.probe.as_mut().filter(|probe| probe.listens()) else {
            return;
        };
        let now_ns = monotonic_ns();
        let first = self.account.next_id().wrapping_sub(datagrams.len() as u32);
        for (at, datagram) in datagrams.iter().enumerate() {
            let frame = Frame::new(first.wrapping_add(at as u32));
            let packet = Packet::new(frame, datagram.wire_bytes(self.ipv4));
            probe.event(now_ns, Event::Sent(&packet));
        }
    }

    /// Takes all the news there is, as one round.
    pub(crate) fn complete(&mut self, socket: &UdpSocket) -> io::Result<Completed> {
        let now_ns = monotonic_ns();
        self.sent_since_drain = 0;
        // The level before the queue: what completes in between has its entry there.
        let level = match self.account.wants_level(now_ns) {
            true => Some(options::send_queue_bytes(socket.as_fd())?),
            false => None,
        };
        self.read_error_queue(socket, now_ns)?;
        let Self {
            account,
            ears,
            pool,
            ..
        } = self;
        // Nothing is released here: what is given up may still be sent from.
        let mut told = |departure: Departure| ears.departed(&departure);
        if let Some(level) = level {
            account.level(level, now_ns, &mut told);
            account.looked_in_vain(now_ns);
        }
        let completed = account.end_round(now_ns, &mut told);
        if completed.lost > 0 && pool.is_some() {
            // The old pages stay with the packets that are sent from them.
            *pool = Some(Pool::new(self.pool_bytes)?);
        }
        self.tell(&completed, now_ns);
        if completed.lost > 0 && !self.own_ids && self.account.in_flight() == 0 {
            self.count_anew(socket)?;
        }
        if completed.lost > 0 {
            self.leave_a_lost_source(socket)?;
        }
        Ok(completed)
    }

    fn read_error_queue(&mut self, socket: &UdpSocket, now_ns: u64) -> io::Result<()> {
        for _ in 0..READS_LIMIT {
            let read = message::receive_errors(socket.as_fd(), &mut self.scratch.entries);
            let count = match read {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(crate::error::failed("recvmmsg MSG_ERRQUEUE", &error)),
            };
            for at in 0..count {
                self.take_entry(at, now_ns);
            }
            if count < BATCH {
                return Ok(());
            }
        }
        Ok(())
    }

    fn take_entry(&mut self, at: usize, now_ns: u64) {
        let entry = &self.scratch.entries[at];
        let control = &entry.control.0[..entry.control_bytes];
        let name = &entry.name[..entry.name_bytes];
        let Some(mut signal) = Signal::parse(control, name) else {
            return;
        };
        if let Signal::Refused {
            errno,
            peer,
            mtu_bytes,
        } = signal
        {
            let trouble = Troubles::of_errno(errno, peer, mtu_bytes);
            match self.held {
                Held::Wanted if errno == libc::EMSGSIZE => self.held = Held::Kept(trouble),
                _ => self.trouble(trouble),
            }
            return;
        }
        if let Signal::Released { first, last, .. } = &mut signal {
            (*first, *last) = self.our_numbers(*first, *last);
        }
        let Self {
            account,
            ears,
            pool,
            ..
        } = self;
        account.signal(&signal, now_ns, &mut |departure| {
            ears.departed(&departure);
            if let Some(pool) = pool {
                pool.release(departure.id);
            }
        });
    }

    fn tell(&mut self, completed: &Completed, now_ns: u64) {
        if completed.done.packets > 0 {
            self.full_until_ns = None;
            self.ears.event(now_ns, Event::Completed(completed.done));
            self.ears.event(now_ns, Event::Limit(self.account.limit()));
        }
        if completed.starved {
            self.ears.event(now_ns, Event::Starved);
        }
        if completed.lost > 0 {
            self.trouble(Trouble::CompletionsLost {
                objects: completed.lost,
            });
        }
        if let Some(verdict) = completed.verdict {
            let true_now = !self.account.limits_nothing();
            self.ears.event(now_ns, Event::CompletionsTrue(true_now));
            self.trouble(Trouble::Verdict(verdict));
        }
        if let Some(stall) = completed.stalled {
            self.trouble(Trouble::Stalled(stall));
            self.ears.event(now_ns, Event::Stalled(stall));
        }
    }

    /// The kernel's numbers went another way than ours, and nothing is in flight: both begin at 0.
    fn count_anew(&mut self, socket: &UdpSocket) -> io::Result<()> {
        crate::socket::restart_stamp_ids(socket)?;
        self.account.restart_ids();
        Ok(())
    }

    /// An error of the socket that no entry explains: told, so that it does not stay.
    pub(crate) fn take_pending_error(&mut self, socket: &UdpSocket) {
        if let Ok(Some(error)) = socket.take_error()
            && let Some(errno) = error.raw_os_error()
        {
            self.trouble(Troubles::of_errno(errno, None, 0));
        }
    }
}
