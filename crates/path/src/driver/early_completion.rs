//! Whether a device's completions mean that packets left it, found out from the packets themselves.

/// Doorbells that the latest evidence is of.
const WINDOW_DOORBELLS: u32 = 64;
/// Doorbells of a window after which the device held something: so many are proof enough that it
/// does not finish at once, whatever else it does.
const PROOF_DOORBELLS: u32 = 8;
/// Packets that were all finished when the doorbell returned, one doorbell after the other, before
/// completions count as false. A device that is just fast has time for a burst or two, not for this:
/// 1,000 frames of 1,514 bytes are 1.2 ms at 10 Gbit/s.
const DOUBT_PACKETS: u32 = 1_000;
/// The fewest doorbells of those: a few huge bursts may each have been let through.
const DOUBT_DOORBELLS: u32 = 16;
/// So many times as many of both where completions were found true before: a consumer on a
/// processor of its own often catches up before the doorbell returns.
const DOUBT_AFTER_PROOF: u32 = 16;

/// What completions mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum CompletionStatus {
    /// Too little was sent to say. Taken for true.
    #[default]
    Unknown,
    /// A packet is complete when it left the device.
    Valid,
    /// Packets are complete as soon as they are sent, wherever they are then.
    Early,
}

impl CompletionStatus {
    /// The name used in tables and JSON: `unknown`, `true`, `false`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Valid => "true",
            Self::Early => "false",
        }
    }

    /// Whether a limit on what is in flight means something, as far as is known.
    pub const fn limit_applies(self) -> bool {
        !matches!(self, Self::Early)
    }
}

/// Judges from what a device still holds when the doorbell returns. Needs nothing but the packets that
/// are sent anyway, and goes on watching: a verdict can be reversed.
///
/// ```
/// use taut_path::driver::{CompletionStatus, EarlyCompletionDetector};
///
/// let mut judge = EarlyCompletionDetector::new();
/// for _ in 0..40 {
///     judge.after_doorbell(32, 0); // 32 packets taken, and all of them finished already
/// }
/// assert_eq!(judge.status(), CompletionStatus::Early);
/// for _ in 0..8 {
///     judge.after_doorbell(32, 20); // it was only fast: now it has more than it can send at once
/// }
/// assert_eq!(judge.status(), CompletionStatus::Valid);
/// ```
#[derive(Debug, Clone, Default)]
pub struct EarlyCompletionDetector {
    status: CompletionStatus,
    /// The window so far.
    doorbells: u32,
    holding: u32,
    /// Since the device last held something.
    finished_packets: u32,
    finished_doorbells: u32,
}

impl EarlyCompletionDetector {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The doorbell returned: the device took `taken` packets, and holds `held` that it is not done
    /// with. Returns what completions mean now.
    #[inline]
    pub fn after_doorbell(&mut self, taken: u32, held: u32) -> CompletionStatus {
        // A doorbell that moved nothing says nothing.
        if taken > 0 || held > 0 {
            self.weigh(taken, held);
        }
        self.status
    }

    fn weigh(&mut self, taken: u32, held: u32) {
        if self.doorbells >= WINDOW_DOORBELLS {
            (self.doorbells, self.holding) = (0, 0);
        }
        self.doorbells += 1;
        if held > 0 {
            self.holding += 1;
            (self.finished_packets, self.finished_doorbells) = (0, 0);
            if self.holding >= PROOF_DOORBELLS {
                self.status = CompletionStatus::Valid;
            }
            return;
        }
        self.finished_packets = self.finished_packets.saturating_add(taken);
        self.finished_doorbells = self.finished_doorbells.saturating_add(1);
        let factor = match self.status {
            CompletionStatus::Valid => DOUBT_AFTER_PROOF,
            _ => 1,
        };
        if self.finished_packets >= DOUBT_PACKETS * factor
            && self.finished_doorbells >= DOUBT_DOORBELLS * factor
        {
            self.status = CompletionStatus::Early;
        }
    }

    /// What completions mean, as far as is known.
    pub fn status(&self) -> CompletionStatus {
        self.status
    }
}
