//! Objects that later ones overtook.

use super::settings::Source;

/// How long overtaken objects are waited for. A discipline with several queues reorders datagrams
/// to several peers.
const OVERTAKEN_NS: u64 = 50_000_000;
/// As above, for zero-copy: queues beyond this host reorder by the backlog of a bulk peer.
const OVERTAKEN_ZERO_COPY_NS: u64 = 500_000_000;

/// Abandons objects that were overtaken long ago. Later ones have a time of their own.
#[derive(Debug, Default)]
pub(super) struct OvertakenTimer {
    overtaken: Option<Overtaken>,
}

/// Objects sent before `by` and still in flight were overtaken by then.
#[derive(Debug, Clone, Copy)]
struct Overtaken {
    by: u32,
    since_ns: u64,
}

impl OvertakenTimer {
    /// Starts the time for objects that `overtaker` overtook; stops it without one.
    pub(super) fn start(&mut self, overtaker: Option<u32>, now_ns: u64) {
        let since_ns = now_ns;
        self.overtaken = overtaker.map(|by| Overtaken { by, since_ns });
    }

    pub(super) fn is_waiting(&self, source: Source, now_ns: u64) -> bool {
        self.next_wakeup(source).is_some_and(|at_ns| now_ns < at_ns)
    }

    /// The object before which all are abandoned, when their time is over.
    pub(super) fn overtaker(&self) -> Option<u32> {
        self.overtaken.map(|it| it.by)
    }

    /// Returns when the time of the overtaken objects is over.
    pub(super) fn next_wakeup(&self, source: Source) -> Option<u64> {
        let time_ns = match source {
            Source::ZeroCopy => OVERTAKEN_ZERO_COPY_NS,
            _ => OVERTAKEN_NS,
        };
        Some(self.overtaken?.since_ns.saturating_add(time_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overtaken_objects_have_a_time_by_source() {
        let mut timer = OvertakenTimer::default();
        assert!(!timer.is_waiting(Source::Timestamps, 0));
        timer.start(Some(7), 1_000);
        assert!(timer.is_waiting(Source::Timestamps, 1_000));
        assert!(!timer.is_waiting(Source::Timestamps, 1_000 + OVERTAKEN_NS));
        assert!(timer.is_waiting(Source::ZeroCopy, 1_000 + OVERTAKEN_NS));
        assert_eq!(timer.overtaker(), Some(7));
        timer.start(None, 2_000);
        assert_eq!(timer.next_wakeup(Source::Timestamps), None);
    }
}
