//! The current source of completions, and its quality.

use super::recent_losses::RecentLosses;
use super::settings::Source;
use crate::quality::{CompletionQuality, QualityDetector};

/// Longer than a burst through a token bucket while a congestion window grows.
const USELESS_NS: u64 = 500_000_000;

/// A source with its quality and its recent losses.
#[derive(Debug)]
pub(super) struct SourceQuality {
    pub source: Source,
    pub detector: QualityDetector,
    pub losses: RecentLosses,
    /// Time of the last change of the quality.
    changed_ns: u64,
}

impl SourceQuality {
    pub(super) fn new(source: Source, now_ns: u64) -> Self {
        Self {
            source,
            detector: QualityDetector::new(source.if_valid(), CompletionQuality::Unknown),
            losses: RecentLosses::default(),
            changed_ns: now_ns,
        }
    }

    /// Changes the source. If `keeps` is `true`, the quality of the previous source is kept until
    /// observations show another.
    pub(super) fn change(&mut self, source: Source, keeps: bool) {
        let quality = match keeps {
            true => self.detector.quality(),
            false => CompletionQuality::Unknown,
        };
        self.source = source;
        self.detector = QualityDetector::new(source.if_valid(), quality);
        self.losses = RecentLosses::default();
    }

    pub(super) fn quality(&self) -> CompletionQuality {
        self.detector.quality()
    }

    /// Returns `true` unless completions are meaningless.
    pub(super) fn limit_applies(&self) -> bool {
        self.quality() != CompletionQuality::Immediate
    }

    /// Returns `true` if completions have been meaningless for so long that this source will show
    /// no queue.
    pub(super) fn is_useless(&self, now_ns: u64) -> bool {
        !self.limit_applies() && now_ns.saturating_sub(self.changed_ns) >= USELESS_NS
    }

    pub(super) fn changed(&mut self, now_ns: u64) {
        self.changed_ns = now_ns;
    }

    /// Records whether an object waited in the kernel. Returns `true` if the quality changed.
    pub(super) fn observed(&mut self, waited: bool) -> bool {
        let loaded = self.detector.is_loaded();
        self.detector.observed(waited, loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn source_is_useless_after_half_a_second() {
        let mut source = SourceQuality::new(Source::Timestamps, 0);
        let changed_ns = (1..1_000)
            .map(|at| at * 2 * MS)
            .find(|&now_ns| {
                for _ in 0..16 {
                    source.detector.sent(1, now_ns);
                }
                source.observed(false)
            })
            .expect("nothing waits under load");
        source.changed(changed_ns);
        assert!(!source.limit_applies());
        assert!(!source.is_useless(changed_ns + USELESS_NS - 1));
        assert!(source.is_useless(changed_ns + USELESS_NS));
        source.change(Source::Polled, true);
        assert!(!source.limit_applies(), "kept");
        source.change(Source::ZeroCopy, false);
        assert_eq!(source.quality(), CompletionQuality::Unknown);
    }
}
