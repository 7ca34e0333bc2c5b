//! What is below a socket: a state machine without a socket, a clock or a system call.
//!
//! Whoever drives it says what was sent ([`Account::queue`], [`Account::returned`]), what the kernel
//! told about it ([`Account::signal`], [`Account::level`]), and ends each such look with
//! [`Account::end_round`]. Numbers wrap, come merged, late, out of order or never, and no byte is
//! counted twice or for ever: what was queued is in flight, completed, or given up and counted as
//! that.

mod in_flight;
mod losses;
mod memory;
mod settings;
mod told;

use taut_dql::control::Control;
use taut_dql::ledger::Ledger;
use taut_dql::sharing::Local;
use taut_dql::{Config, Error, Stall, StallWatch};
use taut_path::limit::{CompletedCounts, CompletionBatch, InTime, Needs, Unit};
use taut_path::rate::RateMeter;
use taut_path::{AnyLimit, Limit};

use crate::signal::Signal;
use crate::verdict::{Completions, Judge};
use in_flight::{Found, InFlight};
use losses::Losses;
use memory::Memory;

pub use in_flight::Object;
pub use settings::{Settings, Source};
pub use told::{Completed, Departure, How, Totals};

/// After a completion that overtook others: how long those are waited for. A discipline with several
/// queues reorders what goes to several peers.
const OVERTAKEN_NS: u64 = 50_000_000;
/// The same for zero-copy: queues beyond this host's view reorder by what they hold of a bulky peer.
const OVERTAKEN_ZERO_COPY_NS: u64 = 500_000_000;
/// What a token bucket lets through at once while a congestion window grows is over by then.
const TELLS_NOTHING_NS: u64 = 500_000_000;
/// In flight for so long without news: time to look whether the socket is empty.
const LOOK_NS: u64 = 20_000_000;

/// A cap in time leaves so many full datagrams: 5 ms at 20 Mbit/s. Below that, a thread that is woken a
/// few ms late costs more of a slow link than the wait is worth.
const CAP_LEAST_DATAGRAMS: u32 = 8;
const DATAGRAM_BYTES: u32 = 1_514;

/// What may share a stamp: so much time of the path, and at most so many datagrams.
const GROUP_NS: u64 = 100_000;
const MOST_IN_GROUP: u32 = 16;

/// A path that stands still.
#[derive(Debug, Clone, Copy)]
struct Standing {
    /// When to let one object through, to see whether it goes on.
    try_at_ns: u64,
    /// When to say again that it stands.
    tell_at_ns: u64,
}

/// The state machine.
#[derive(Debug)]
pub struct Account {
    source: Source,
    ledger: Ledger<Local>,
    control: Control<Rated>,
    unit: Unit,
    objects: InFlight,
    memory: Memory,
    judge: Judge,
    stall_threshold_ns: u64,
    poll_ns: u64,
    refused_since_round: bool,
    bytes_in_flight: u32,
    memory_in_flight: u64,
    overtaken: Option<Overtaken>,
    refused: Refused,
    losses: Losses,
    /// When something completed last, or was looked for, or was sent into an empty path.
    news_ns: u64,
    /// Since when the verdict is what it is.
    verdict_ns: u64,
    stalled: Option<Standing>,
    round: OpenRound,
    totals: Totals,
}

/// What was sent before `by` and is still in flight was overtaken by then.
#[derive(Debug, Clone, Copy)]
struct Overtaken {
    by: u32,
    since_ns: u64,
}

/// The number of a datagram that the kernel did not take, and may have counted all the same.
#[derive(Debug, Default)]
struct Refused {
    id: Option<u32>,
    told: bool,
}

#[derive(Debug, Default)]
struct OpenRound {
    units: u32,
    done: CompletedCounts,
    lost: u32,
    verdict_changed: bool,
}

impl Account {
    /// Nothing sent yet.
    pub fn new(settings: &Settings, now_ns: u64) -> Self {
        let limit = under_cap(settings.limit.clone(), settings.cap_ns);
        let unit = limit.unit();
        let control = Control::new(Rated(limit), now_ns);
        Self {
            source: settings.source,
            ledger: Ledger::new(control.limit()),
            control,
            unit,
            objects: InFlight::starting_at(settings.first_id),
            memory: Memory::new(),
            judge: Judge::new(settings.source.if_true(), Completions::Unknown),
            stall_threshold_ns: settings.stall_threshold_ns,
            poll_ns: settings.poll_ns,
            refused_since_round: false,
            bytes_in_flight: 0,
            memory_in_flight: 0,
            overtaken: None,
            refused: Refused::default(),
            losses: Losses::default(),
            news_ns: now_ns,
            verdict_ns: now_ns,
            stalled: None,
            round: OpenRound::default(),
            totals: Totals::default(),
        }
    }

    /// Units left below the limit; one more object may go while it is at least 0. Units are those of
    /// the limit: bytes, or packets.
    pub fn room(&self) -> i64 {
        self.ledger.room().into()
    }

    /// Whether one more object may be sent at `now_ns`.
    pub fn has_room(&self, now_ns: u64) -> bool {
        self.limits_nothing()
            || self.room() >= 0
            || self.stalled.is_some_and(|it| now_ns >= it.try_at_ns)
    }

    /// The limit in force, in its units, under the cap.
    pub fn limit(&self) -> u32 {
        self.control.limit()
    }

    /// The rule.
    pub fn rule(&self) -> &AnyLimit {
        &self.control.rule().0
    }

    /// Units in flight.
    pub fn in_flight(&self) -> u32 {
        self.ledger.in_flight()
    }

    /// Bytes in flight, on the wire.
    pub fn bytes_in_flight(&self) -> u32 {
        self.bytes_in_flight
    }

    /// More memory than the kernel takes for what is in flight: a buffer is up to twice its datagram, and
    /// has a header of its own.
    pub fn most_memory_bytes(&self) -> u64 {
        const HEADER_BYTES: u64 = 1_024;
        2 * u64::from(self.bytes_in_flight) + HEADER_BYTES * self.objects.len() as u64
    }

    /// What completions are worth.
    pub fn verdict(&self) -> Completions {
        self.judge.verdict()
    }

    /// Whether completions mean nothing, so that the limit is not applied.
    pub fn limits_nothing(&self) -> bool {
        self.verdict() == Completions::None
    }

    /// Whether completions have meant nothing for so long that nothing here will be told by this source.
    pub fn tells_nothing(&self, now_ns: u64) -> bool {
        self.limits_nothing() && now_ns.saturating_sub(self.verdict_ns) >= TELLS_NOTHING_NS
    }

    /// Where completions come from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Units in a second that the path moved while it was busy; 0 while that is not known.
    pub fn rate(&self) -> u64 {
        self.control.rate().map_or(0, RateMeter::units_per_s)
    }

    /// Units in a second that the path moves at least; 0 before anything is known.
    pub fn rate_at_least(&self) -> u64 {
        self.control.rate().map_or(0, RateMeter::min_units_per_s)
    }

    /// Totals since the start.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The number that the next object gets.
    pub fn next_id(&self) -> u32 {
        self.objects.next()
    }

    /// There is something to send and no room, also after a look at the kernel's news.
    pub fn refused(&mut self) {
        self.still_refused();
        self.totals.refusals += 1;
    }

    /// There still is, for somebody who was counted when he began to wait.
    pub fn still_refused(&mut self) {
        self.judge.held_back();
        self.ledger.note_blocked();
        self.refused_since_round = true;
    }

    /// Counts an object, before the kernel can see it. Returns its number.
    pub fn queue(&mut self, bytes: u32, datagrams: u32, now_ns: u64, now_real_ns: u64) -> u32 {
        let units = self.units(bytes, datagrams);
        if self.in_flight() == 0 {
            self.news_ns = now_ns;
        }
        if let Some(standing) = &mut self.stalled {
            standing.try_at_ns = now_ns.saturating_add(self.stall_threshold_ns);
        }
        self.ledger.answer(now_ns);
        let counted = self.ledger.queued(units);
        debug_assert!(counted.is_ok(), "{counted:?}");
        let memory_bytes = match self.source {
            Source::Polled => self.memory.of(bytes),
            _ => 0,
        };
        self.bytes_in_flight += bytes;
        self.memory_in_flight += u64::from(memory_bytes);
        self.totals.sent_objects += 1;
        self.totals.sent_datagrams += u64::from(datagrams);
        self.totals.sent_bytes += u64::from(bytes);
        self.judge.sent(1, now_ns);
        self.objects.push(Object {
            bytes,
            datagrams,
            quiet: false,
            memory_bytes,
            sent_ns: now_ns,
            sent_real_ns: now_real_ns,
            returned_real_ns: 0,
            entered_real_ns: 0,
        })
    }

    /// How many datagrams of `bytes` may share one stamp, 1 to 16: what the path moves in 0.1 ms, or
    /// where nothing waits, as many as go in one call.
    pub fn group(&self, bytes: u32) -> u32 {
        let most = match self.verdict() {
            Completions::None => return MOST_IN_GROUP,
            Completions::Unknown => return 1,
            _ => {
                let rate = self.control.rate();
                rate.and_then(|rate| rate.units_in(GROUP_NS)).unwrap_or(0)
            }
        };
        let datagrams = match self.unit {
            Unit::Bytes => most / bytes.max(1),
            Unit::Packets => most,
        };
        datagrams.clamp(1, MOST_IN_GROUP)
    }

    /// Nothing is told of the object that was queued last: it completes with the next that is told of.
    /// Only for what goes the same way as that one.
    pub fn make_last_quiet(&mut self) {
        for (_, object) in self.objects.last_mut(1) {
            object.quiet = true;
        }
    }

    /// Takes back the last `count` objects: the kernel did not take them.
    pub fn take_back(&mut self, count: usize) {
        for _ in 0..count {
            let Some(object) = self.objects.pop_last() else {
                return;
            };
            let units = self.units(object.bytes, object.datagrams);
            self.ledger.unqueue(units);
            self.bytes_in_flight -= object.bytes;
            self.memory_in_flight -= u64::from(object.memory_bytes);
            self.totals.sent_objects -= 1;
            self.totals.sent_datagrams -= u64::from(object.datagrams);
            self.totals.sent_bytes -= u64::from(object.bytes);
        }
    }

    /// The kernel gave the next number to a datagram that it dropped at once.
    pub fn skip_id(&mut self) {
        self.objects.skip();
    }

    /// A zero-copy datagram was refused. If the kernel gave it the next number, its notification is
    /// there already: take it, and then ask [`refused_was_told`](Self::refused_was_told).
    pub fn expect_refused(&mut self) {
        self.refused = Refused {
            id: Some(self.next_id()),
            told: false,
        };
    }

    /// Whether the kernel gave a number to what was refused; it is left out then.
    pub fn refused_was_told(&mut self) -> bool {
        let told = std::mem::take(&mut self.refused).told;
        if told {
            self.skip_id();
        }
        told
    }

    /// The newest number that the kernel can have given.
    pub fn newest_id(&self) -> u32 {
        let before = self.next_id().wrapping_sub(1);
        before.wrapping_add(u32::from(self.refused.id.is_some()))
    }

    /// A completion had a number that was never given.
    pub fn count_unknown(&mut self) {
        self.totals.unknown_completions += 1;
    }

    /// Of the last completions, most never came and were made up for.
    pub fn most_are_lost(&self) -> bool {
        self.losses.are_most()
    }

    /// Nothing is in flight, and the kernel counts from 0 again.
    pub fn restart_ids(&mut self) {
        if self.objects.is_empty() {
            self.objects = InFlight::starting_at(0);
        }
    }

    /// Goes on with another source, whose next object gets the number `next_id`; totals stay. What was
    /// learnt is forgotten, but for a verdict that `stays`. Changes nothing while something is in
    /// flight.
    pub fn change_source(&mut self, source: Source, next_id: u32, stays: bool, now_ns: u64) {
        if !self.objects.is_empty() {
            return;
        }
        let verdict = match stays {
            true => self.judge.verdict(),
            false => Completions::Unknown,
        };
        self.source = source;
        self.objects = InFlight::starting_at(next_id);
        self.judge = Judge::new(source.if_true(), verdict);
        self.memory = Memory::new();
        self.losses = Losses::default();
        self.control.forget_rate();
        self.forget_rule(now_ns);
    }

    /// Whether the object with this number is in flight.
    pub fn is_in_flight(&self, id: u32) -> bool {
        self.objects.is_in_flight(id)
    }

    /// The call that gave the kernel the last `count` objects returned, at this time of the wall
    /// clock.
    pub fn returned(&mut self, count: usize, now_real_ns: u64) {
        for (_, object) in self.objects.last_mut(count) {
            object.returned_real_ns = now_real_ns;
        }
    }

    /// For [`Source::Polled`]: how much the level rose when the last `count` objects were sent.
    pub fn rose(&mut self, count: usize, rise_bytes: u32) {
        let last = self
            .objects
            .iter()
            .rev()
            .take(count)
            .map(|(_, it)| it.bytes);
        let sizes = last.fold(None, |all: Option<(u32, u32)>, bytes| {
            let (least, most) = all.unwrap_or((bytes, bytes));
            Some((least.min(bytes), most.max(bytes)))
        });
        if let Some((least, most)) = sizes
            && least == most
        {
            self.memory.learn(most, rise_bytes / count as u32);
        }
        self.look(rise_bytes > 0);
    }

    /// Somebody looked right after a send whether it was still in flight. Stamps say it themselves.
    pub fn look(&mut self, waited: bool) {
        let loaded = self.judge.is_loaded();
        self.round.verdict_changed |= self.judge.looked(waited, loaded);
    }

    /// Takes one entry of the error queue. What is no completion changes nothing.
    pub fn signal(&mut self, signal: &Signal, now_ns: u64, told: &mut dyn FnMut(Departure)) {
        match (*signal, self.source) {
            (Signal::Left { id, at_real_ns }, Source::Stamps) => {
                self.left(id, at_real_ns, now_ns, told);
            }
            (Signal::Entered { id, at_real_ns }, _) => {
                if let Some(object) = self.objects.get_mut(id) {
                    object.entered_real_ns = at_real_ns;
                }
            }
            (
                Signal::Released {
                    first,
                    last,
                    copied,
                },
                Source::ZeroCopy,
            ) => {
                self.totals.copied += u64::from(copied);
                self.released(first, last, now_ns, told);
            }
            _ => {}
        }
    }

    fn left(&mut self, id: u32, at_real_ns: u64, now_ns: u64, told: &mut dyn FnMut(Departure)) {
        let mut quiet = id;
        while let Some((before, object)) = self.objects.complete_quiet_before(quiet) {
            self.depart(before, &object, at_real_ns, now_ns, told);
            quiet = before;
        }
        let Some(object) = self.find(id) else { return };
        let waited = at_real_ns > object.returned_real_ns && object.returned_real_ns != 0;
        self.look(waited);
        self.depart(id, &object, at_real_ns, now_ns, told);
    }

    /// It left at a time of the wall clock.
    fn depart(
        &mut self,
        id: u32,
        object: &Object,
        at_real_ns: u64,
        now_ns: u64,
        told: &mut dyn FnMut(Departure),
    ) {
        let sojourn_ns = at_real_ns.saturating_sub(object.sent_real_ns);
        // The wall clock may have been set: a time beyond now is none.
        let sojourn_ns = sojourn_ns.min(now_ns.saturating_sub(object.sent_ns));
        let discipline_ns = (object.entered_real_ns != 0)
            .then(|| at_real_ns.saturating_sub(object.entered_real_ns));
        self.done(object);
        told(Departure {
            id,
            bytes: object.bytes,
            datagrams: object.datagrams,
            sojourn_ns,
            discipline_ns,
            how: How::Stamp,
        });
    }

    fn released(
        &mut self,
        first: u32,
        mut last: u32,
        now_ns: u64,
        told: &mut dyn FnMut(Departure),
    ) {
        if self.refused.id == Some(last) {
            self.refused = Refused {
                id: None,
                told: true,
            };
            if first == last {
                return;
            }
            last = last.wrapping_sub(1);
        }
        let more = last.wrapping_sub(first);
        let ids: Vec<u32> = if more as usize <= self.objects.len() {
            (0..=more).map(|at| first.wrapping_add(at)).collect()
        } else {
            // Reaches beyond what was ever given: what is ours of it.
            self.totals.unknown_completions += 1;
            let ours = self.objects.iter().map(|(id, _)| id);
            ours.filter(|id| id.wrapping_sub(first) <= more).collect()
        };
        for id in ids {
            if let Some(object) = self.find(id) {
                self.tell(id, &object, now_ns, How::Released, told);
            }
        }
    }

    /// The socket's level is `level_bytes`. For [`Source::Polled`] that completes what does not fit
    /// below it. For stamps, a level of 0 makes up for those that were lost: take the level first
    /// and the error queue after it, and then call this. For zero-copy it proves little, for what is
    /// beyond a container's own link is in no level: only after a long silence.
    pub fn level(&mut self, level_bytes: u32, now_ns: u64, told: &mut dyn FnMut(Departure)) {
        let silent = self.round.done.packets == 0 && self.wants_level(now_ns);
        let how = match self.source {
            Source::Polled => How::Level,
            Source::Stamps if level_bytes == 0 => How::Lost,
            Source::ZeroCopy if level_bytes == 0 && silent => How::Lost,
            _ => return,
        };
        while let Some(object) = self.objects.first() {
            let others = self.memory_in_flight - u64::from(object.memory_bytes);
            if level_bytes > 0 && others < u64::from(level_bytes) {
                return;
            }
            self.give_up_first(now_ns, how, told);
        }
    }

    fn give_up_first(&mut self, now_ns: u64, how: How, told: &mut dyn FnMut(Departure)) {
        if let Some((id, object)) = self.objects.pop_first() {
            if how == How::Lost {
                self.round.lost += 1;
                self.totals.lost_completions += 1;
            }
            self.tell(id, &object, now_ns, how, told);
        }
    }

    fn tell(
        &mut self,
        id: u32,
        object: &Object,
        now_ns: u64,
        how: How,
        told: &mut dyn FnMut(Departure),
    ) {
        if how == How::Lost {
            self.lose(object);
        } else {
            self.done(object);
        }
        told(Departure {
            id,
            bytes: object.bytes,
            datagrams: object.datagrams,
            sojourn_ns: now_ns.saturating_sub(object.sent_ns),
            discipline_ns: None,
            how,
        });
    }

    /// The object with this number, which is in flight no more.
    fn find(&mut self, id: u32) -> Option<Object> {
        match self.objects.complete(id) {
            Found::Completed(object) => Some(object),
            Found::Late => {
                self.totals.late_completions += 1;
                None
            }
            Found::Unknown => {
                self.totals.unknown_completions += 1;
                None
            }
        }
    }

    fn done(&mut self, object: &Object) {
        self.losses.told();
        self.round.units += self.gone(object);
    }

    /// Nobody knows when it left, so the rule does not learn from it: as if it had not been queued.
    fn lose(&mut self, object: &Object) {
        self.losses.lost();
        let units = self.gone(object);
        self.ledger.unqueue(units);
    }

    /// It is not in flight any more. Returns its units.
    fn gone(&mut self, object: &Object) -> u32 {
        self.bytes_in_flight -= object.bytes;
        self.memory_in_flight -= u64::from(object.memory_bytes);
        self.totals.completed_bytes += u64::from(object.bytes);
        self.round.done.packets += 1;
        self.round.done.bytes += object.bytes;
        self.units(object.bytes, object.datagrams)
    }

    fn units(&self, bytes: u32, datagrams: u32) -> u32 {
        match self.unit {
            Unit::Bytes => bytes.max(1),
            Unit::Packets => datagrams,
        }
    }

    /// Ends a look: what completed is told to the rule as one interval. Call it also when nothing
    /// did, at [`next_wakeup`](Self::next_wakeup): it gives up what was lost and finds stalls.
    pub fn end_round(&mut self, now_ns: u64, told: &mut dyn FnMut(Departure)) -> Completed {
        self.give_up_overtaken(now_ns, told);
        let round = std::mem::take(&mut self.round);
        if round.done.packets > 0 {
            self.news_ns = now_ns;
        }
        self.count(round.units, now_ns);
        let starved = self.in_flight() == 0 && round.units > 0 && self.refused_since_round;
        if round.units > 0 {
            self.refused_since_round = false;
        }
        if round.verdict_changed {
            self.totals.verdicts += 1;
            self.verdict_ns = now_ns;
            // What the rule learnt under another verdict says nothing; the rate is of times when the
            // path was busy, under any.
            self.forget_rule(now_ns);
        }
        Completed {
            done: round.done,
            lost: round.lost,
            verdict: round.verdict_changed.then(|| self.verdict()),
            stalled: self.check_stall(now_ns),
            starved,
        }
    }

    /// Counts what completed. While completions are meaningless, the rule does not learn from them.
    fn count(&mut self, units: u32, now_ns: u64) {
        if units == 0 {
            return;
        }
        let batch = self.ledger.batch(units, false, now_ns);
        debug_assert!(batch.is_ok(), "{batch:?}");
        let Ok(batch) = batch else { return };
        if self.limits_nothing() {
            self.control.completed_unruled(&self.ledger, &batch);
        } else {
            self.control.completed(&self.ledger, batch, false, |_| ());
        }
    }

    /// What the rule learned is meaningless; what is in flight stays.
    fn forget_rule(&mut self, now_ns: u64) {
        self.control.reset(&self.ledger, self.in_flight(), now_ns);
    }

    /// Stamps are lost when the error queue has no room, and notifications when somebody else reads
    /// them, so what was overtaken long ago is given up; what was overtaken since then has its own time.
    fn give_up_overtaken(&mut self, now_ns: u64, told: &mut dyn FnMut(Departure)) {
        if self.objects.overtaker().is_none() {
            self.overtaken = None;
            return;
        }
        if let Some(Overtaken { by, since_ns }) = self.overtaken {
            if now_ns.saturating_sub(since_ns) < self.overtaken_wait_ns() {
                return;
            }
            while self.objects.first_is_before(by) {
                self.give_up_first(now_ns, How::Lost, told);
            }
        }
        self.overtaken = self.objects.overtaker().map(|by| Overtaken {
            by,
            since_ns: now_ns,
        });
    }

    fn overtaken_wait_ns(&self) -> u64 {
        match self.source {
            Source::ZeroCopy => OVERTAKEN_ZERO_COPY_NS,
            _ => OVERTAKEN_NS,
        }
    }

    /// No notification for so long, although one object was let through meanwhile: twice what is a
    /// stall.
    fn silence_ns(&self) -> u64 {
        let stall_ns = match self.stall_threshold_ns {
            0 => StallWatch::DEFAULT_THRESHOLD_NS,
            threshold_ns => threshold_ns,
        };
        stall_ns.saturating_mul(2)
    }

    fn check_stall(&mut self, now_ns: u64) -> Option<Stall> {
        let since_ns = self.objects.first().map_or(now_ns, |oldest| oldest.sent_ns);
        let age_ns = now_ns.saturating_sub(since_ns);
        if self.stall_threshold_ns == 0 || age_ns <= self.stall_threshold_ns {
            self.stalled = None;
            return None;
        }
        let tell_at_ns = now_ns.saturating_add(self.stall_threshold_ns);
        match &mut self.stalled {
            Some(standing) => standing.tell_at_ns = tell_at_ns,
            None => {
                self.totals.stalls += 1;
                self.stalled = Some(Standing {
                    try_at_ns: now_ns,
                    tell_at_ns,
                });
            }
        }
        Some(Stall { age_ns, since_ns })
    }

    /// Whether the level of the socket is worth a look now: the source is the level, or nothing was
    /// heard for a while.
    pub fn wants_level(&self, now_ns: u64) -> bool {
        !self.objects.is_empty()
            && match self.source {
                Source::Polled => true,
                Source::Stamps => now_ns >= self.news_ns.saturating_add(LOOK_NS),
                Source::ZeroCopy => now_ns >= self.news_ns.saturating_add(self.silence_ns()),
            }
    }

    /// When to look again even if the kernel says nothing, in ns; `None` while nothing is in flight.
    pub fn next_wakeup(&self) -> Option<u64> {
        let oldest_ns = self.objects.first()?.sent_ns;
        let look_ns = match self.source {
            Source::Polled => Some(self.news_ns.saturating_add(self.poll_ns)),
            Source::Stamps => Some(self.news_ns.saturating_add(LOOK_NS)),
            Source::ZeroCopy => Some(self.news_ns.saturating_add(self.silence_ns())),
        };
        let overtaken_ns = self
            .overtaken
            .map(|overtaken| overtaken.since_ns.saturating_add(self.overtaken_wait_ns()));
        let stall_ns = match self.stalled {
            _ if self.stall_threshold_ns == 0 => None,
            Some(standing) => Some(standing.tell_at_ns),
            None => Some(oldest_ns.saturating_add(self.stall_threshold_ns + 1)),
        };
        [look_ns, overtaken_ns, stall_ns]
            .into_iter()
            .flatten()
            .min()
    }

    /// Somebody looked and there was no news: the next look is one period later.
    pub fn looked_in_vain(&mut self, now_ns: u64) {
        self.news_ns = now_ns;
    }
}

fn under_cap(limit: AnyLimit, cap_ns: u64) -> AnyLimit {
    if cap_ns == 0 {
        return limit;
    }
    let least = match limit.unit() {
        Unit::Bytes => CAP_LEAST_DATAGRAMS * DATAGRAM_BYTES,
        Unit::Packets => CAP_LEAST_DATAGRAMS,
    };
    AnyLimit::new(InTime::new(limit, cap_ns).but_at_least(least))
}

/// The rule of a socket. The rate is also needed to group datagrams, so it is always measured.
#[derive(Debug)]
struct Rated(AnyLimit);

impl Limit for Rated {
    fn unit(&self) -> Unit {
        self.0.unit()
    }

    fn begin(&mut self, now_ns: u64) {
        self.0.begin(now_ns);
    }

    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        self.0.completed(batch)
    }

    fn needs(&self) -> Needs {
        Needs {
            rate: true,
            ..self.0.needs()
        }
    }

    fn reset(&mut self, now_ns: u64) {
        self.0.reset(now_ns);
    }

    fn config(&self) -> Config {
        self.0.config()
    }

    fn set_config(&mut self, config: Config) -> Result<(), Error> {
        self.0.set_config(config)
    }
}
