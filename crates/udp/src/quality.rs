//! The sources of completions, and their quality: whether they show which datagrams left the
//! device.

/// The quality of a socket's completions.
///
/// Detected from the datagrams that the caller sends. A datagram that is still in flight when its
/// send call returns has waited in a queue; one that is completed by then has not. The quality can
/// change at any time, because the path can change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CompletionQuality {
    /// Too few datagrams were sent yet. The limit applies.
    #[default]
    Unknown,
    /// A datagram completes when the discipline passes it to the driver (transmit timestamp).
    Transmitted,
    /// A datagram completes when its memory is released, usually after the device sent it, but that
    /// depends on the driver: zero-copy notifications.
    BufferFreed,
    /// As `Transmitted`, but read from the level of `SIOCOUTQ`.
    Polled,
    /// Everything has completed immediately for 0.1 s under load: no queue below holds datagrams
    /// (loopback, a TAP, a veth without a shaper, a link faster than this sender), or none
    /// that this source can see. **The limit is meaningless and is not applied.**
    Immediate,
}

/// The source of completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    /// Transmit timestamps: the time at which each datagram leaves the discipline, but only within
    /// the socket's own network namespace. At high rates up to 16 datagrams share a timestamp,
    /// unless an observer is set.
    #[default]
    Timestamps,
    /// Zero-copy notifications: the only source that sees a queue beyond a container's own link.
    /// Each datagram is copied once into pages that the kernel reads.
    ZeroCopy,
    /// The level of the socket (`SIOCOUTQ`), polled at an interval.
    Polled,
}

impl Source {
    /// Returns the quality of its completions if they are valid.
    pub(crate) fn if_valid(self) -> CompletionQuality {
        match self {
            Self::Timestamps => CompletionQuality::Transmitted,
            Self::ZeroCopy => CompletionQuality::BufferFreed,
            Self::Polled => CompletionQuality::Polled,
        }
    }
}

/// Observations that determine the quality.
const WINDOW: u32 = 64;
/// Observations that determine it the first time.
const RECENT: u32 = 16;
/// Minimum of the recent observations with waiting.
const WAITS_FOR_VALID: u32 = 4;
/// Maximum of the observations of a window with waiting, because a thread was interrupted.
const WAITS_FOR_IMMEDIATE: u32 = 1;
/// This many objects within [`RUN_NS`] before the next ones count as load.
const RUN_OBJECTS: u32 = 8;
const RUN_NS: u64 = 1_000_000;
/// Minimum time without waiting and without a block by the limit. Longer than a burst through a
/// token bucket, while the sender is late or a congestion window grows.
const CALM_NS: u64 = 100_000_000;
/// Longer than a burst through a token bucket while a congestion window grows.
const USELESS_NS: u64 = 500_000_000;

/// Detects the quality of the current source.
#[derive(Debug, Default)]
pub(crate) struct QualityDetector {
    pub(crate) source: Source,
    pub(crate) quality: CompletionQuality,
    /// Time of the last change of the quality.
    pub(crate) changed_ns: u64,
    /// One bit for each counted observation, the latest lowest; 1 for waiting.
    waited: u64,
    observations: u32,
    run_start_ns: u64,
    run_objects: u32,
    loaded: bool,
    now_ns: u64,
    /// Time of the last observation with waiting.
    calm_since_ns: Option<u64>,
}

impl QualityDetector {
    pub(crate) fn new(source: Source, now_ns: u64) -> Self {
        Self {
            source,
            changed_ns: now_ns,
            ..Self::default()
        }
    }

    /// Changes the source. If `keeps` is `true`, the quality of the previous source is kept until
    /// observations show another.
    pub(crate) fn change_source(&mut self, source: Source, keeps: bool) {
        let quality = match keeps {
            true => self.quality,
            false => CompletionQuality::Unknown,
        };
        *self = Self {
            quality,
            ..Self::new(source, self.changed_ns)
        };
    }

    /// Returns `true` unless completions are meaningless.
    pub(crate) fn limit_applies(&self) -> bool {
        self.quality != CompletionQuality::Immediate
    }

    /// Returns `true` if completions have been meaningless for so long that this source will show
    /// no queue.
    pub(crate) fn is_source_useless(&self, now_ns: u64) -> bool {
        !self.limit_applies() && now_ns.saturating_sub(self.changed_ns) >= USELESS_NS
    }

    /// Records that the limit blocks the sender, so packets wait below.
    pub(crate) fn blocked(&mut self) {
        self.calm_since_ns = None;
    }

    /// Records sent objects.
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

    /// Records whether an object was still in flight when its call returned. Returns `true` if the
    /// quality changed.
    pub(crate) fn observed(&mut self, waited: bool) -> bool {
        // An immediate completion on an idle path is not significant: only sends that are a load
        // would wait if a queue existed.
        if !waited && !self.loaded {
            return false;
        }
        self.waited = self.waited << 1 | u64::from(waited);
        self.observations = (self.observations + 1).min(WINDOW);
        let recent = self.waited & ((1 << RECENT) - 1);
        let is_calm = self.waited.count_ones() <= WAITS_FOR_IMMEDIATE;
        let since_ns = self.calm_since_ns.unwrap_or(self.now_ns);
        self.calm_since_ns = is_calm.then_some(since_ns);
        let calm_ns = self.now_ns.saturating_sub(since_ns);
        let quality = if recent.count_ones() >= WAITS_FOR_VALID {
            self.source.if_valid()
        } else if is_calm && self.observations == WINDOW && calm_ns >= CALM_NS {
            CompletionQuality::Immediate
        } else {
            self.quality
        };
        let changed = quality != self.quality;
        self.quality = quality;
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detector() -> QualityDetector {
        QualityDetector::new(Source::Timestamps, 0)
    }

    #[test]
    fn queueing_is_valid_at_any_load() {
        let mut detector = detector();
        for look in 1..=4 {
            assert_eq!(detector.quality, CompletionQuality::Unknown);
            assert_eq!(detector.observed(true), look == 4);
        }
        assert_eq!(detector.quality, CompletionQuality::Transmitted);
    }

    #[test]
    fn an_idle_path_is_not_judged() {
        let mut detector = detector();
        for _ in 0..1000 {
            assert!(!detector.observed(false));
        }
        assert_eq!(detector.quality, CompletionQuality::Unknown);
    }

    #[test]
    fn loaded_path_without_queueing_is_immediate() {
        let mut detector = detector();
        for look in 1..=64 {
            detector.sent(8, look * 2_000_000);
            // One observation with waiting, because a thread was interrupted.
            assert_eq!(detector.observed(look == 9), look == 64);
        }
        assert_eq!(detector.quality, CompletionQuality::Immediate);
        let turned = (0..64).find(|_| detector.observed(true));
        assert!(turned.is_some_and(|looks| looks < 8), "{turned:?}");
        let back = looks_until(&mut detector, 2_000_000, CompletionQuality::Immediate);
        assert!(
            back.is_some_and(|looks| (64..=128).contains(&looks)),
            "{back:?}"
        );
    }

    #[test]
    fn a_load_is_a_run_of_sends() {
        let mut detector = detector();
        for object in 0..20_u64 {
            detector.sent(1, object * 500_000);
            assert!(!detector.loaded, "2,000 a second are none");
        }
        detector.sent(16, 20_000_000);
        assert!(detector.loaded);
        detector.sent(1, 20_500_000);
        assert!(detector.loaded);
        detector.sent(1, 30_000_000);
        detector.sent(1, 40_000_000);
        assert!(!detector.loaded);
    }

    /// Records observations every `every_ns` until the quality is `wanted`.
    fn looks_until(
        detector: &mut QualityDetector,
        every_ns: u64,
        is: CompletionQuality,
    ) -> Option<u64> {
        (1..=10_000).find(|_| {
            detector.sent(8, detector.now_ns + every_ns);
            detector.observed(false);
            detector.quality == is
        })
    }

    #[test]
    fn immediate_burst_is_not_an_immediate_path() {
        let mut detector = detector();
        for burst in 1..100 {
            for _ in 0..63 {
                detector.sent(8, burst * 1_000_000);
                assert!(!detector.observed(false));
            }
            detector.blocked();
        }
        let after = looks_until(&mut detector, 1_000_000, CompletionQuality::Immediate);
        assert_eq!(after, Some(101), "0.1 s since the first look");
    }

    #[test]
    fn short_time_without_queueing_needs_a_full_window() {
        let after = looks_until(&mut detector(), 10_000_000, CompletionQuality::Immediate);
        assert_eq!(after, Some(64));
    }

    #[test]
    fn source_is_useless_after_half_a_second() {
        let mut detector = detector();
        let after = looks_until(&mut detector, 2_000_000, CompletionQuality::Immediate);
        detector.changed_ns = after.expect("nothing waits under load") * 2_000_000;
        let changed_ns = detector.changed_ns;
        assert!(!detector.limit_applies());
        assert!(!detector.is_source_useless(changed_ns + USELESS_NS - 1));
        assert!(detector.is_source_useless(changed_ns + USELESS_NS));
        detector.change_source(Source::Polled, true);
        assert!(!detector.limit_applies(), "kept");
        detector.change_source(Source::ZeroCopy, false);
        assert_eq!(detector.quality, CompletionQuality::Unknown);
    }
}
