//! When the level of the socket must be read.

use super::settings::Source;

/// Silence of timestamps after which the level is read: it shows whether the socket is empty.
const SILENCE_NS: u64 = 20_000_000;

/// Time since the last notification, and how long to wait for the next.
#[derive(Debug)]
pub(super) struct PollTimer {
    /// Time of the last completion, level reading, or send into an empty path.
    last_ns: u64,
    poll_ns: u64,
    zero_copy_silence_ns: u64,
}

impl PollTimer {
    pub(super) fn new(now_ns: u64, poll_ns: u64, zero_copy_silence_ns: u64) -> Self {
        Self {
            last_ns: now_ns,
            poll_ns,
            zero_copy_silence_ns,
        }
    }

    pub(super) fn restart(&mut self, now_ns: u64) {
        self.last_ns = now_ns;
    }

    /// Returns when to poll without a notification.
    pub(super) fn next_wakeup(&self, source: Source) -> u64 {
        self.last_ns.saturating_add(match source {
            Source::Polled => self.poll_ns,
            Source::Timestamps => SILENCE_NS,
            Source::ZeroCopy => self.zero_copy_silence_ns,
        })
    }

    /// Returns `true` if the level is the source, or the source was silent for long.
    pub(super) fn needs_level(&self, source: Source, now_ns: u64) -> bool {
        source == Source::Polled || now_ns >= self.next_wakeup(source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_is_read_after_silence() {
        let mut timer = PollTimer::new(0, 1_000_000, 2_000_000_000);
        assert!(timer.needs_level(Source::Polled, 0));
        assert!(!timer.needs_level(Source::Timestamps, SILENCE_NS - 1));
        assert!(timer.needs_level(Source::Timestamps, SILENCE_NS));
        assert!(!timer.needs_level(Source::ZeroCopy, SILENCE_NS));
        timer.restart(5);
        assert_eq!(timer.next_wakeup(Source::Polled), 1_000_005);
        assert_eq!(timer.next_wakeup(Source::ZeroCopy), 2_000_000_005);
    }
}
