//! Detection of early completions, from the packets that are sent anyway.

/// Doorbells of an observation window.
const WINDOW_DOORBELLS: u32 = 64;
/// Doorbells of a window after which the device still held packets. This many are proof that it
/// does not complete at once.
const VALID_DOORBELLS: u32 = 8;
/// Packets that were all complete when the doorbell returned, in consecutive doorbells, before
/// completions count as early. A device that is only fast completes a burst or two in this time:
/// 1,000 frames of 1,514 bytes take 1.2 ms at 10 Gbit/s.
const EARLY_PACKETS: u32 = 1_000;
/// Minimum number of doorbells for these packets, because a few huge bursts might each be fast.
const EARLY_DOORBELLS: u32 = 16;
/// Factor for both if completions were valid before: a consumer on a CPU of its own often catches
/// up before the doorbell returns.
const EARLY_AFTER_VALID_FACTOR: u32 = 16;

/// The meaning of a device's completions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum CompletionStatus {
    /// Too few packets were sent. Treated as valid.
    #[default]
    Unknown,
    /// A completion means that the packet left the device.
    Valid,
    /// Packets are reported complete when they are submitted, before they leave the device.
    Early,
}

impl CompletionStatus {
    /// Returns the name used in tables and JSON: `unknown`, `valid` or `early`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Valid => "valid",
            Self::Early => "early",
        }
    }

    /// Returns `true` unless completions are early: then a limit of the bytes in flight has no
    /// meaning.
    pub const fn limit_applies(self) -> bool {
        !matches!(self, Self::Early)
    }
}

/// Detects early completions: packets that are already complete when the doorbell returns. Sends no
/// probe packets. The result can change at any time.
///
/// ```
/// use taut_path::driver::{CompletionStatus, EarlyCompletionDetector};
///
/// let mut detector = EarlyCompletionDetector::new();
/// for _ in 0..40 {
///     detector.after_doorbell(32, 0); // 32 packets taken, all of them complete
/// }
/// assert_eq!(detector.status(), CompletionStatus::Early);
/// for _ in 0..8 {
///     detector.after_doorbell(32, 20); // it was only fast: now it holds packets
/// }
/// assert_eq!(detector.status(), CompletionStatus::Valid);
/// ```
#[derive(Debug, Clone, Default)]
pub struct EarlyCompletionDetector {
    status: CompletionStatus,
    /// Doorbells in the current window.
    doorbells: u32,
    holding_doorbells: u32,
    /// Since the device last held packets.
    early_packets: u32,
    early_doorbells: u32,
}

impl EarlyCompletionDetector {
    /// A detector without observations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records a doorbell: the device took `taken` packets and still holds `held` after it
    /// returned. Returns the current status.
    #[inline]
    pub fn after_doorbell(&mut self, taken: u32, held: u32) -> CompletionStatus {
        // A doorbell without packets is not an observation.
        if taken > 0 || held > 0 {
            self.record(taken, held);
        }
        self.status
    }

    fn record(&mut self, taken: u32, held: u32) {
        if self.doorbells >= WINDOW_DOORBELLS {
            (self.doorbells, self.holding_doorbells) = (0, 0);
        }
        self.doorbells += 1;
        if held > 0 {
            self.holding_doorbells += 1;
            (self.early_packets, self.early_doorbells) = (0, 0);
            if self.holding_doorbells >= VALID_DOORBELLS {
                self.status = CompletionStatus::Valid;
            }
            return;
        }
        self.early_packets = self.early_packets.saturating_add(taken);
        self.early_doorbells = self.early_doorbells.saturating_add(1);
        let factor = match self.status {
            CompletionStatus::Valid => EARLY_AFTER_VALID_FACTOR,
            _ => 1,
        };
        if self.early_packets >= EARLY_PACKETS * factor
            && self.early_doorbells >= EARLY_DOORBELLS * factor
        {
            self.status = CompletionStatus::Early;
        }
    }

    /// Returns the current status.
    pub fn status(&self) -> CompletionStatus {
        self.status
    }
}
