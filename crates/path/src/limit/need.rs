//! The largest need of the last second: the simplest rule on the front end.

use core::fmt;

use taut_dql::Config;

use super::Limit;
use super::named::{Argument, ArgumentError, BuiltinLimit, LimitInfo, NamedLimit};
use super::sizing::{SizedByNeed, Sizer};
use taut_dql::forward_limit;

/// Parts of the window that are forgotten one at a time.
const BUCKETS: usize = 4;

/// The limit is the largest need of the last second or so: the `hold_time_ns` of its settings, and
/// up to a quarter longer. It never lets the device run dry twice in a second for the same reason,
/// and pays for the rarest gap all the time. The second is one in which the limit refused the
/// sender now and then: while a short ring or a light load holds back, nothing is forgotten.
#[derive(Debug, Clone)]
pub struct Need {
    rule: SizedByNeed<WindowedMaximum>,
}

impl Default for Need {
    fn default() -> Self {
        // 1 s, as long as Linux's rule looks for slack.
        let config = Config::default();
        let sizer = WindowedMaximum::new(config.hold_time_ns, 0);
        Self {
            rule: SizedByNeed::new(sizer, config),
        }
    }
}

impl Limit for Need {
    forward_limit!(self => self.rule);
}

impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Self::INFO.name)
    }
}

impl NamedLimit for Need {}

impl BuiltinLimit for Need {
    const INFO: LimitInfo = LimitInfo {
        name: "need",
        usage: "need",
        help: "the most that an interval of the last second needed",
        learns: true,
    };

    fn parse(argument: Argument<'_>) -> Result<Self, ArgumentError> {
        argument.none().map(|()| Self::default())
    }
}

/// The maximum over a window that moves in steps of a quarter.
#[derive(Debug, Clone, Copy)]
struct WindowedMaximum {
    /// The quarter that is being filled, and the four before it.
    newest_bytes: u32,
    older_bytes: [u32; BUCKETS],
    newest_since_ns: u64,
    window_ns: u64,
    limit_bytes: u32,
}

impl WindowedMaximum {
    fn new(window_ns: u64, now_ns: u64) -> Self {
        Self {
            newest_bytes: 0,
            older_bytes: [0; BUCKETS],
            newest_since_ns: now_ns,
            window_ns,
            limit_bytes: 0,
        }
    }
}

impl Sizer for WindowedMaximum {
    fn unrefused(&mut self, _bytes: u64) {}

    fn needed(&mut self, need_bytes: u32, _weight: u32, now_ns: u64) {
        // One step at a time, however long nobody was refused: a pause is no news of the device.
        let age_ns = now_ns.saturating_sub(self.newest_since_ns);
        if age_ns >= self.window_ns / BUCKETS as u64 {
            self.older_bytes.rotate_right(1);
            self.older_bytes[0] = core::mem::take(&mut self.newest_bytes);
            self.newest_since_ns = now_ns;
        }
        self.newest_bytes = self.newest_bytes.max(need_bytes);
        let older = self.older_bytes.iter().copied();
        self.limit_bytes = older.fold(self.newest_bytes, u32::max);
    }

    fn rate_is(&mut self, _bytes_per_ms: u64, _now_ns: u64) {}

    fn limit_bytes(&self) -> u32 {
        self.limit_bytes
    }

    fn put(&mut self, limit_bytes: u32) {
        self.limit_bytes = limit_bytes;
    }

    fn set_memory_ns(&mut self, memory_ns: u64) {
        self.window_ns = memory_ns;
    }

    fn reset(&mut self, now_ns: u64) {
        *self = Self::new(self.window_ns, now_ns);
    }
}
