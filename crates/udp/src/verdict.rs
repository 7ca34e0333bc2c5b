//! Whether completions say what they seem to say.

/// What the completions of a socket are worth.
///
/// Judged from what the caller sends, and watched: a datagram that is still in flight when the call
/// that sent it returns has waited for something, one that is done by then has not. A verdict can
/// be reversed when the path changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Completions {
    /// Not enough was sent yet to say. The limit holds meanwhile.
    #[default]
    Unknown,
    /// A datagram completes when it leaves the device's queueing discipline (and where the device
    /// holds that back, when it has room in its ring): transmit stamps.
    True,
    /// A datagram completes when its memory is let go of, after the device sent it. That is the
    /// habit of drivers and not a promise: zero-copy notifications.
    BufferFreed,
    /// As `True`, seen only when somebody looks: the level of `SIOCOUTQ`.
    Polled,
    /// All has completed at once for 0.1 s although a load was sent: nothing below holds datagrams
    /// (loopback, a TAP, a virtual pair without a shaper, a link faster than this sender), or
    /// nothing that can be seen from here. **The limit means nothing and is not applied.**
    None,
}

/// Looks that a verdict is made of.
const WINDOW: u32 = 64;
/// A first verdict needs fewer.
const RECENT: u32 = 16;
/// Of the recent looks, those that must have seen something wait.
const WAITS_FOR_TRUE: u32 = 4;
/// Of a window of looks, those that may have, by an interrupted thread.
const WAITS_FOR_NONE: u32 = 1;
/// Objects that are sent within [`RUN_NS`] before the next ones count as a load.
const RUN_OBJECTS: u32 = 8;
const RUN_NS: u64 = 1_000_000;
/// So long nothing may have waited, nor the limit have held the sender back: what a token bucket
/// lets through at once, while the sender is late or a congestion window grows, is over by then.
const CALM_NS: u64 = 100_000_000;

/// Comes to the verdict.
#[derive(Debug)]
pub(crate) struct Judge {
    verdict: Completions,
    /// What the verdict is if they are true.
    if_true: Completions,
    /// A bit for each look that counted, the latest lowest; 1 if it saw something wait.
    seen: u64,
    looks: u32,
    run_start_ns: u64,
    run_objects: u32,
    loaded: bool,
    now_ns: u64,
    /// Since when nothing waits.
    calm_since_ns: Option<u64>,
}

impl Judge {
    pub(crate) fn new(if_true: Completions, verdict: Completions) -> Self {
        Self {
            verdict,
            if_true,
            seen: 0,
            looks: 0,
            run_start_ns: 0,
            run_objects: 0,
            loaded: false,
            now_ns: 0,
            calm_since_ns: None,
        }
    }

    pub(crate) fn verdict(&self) -> Completions {
        self.verdict
    }

    /// The limit holds the sender back: something waits below.
    pub(crate) fn held_back(&mut self) {
        self.calm_since_ns = None;
    }

    /// Objects are sent.
    pub(crate) fn sent(&mut self, objects: u32, now_ns: u64) {
        if now_ns.saturating_sub(self.run_start_ns) > RUN_NS {
            self.loaded = self.run_objects >= RUN_OBJECTS;
            self.run_start_ns = now_ns;
            self.run_objects = 0;
        }
        self.run_objects = self.run_objects.saturating_add(objects);
        self.loaded |= self.run_objects >= RUN_OBJECTS;
        self.now_ns = now_ns;
    }

    /// Whether what is sent now is a load: it would wait if anything did.
    pub(crate) fn is_loaded(&self) -> bool {
        self.loaded
    }

    /// An object was still in flight when its call returned, or was not. Returns whether the
    /// verdict changed.
    pub(crate) fn looked(&mut self, waited: bool, loaded: bool) -> bool {
        // That nothing waits on an idle path says nothing.
        if !waited && !loaded {
            return false;
        }
        self.seen = self.seen << 1 | u64::from(waited);
        self.looks = (self.looks + 1).min(WINDOW);
        let recent = self.seen & ((1 << RECENT) - 1);
        let is_calm = self.seen.count_ones() <= WAITS_FOR_NONE;
        let since_ns = self.calm_since_ns.unwrap_or(self.now_ns);
        self.calm_since_ns = is_calm.then_some(since_ns);
        let calm_ns = self.now_ns.saturating_sub(since_ns);
        let verdict = if recent.count_ones() >= WAITS_FOR_TRUE {
            self.if_true
        } else if is_calm && self.looks == WINDOW && calm_ns >= CALM_NS {
            Completions::None
        } else {
            self.verdict
        };
        let changed = verdict != self.verdict;
        self.verdict = verdict;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge() -> Judge {
        Judge::new(Completions::True, Completions::Unknown)
    }

    #[test]
    fn what_waits_is_true_whatever_the_load() {
        let mut judge = judge();
        for look in 1..=4 {
            assert_eq!(judge.verdict(), Completions::Unknown);
            assert_eq!(judge.looked(true, false), look == 4);
        }
        assert_eq!(judge.verdict(), Completions::True);
    }

    #[test]
    fn an_idle_path_is_not_judged() {
        let mut judge = judge();
        for _ in 0..1000 {
            assert!(!judge.looked(false, false));
        }
        assert_eq!(judge.verdict(), Completions::Unknown);
    }

    #[test]
    fn a_loaded_path_on_which_nothing_waits_is_none_and_the_verdict_turns() {
        let mut judge = judge();
        for look in 1..=64 {
            judge.sent(1, look * 2_000_000);
            // An interrupted thread saw one wait.
            assert_eq!(judge.looked(look == 9, true), look == 64);
        }
        assert_eq!(judge.verdict(), Completions::None);
        let turned = (0..64).find(|_| judge.looked(true, true));
        assert!(turned.is_some_and(|looks| looks < 8), "{turned:?}");
        let back = looks_until(&mut judge, 2_000_000, Completions::None);
        assert!(
            back.is_some_and(|looks| (64..=128).contains(&looks)),
            "{back:?}"
        );
    }

    #[test]
    fn a_load_is_a_run_of_sends() {
        let mut judge = judge();
        for object in 0..20_u64 {
            judge.sent(1, object * 500_000);
            assert!(!judge.is_loaded(), "2,000 a second are none");
        }
        judge.sent(16, 20_000_000);
        assert!(judge.is_loaded());
        judge.sent(1, 20_500_000);
        assert!(judge.is_loaded());
        judge.sent(1, 30_000_000);
        judge.sent(1, 40_000_000);
        assert!(!judge.is_loaded());
    }

    /// Looks at something sent each `every_ns`, until the verdict is so.
    fn looks_until(judge: &mut Judge, every_ns: u64, is: Completions) -> Option<u64> {
        (1..=10_000).find(|_| {
            judge.sent(1, judge.now_ns + every_ns);
            judge.looked(false, true);
            judge.verdict() == is
        })
    }

    #[test]
    fn a_burst_that_passes_at_once_is_no_path_on_which_nothing_waits() {
        let mut judge = judge();
        for burst in 1..100 {
            for _ in 0..63 {
                judge.sent(1, burst * 1_000_000);
                assert!(!judge.looked(false, true));
            }
            judge.held_back();
        }
        let after = looks_until(&mut judge, 1_000_000, Completions::None);
        assert_eq!(after, Some(101), "0.1 s since the first look");
    }

    #[test]
    fn a_short_time_without_waiting_needs_a_window_of_looks_all_the_same() {
        let after = looks_until(&mut judge(), 10_000_000, Completions::None);
        assert_eq!(after, Some(64));
    }
}
