//! What one interval between two completions says about the limit that it needed.

use super::chain::Chain;
use super::rate::Rate;

/// The longest absence of a refused sender that counts: a sender that is away for longer than
/// that is not held back by this queue.
pub const LONGEST_LATENCY_NS: u64 = 10_000_000;

/// The longest pause of the device that a limit should bridge. A device that is silent for longer
/// is stalled, and what it would have done meanwhile is no measure of what it needs.
const LONGEST_PAUSE_NS: u64 = 100_000_000;

/// An absence of no more than such a part of an interval costs next to nothing, whatever the device does in it.
const BRIEF_SHIFT: u32 = 5;

/// How much a sample counts that was taken when the device ran dry in an interval that its rate
/// cannot explain: the true need lies higher by an unknown amount, and must be found soon.
const BLIND_WEIGHT: u32 = 4;

/// One interval, from the end of one chain of completion rounds to the end of the next.
#[derive(Debug, Clone, Copy)]
pub struct Interval<'a> {
    /// When it ended.
    pub now_ns: u64,
    /// The rounds that ended it.
    pub chain: &'a Chain,
    /// The largest object of late.
    pub object_bytes: u32,
    /// A sender was refused in it.
    pub refused: bool,
}

/// A need, and how much its excess over a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The limit that would have been enough.
    pub need_bytes: u64,
    /// 1, or more for a need that is a guess from below.
    pub weight: u32,
}

impl Sample {
    /// The device ran dry and nobody knows how early, so the true need may be far above.
    pub fn is_blind(&self) -> bool {
        self.weight > 1
    }
}

/// What an interval was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    /// Nobody was held back, so any limit would have done.
    Unrefused,
    /// Its need is known once it is known when the sender came back.
    Pending,
    /// The device ran dry: the limit is too low as it is, whatever the sender does next.
    Dry(Sample),
}

/// How the last interval ended.
#[derive(Debug, Clone, Copy)]
struct End {
    at_ns: u64,
    /// A sender was refused.
    refused: bool,
    /// Nothing was left in flight.
    idle: bool,
    /// The limit had room, so a refused sender could come back.
    had_room: bool,
    /// When there was room first, since then or in a later round, and what was in flight.
    room_ns: Option<u64>,
    left_bytes: u32,
}

/// A need that is not wholly known.
#[derive(Debug, Clone, Copy)]
struct Pending {
    /// What was needed until its end; what the absence of the sender takes is to be added.
    bytes: u64,
    /// What was needed before that.
    least_bytes: u64,
}

/// Turns intervals into needs.
#[derive(Debug, Clone, Copy)]
pub struct Intervals {
    rate: Rate,
    last: End,
    /// The need of the last interval, but for the latency of the sender after it.
    pending: Option<Pending>,
    /// Finished while a refused sender had room and was away.
    carried_bytes: u64,
}

impl Intervals {
    /// Begins at `now_ns` with nothing in flight.
    pub fn new(now_ns: u64) -> Self {
        Self {
            rate: Rate::default(),
            last: End {
                at_ns: now_ns,
                refused: false,
                idle: true,
                had_room: true,
                room_ns: Some(now_ns),
                left_bytes: 0,
            },
            pending: None,
            carried_bytes: 0,
        }
    }

    /// The measured rate of the device.
    pub fn rate(&self) -> &Rate {
        &self.rate
    }

    /// Whether it should be tried out how fast the device is. Says so once.
    #[inline]
    pub fn rate_is_to_be_tried(&mut self) -> bool {
        let is_stale = self.rate.is_stale();
        if is_stale {
            self.rate.try_out();
        }
        is_stale
    }

    /// Whether a sender that was refused before this interval still has no room: nobody told it
    /// to try again, so nobody hears a second refusal.
    pub fn still_refused(&self) -> bool {
        self.last.refused && !self.last.had_room
    }

    /// Whether a refused sender had room and is still away. Then this is the end of no interval:
    /// how much was needed is known when it comes back.
    pub fn sender_is_away(&mut self, interval: &Interval) -> bool {
        let away =
            interval.chain.came_back_ns().is_none() && self.last.refused && self.last.had_room;
        if away {
            self.last.at_ns = interval.now_ns;
            self.last.room_ns = Some(interval.now_ns);
            self.carried_bytes = self
                .carried_bytes
                .saturating_add(interval.chain.finished_bytes());
        }
        away
    }

    /// A round that is not the last of its chain left so much in flight under `limit_bytes`. If it
    /// made the room that the last chain did not make, the sender can come back from now on.
    pub fn round(&mut self, now_ns: u64, left_bytes: u32, limit_bytes: u32) {
        if self.last.room_ns.is_none() && left_bytes <= limit_bytes {
            self.last.room_ns = Some(now_ns);
            self.last.left_bytes = left_bytes;
        }
    }

    /// How long the sender took to come back once it had room; 0 if it was not held back.
    pub fn latency_ns(&self, interval: &Interval) -> u64 {
        match (interval.chain.came_back_ns(), self.last.room_ns) {
            (Some(back_ns), Some(room_ns)) if self.last.refused => {
                back_ns.saturating_sub(room_ns).min(LONGEST_LATENCY_NS)
            }
            _ => 0,
        }
    }

    /// The sample that waited for the latency of the refill after it.
    pub fn settle(&mut self, interval: &Interval, latency_ns: u64) -> Option<Sample> {
        let carried_bytes = core::mem::take(&mut self.carried_bytes);
        let pending = self.pending.take()?;
        let mut absence_bytes = self.rate.bytes_and_margin(latency_ns);
        let span_ns = self.span_ns(interval);
        let matters = latency_ns > span_ns >> BRIEF_SHIFT && latency_ns < span_ns / 2;
        if matters && carried_bytes == 0 && self.rate.is_known() {
            // An object that is all but sent counts as if none of it were: half of one as a rule.
            let half_object = u64::from(interval.object_bytes / 2);
            absence_bytes = absence_bytes.max(self.rate.bytes(latency_ns) + half_object);
        }
        // Else no more than that: no latency is longer.
        if carried_bytes > 0 {
            absence_bytes = absence_bytes.saturating_add(carried_bytes);
            if self.rate.is_known() {
                // However often something finished meanwhile: or each long absence could make the next
                // one longer, since more is then in flight to finish.
                let longest_bytes = self.rate.bytes_and_margin(LONGEST_LATENCY_NS);
                absence_bytes = absence_bytes.min(longest_bytes);
            }
        }
        Some(Sample {
            need_bytes: (pending.bytes.saturating_add(absence_bytes)).max(pending.least_bytes),
            weight: 1,
        })
    }

    /// Measures an interval. Returns also whether the rate has a new value.
    // Called once a round in each rule: to put an interval together for a call costs a third of the work.
    #[inline(always)]
    pub fn measure(&mut self, interval: &Interval, latency_ns: u64) -> (Measured, bool) {
        if !interval.refused {
            return (Measured::Unrefused, false);
        }
        let chain = interval.chain;
        let span_ns = self.busy_ns(interval);
        let early = chain.hardest(interval.now_ns, interval.object_bytes, &self.rate);
        if let Some(early) = early
            && early.bytes >= early.had_bytes
        {
            let span_ns = span_ns.saturating_sub(early.before_end_ns);
            let sample = self.ran_dry(early.bytes, early.made_up_bytes, span_ns);
            return (Measured::Dry(sample), false);
        }
        let finished_bytes = chain.finished_bytes();
        let made_up_bytes = chain.made_up_bytes();
        let last_bytes = finished_bytes - made_up_bytes;
        if chain.emptied() {
            let sample = self.ran_dry(last_bytes, made_up_bytes, span_ns);
            return (Measured::Dry(sample), false);
        }
        let mut pending = Pending {
            bytes: last_bytes,
            least_bytes: early.map_or(0, |it| it.bytes),
        };
        let mut rate_is_new = false;
        let sure = !self.may_have_paused(interval, latency_ns);
        let was_slow = self.was_slow(latency_ns);
        if self.last.refused && (!sure || was_slow) {
            if !sure {
                self.rate.age();
            }
            let possible_bytes = self.possible_bytes(finished_bytes, span_ns);
            pending.bytes = last_bytes.max(possible_bytes.saturating_sub(made_up_bytes));
        }
        if self.last.refused && finished_bytes > 0 && !was_slow {
            rate_is_new = self.rate.busy(finished_bytes, span_ns, sure);
        }
        self.pending = Some(pending);
        (Measured::Pending, rate_is_new)
    }

    /// How long the device had something to do in this interval; at least 1 ns, also when the
    /// clock stepped back.
    fn busy_ns(&self, interval: &Interval) -> u64 {
        let last_ns = self.last.at_ns;
        let start_ns = match interval.chain.came_back_ns() {
            // It began with nothing in flight, so it began with the first packet.
            Some(back_ns) if self.last.idle && !self.last.refused => back_ns,
            // More of an absence does not count, here as little as in a latency.
            Some(back_ns) => last_ns.max(back_ns.saturating_sub(LONGEST_LATENCY_NS)),
            None => last_ns,
        };
        interval.now_ns.saturating_sub(start_ns).max(1)
    }

    fn span_ns(&self, interval: &Interval) -> u64 {
        interval.now_ns.saturating_sub(self.last.at_ns)
    }

    /// Whether the device may have had nothing to do before the sender came back: all that was left then is
    /// finished by now, and nobody knows since when. A sender that is away for nearly all of an interval is away
    /// because of what the device does, as on the core of a program.
    fn may_have_paused(&self, interval: &Interval, latency_ns: u64) -> bool {
        let span_ns = self.span_ns(interval);
        latency_ns > span_ns >> BRIEF_SHIFT
            && latency_ns < span_ns - (span_ns >> 3)
            && interval.chain.finished_bytes() >= u64::from(self.last.left_bytes)
    }

    /// Whether the device had finished what was left before the sender came back.
    fn was_slow(&self, latency_ns: u64) -> bool {
        self.last.refused
            && latency_ns > 0
            && self.rate.bytes_and_margin(latency_ns) >= u64::from(self.last.left_bytes)
    }

    /// What the device could have done while it finished `finished_bytes`.
    fn possible_bytes(&self, finished_bytes: u64, span_ns: u64) -> u64 {
        let possible_bytes = self.rate.bytes(span_ns.min(LONGEST_PAUSE_NS));
        if self.last.refused {
            possible_bytes
        } else {
            // Nobody was held back at its start, so the sender may have been idle in it, too.
            possible_bytes.min(2 * finished_bytes)
        }
    }

    /// The device paused, so what it finished is less than what it could have done. What was made up for
    /// before is no part of either.
    // Kept out of `measure`, which is inlined: a device seldom runs dry.
    #[cold]
    fn ran_dry(&self, finished_bytes: u64, made_up_bytes: u64, span_ns: u64) -> Sample {
        let all_bytes = finished_bytes.saturating_add(made_up_bytes);
        let possible_bytes = self.possible_bytes(all_bytes, span_ns);
        let possible_bytes = possible_bytes.saturating_sub(made_up_bytes);
        let (need_bytes, weight) = if possible_bytes > finished_bytes {
            (possible_bytes, 1)
        } else if possible_bytes + (possible_bytes >> 2) >= finished_bytes {
            // The rate explains it: dry at the very end of the interval.
            (finished_bytes + (finished_bytes >> 4) + 1, 1)
        } else {
            // The rate is far below what was just seen, or not known: grow as fast as is safe.
            (finished_bytes + (finished_bytes >> 1) + 1, BLIND_WEIGHT)
        };
        Sample { need_bytes, weight }
    }

    /// Ends the interval under the limit that holds from now on. Returns whether the time of the
    /// next packet matters.
    pub fn end(&mut self, interval: &Interval, limit_bytes: u32) -> bool {
        let had_room = interval.chain.left_bytes() <= limit_bytes;
        self.last = End {
            at_ns: interval.now_ns,
            refused: interval.refused,
            idle: interval.chain.left_bytes() == 0,
            had_room,
            room_ns: had_room.then_some(interval.now_ns),
            left_bytes: interval.chain.left_bytes(),
        };
        interval.refused || interval.chain.left_bytes() == 0
    }
}
