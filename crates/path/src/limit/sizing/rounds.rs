//! What a round costs beyond its bytes, where the device is a program.
//!
//! A program that works off what it is given, and then lets the sender go on, takes F + B c for a round of
//! B bytes. While it works nothing is lost, however long the sender is away; only F is, in which nobody
//! works. So a need that counts the sender's absence chases its own tail. Rounds of two sizes tell F and c
//! apart, and B = F (1 - p) / (p c) loses no more than the share p.
//!
//! Only rounds say so that finished all they were given: their size was chosen here. A device that
//! interrupts takes as long for little as for much, so its F is nearly all of a round and the bound is far
//! above any need.

/// Octaves of sizes that are kept at a time: trials are at most three below the largest round, and sizes so
/// many octaves apart share a place. The one seen last has it.
const OCTAVES: usize = 16;

/// Rounds of a size until it is believed.
const ENOUGH: u32 = 8;

/// The mean of a size is that of so many rounds, so that it follows a program that changes.
const MOST: u32 = 256;

/// Rounds from one trial of another size to the next. One that loses all it has costs a 64th of a round.
const BETWEEN_TRIALS: u32 = 64;

/// The same until both sizes were seen often enough, which takes twice [`ENOUGH`] trials.
const BETWEEN_FIRST_TRIALS: u32 = 8;

/// What was seen so many rounds ago says nothing any more: 32 trials of each size.
const FRESH: u32 = 64 * BETWEEN_TRIALS;

/// F is no more than such a part of a round, or there is nothing to be gained.
const SMALL_SHIFT: u32 = 4;

/// Fraction bits of means.
const FRACTION_BITS: u32 = 20;

/// Rounds of one octave of sizes.
#[derive(Debug, Clone, Copy, Default)]
struct Octave {
    /// Mean size and time, with fraction bits.
    bytes: i64,
    span_ns: i64,
    /// Mean distance from the mean, in ns with fraction bits.
    spread_ns: i64,
    rounds: u32,
    /// The last of them.
    last: u32,
}

impl Octave {
    // Not inlined, nor are trials: what `finished` does in most rounds stays small.
    #[inline(never)]
    fn add(&mut self, bytes: u64, span_ns: u64, number: u32) {
        // Below 2^52: a size is below 2^32, and longer rounds are not looked at.
        let (bytes, span_ns) = (
            (bytes as i64) << FRACTION_BITS,
            (span_ns as i64) << FRACTION_BITS,
        );
        self.last = number;
        self.rounds = (self.rounds + 1).min(MOST);
        if self.rounds == 1 {
            (self.bytes, self.span_ns, self.spread_ns) = (bytes, span_ns, 0);
            return;
        }
        let part = i64::from(self.rounds);
        // F is small, so the time is nearly that of the bytes: another size alone is no spread.
        let expected = i128::from(self.span_ns) * i128::from(bytes) / i128::from(self.bytes.max(1));
        self.spread_ns += ((span_ns - expected as i64).abs() - self.spread_ns) / part;
        self.bytes += (bytes - self.bytes) / part;
        self.span_ns += (span_ns - self.span_ns) / part;
    }

    /// Which it is. A mean of its sizes is one of them.
    fn number(&self) -> u32 {
        self.bytes
            .checked_ilog2()
            .unwrap_or(0)
            .saturating_sub(FRACTION_BITS)
    }

    /// How far its mean may be off, in ns with fraction bits.
    fn doubt_ns(&self) -> i64 {
        2 * self.spread_ns / i64::from(self.rounds.max(1).isqrt())
    }
}

/// The costs of a round, in ns with fraction bits.
#[derive(Debug, Clone, Copy)]
struct Costs {
    /// F.
    round_ns: i64,
    /// How far F may be off.
    doubt_ns: i64,
    /// Between these two sizes,
    bytes: i64,
    /// so much more time.
    span_ns: i64,
}

impl Costs {
    /// Whether so little of a round is lost that it can be made up for by its size.
    fn are_small(&self) -> bool {
        self.round_ns + self.doubt_ns <= self.span_ns >> SMALL_SHIFT
    }
}

/// Sees rounds, from one return of the sender to the next.
#[derive(Debug, Clone)]
pub struct Rounds {
    octaves: [Octave; OCTAVES],
    number: u32,
    /// When the sender came back last, and the refusals heard by then.
    returned: Option<(u64, u32)>,
    finished_bytes: u64,
    left_bytes: u32,
    /// Something was left when the sender came back last, and may have been worked off before without having
    /// been told.
    left_before: bool,
    /// The longest rounds that left something: as much as it takes at a time.
    full: Octave,
    object_bytes: u32,
    /// What loses no more than may be lost; `u32::MAX` where that is not known.
    enough_bytes: u32,
    /// Rounds until the next trial, and which size is next.
    until_trial: u32,
    next_is_small: bool,
    trial: Trial,
}

/// A round of another size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trial {
    No,
    /// The next refill is held to so much.
    Next(u32),
    /// The one after it, too, since something was left before it.
    Again(u32),
    /// It is at work.
    Now,
}

impl Default for Rounds {
    fn default() -> Self {
        Self {
            octaves: [Octave::default(); OCTAVES],
            number: 0,
            returned: None,
            finished_bytes: 0,
            left_bytes: 0,
            left_before: false,
            full: Octave::default(),
            object_bytes: 0,
            enough_bytes: u32::MAX,
            until_trial: BETWEEN_TRIALS,
            next_is_small: false,
            trial: Trial::No,
        }
    }
}

/// What finished by the end of a reap.
#[derive(Debug, Clone, Copy)]
pub struct Finished {
    /// When the sender came back before it, if it did since it was asked.
    pub came_back_ns: Option<u64>,
    /// Refusals heard so far.
    pub refusals: u32,
    /// What finished,
    pub bytes: u64,
    /// what is left,
    pub left_bytes: u32,
    /// and the largest object of late.
    pub object_bytes: u32,
}

impl Rounds {
    /// What to hold at most.
    pub fn most_bytes(&self) -> u32 {
        match self.trial {
            Trial::Next(bytes) | Trial::Again(bytes) => bytes,
            Trial::No | Trial::Now => self.enough_bytes,
        }
    }

    /// Whether what finishes now says nothing of what is needed.
    pub fn on_trial(&self) -> bool {
        self.trial != Trial::No
    }

    /// Something finished; `limit_bytes` is what would be held without this, and `lost` the share that
    /// may be lost, as a numerator over 2^20.
    #[inline]
    pub fn finished(&mut self, finished: &Finished, limit_bytes: u32, lost: u64) {
        if let Some(at_ns) = finished.came_back_ns
            && self
                .returned
                .is_none_or(|(before_ns, _)| before_ns != at_ns)
        {
            let before = self.returned.replace((at_ns, finished.refusals));
            if let Some((before_ns, refusals)) = before
                && at_ns > before_ns
            {
                let refused = refusals != finished.refusals;
                self.round(at_ns - before_ns, refused, limit_bytes, lost);
                self.left_before = self.left_bytes > 0;
                (self.finished_bytes, self.left_bytes) = (0, 0);
            }
        }
        self.finished_bytes = self.finished_bytes.saturating_add(finished.bytes);
        self.left_bytes = finished.left_bytes;
        self.object_bytes = finished.object_bytes;
    }

    fn round(&mut self, span_ns: u64, refused: bool, limit_bytes: u32, lost: u64) {
        self.number = self.number.wrapping_add(1);
        let bytes = self.finished_bytes;
        if refused && bytes > 0 && span_ns >> 32 == 0 && bytes >> 32 == 0 {
            match (self.left_before, self.left_bytes > 0) {
                (false, false) => self.whole_round(bytes, span_ns),
                (true, false) => {}
                (_, true) => self.full_round(bytes, span_ns),
            }
        }
        self.trial = match self.trial {
            Trial::Next(bytes) if self.left_bytes > 0 => Trial::Again(bytes),
            Trial::Next(_) | Trial::Again(_) => Trial::Now,
            Trial::Now => {
                self.find(lost);
                Trial::No
            }
            Trial::No => {
                self.until_trial -= 1;
                if self.until_trial == 0 {
                    self.begin(limit_bytes)
                } else {
                    Trial::No
                }
            }
        };
    }

    fn whole_round(&mut self, bytes: u64, span_ns: u64) {
        let octave = bytes.ilog2();
        let kept = &mut self.octaves[octave as usize % OCTAVES];
        if kept.number() != octave {
            *kept = Octave::default();
        }
        kept.add(bytes, span_ns, self.number);
    }

    fn full_round(&mut self, bytes: u64, span_ns: u64) {
        let (most, this) = (self.full.bytes, (bytes as i64) << FRACTION_BITS);
        if this > most + (most >> SMALL_SHIFT) {
            self.full = Octave::default();
        }
        if this >= most - (most >> SMALL_SHIFT) {
            self.full.add(bytes, span_ns, self.number);
        }
    }

    /// Begins a trial, if rounds look like those of a program.
    #[cold]
    fn begin(&mut self, limit_bytes: u32) -> Trial {
        let known = self.costs(ENOUGH);
        self.until_trial = match known {
            Some(_) => BETWEEN_TRIALS,
            None => BETWEEN_FIRST_TRIALS,
        };
        let costs = known.or_else(|| self.costs(1));
        if !costs.is_some_and(|it| it.are_small()) {
            self.enough_bytes = u32::MAX;
            return Trial::No;
        }
        self.next_is_small ^= true;
        let shift = if self.next_is_small { 3 } else { 1 };
        Trial::Next(limit_bytes.min(self.enough_bytes) >> shift)
    }

    /// Finds what is enough.
    #[cold]
    fn find(&mut self, lost: u64) {
        self.enough_bytes = u32::MAX;
        let Some(costs) = self.costs(ENOUGH).filter(Costs::are_small) else {
            return;
        };
        // All in ns with fraction bits, but for the bytes.
        let round = i128::from(costs.round_ns.max(0) + costs.doubt_ns);
        let (bytes, span) = (i128::from(costs.bytes), i128::from(costs.span_ns));
        let full = &self.full;
        let mut lost = i128::from(lost);
        if full.rounds >= ENOUGH && full.bytes > costs.bytes {
            // What the longest rounds lose is lost by any limit.
            let worked = i128::from(full.bytes) * span / bytes;
            let idle = i128::from(full.span_ns - full.doubt_ns()) - worked;
            lost += (idle.min(round).max(0) << 20) / i128::from(full.span_ns.max(1));
        }
        let enough = round * ((1 << 20) - lost) * bytes / (lost * span);
        // A limit admits up to one object more; half of one on average.
        let half_object = i128::from(self.object_bytes) << (FRACTION_BITS - 1);
        let enough = (enough - half_object) >> FRACTION_BITS;
        self.enough_bytes = u32::try_from(enough.max(1)).unwrap_or(u32::MAX);
    }

    /// The costs that rounds of all sizes of late agree on, of those seen so often.
    fn costs(&self, least_rounds: u32) -> Option<Costs> {
        let number = self.number;
        let is_fresh =
            |it: &&Octave| it.rounds >= least_rounds && number.wrapping_sub(it.last) < FRESH;
        line(self.octaves.iter().filter(is_fresh))
    }
}

/// The line through the smallest and the largest, if all lie on it.
fn line<'a>(mut sizes: impl Iterator<Item = &'a Octave> + Clone) -> Option<Costs> {
    let small = sizes.clone().min_by_key(|it| it.bytes)?;
    let large = sizes.clone().max_by_key(|it| it.bytes)?;
    let (bytes, span_ns) = (large.bytes - small.bytes, large.span_ns - small.span_ns);
    if bytes < 2 * small.bytes || span_ns <= 0 {
        return None;
    }
    let part = |of: i64, size: i64| (i128::from(of) * i128::from(size) / i128::from(bytes)) as i64;
    let at = |size: i64| small.span_ns + part(span_ns, size - small.bytes);
    let is_off = |it: &Octave| (it.span_ns - at(it.bytes)).abs() > it.span_ns >> SMALL_SHIFT;
    if sizes.any(is_off) {
        return None;
    }
    // Where the line begins, both ends weigh by their distance from there.
    let doubt_ns = part(small.doubt_ns(), large.bytes) + part(large.doubt_ns(), small.bytes);
    Some(Costs {
        round_ns: at(0),
        doubt_ns,
        bytes,
        span_ns,
    })
}
