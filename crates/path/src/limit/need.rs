//! The largest need of the last second: the simplest rule on the front end.

use taut_dql::{Error, MAX_LIMIT};

use super::Limit;
use super::front::{self, Bounds, FrontCompleter, FrontSender, Sizer};

/// Parts of the window that are forgotten one at a time.
const BUCKETS: usize = 4;

/// The limit is the largest need of the last second or so. It never lets the device run dry twice
/// in a second for the same reason, and pays for the rarest gap all the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// How long a need is remembered, in ns, and up to a quarter longer. Default 1 s, as long as
    /// Linux's rule looks for slack.
    pub window_ns: u64,
    /// The least that the rule may set, in bytes.
    pub min_limit: u32,
    /// The most that the rule may set, in bytes.
    pub max_limit: u32,
}

impl Default for Need {
    fn default() -> Self {
        Self {
            window_ns: 1_000_000_000,
            min_limit: 0,
            max_limit: MAX_LIMIT,
        }
    }
}

impl Limit for Need {
    type Sender = FrontSender;
    type Completer = FrontCompleter<WindowedMaximum>;

    fn split(self, now_ns: u64) -> Result<(Self::Sender, Self::Completer), Error> {
        let bounds = Bounds {
            min_limit: self.min_limit,
            max_limit: self.max_limit,
        };
        front::split(WindowedMaximum::new(self.window_ns, now_ns), bounds, now_ns)
    }

    fn reset(
        sender: &mut Self::Sender,
        completer: &mut Self::Completer,
        now_ns: u64,
    ) -> Result<(), Error> {
        front::reset(sender, completer, now_ns)
    }
}

/// The maximum over a window that moves in steps of a quarter.
#[derive(Debug, Clone, Copy)]
pub struct WindowedMaximum {
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

    fn rate_is(&mut self, _bytes_per_ms: u64) {}

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
