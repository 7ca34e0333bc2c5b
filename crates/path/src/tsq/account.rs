//! The budget of one flow.

use alloc::sync::Arc;
use core::fmt;

use taut_dql::sync::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use super::budgets::Common;
use super::owner_lock::OwnerLock;
use super::{Settings, Sizing};
use crate::gate::Gate;

/// Marks in [`Account::state`]; the packets below the socket are counted in the bits under them.
/// There are never 2^29 packets: each is a descriptor of 24 bytes in memory.
const OPEN: u32 = 1 << 31;
/// On a deferred list.
const LISTED: u32 = 1 << 30;
/// A runner is at work on it.
const RUNNING: u32 = 1 << 29;
const PACKETS: u32 = RUNNING - 1;

/// A packet may always go while there is no more than one below it: else the wire goes quiet
/// between two super-packets when completions are slow.
const ALWAYS_PACKETS: u32 = 1;

/// One slot of the table. While `state` is 0 it belongs to nobody; packets of a flow that has ended
/// keep it until the last of them is freed.
pub struct Account {
    /// What it shares with all others.
    pub(super) common: Arc<Common>,
    /// Its number in the table.
    pub(super) slot: u32,
    state: AtomicU32,
    charged_bytes: AtomicUsize,
    /// The flow's own limit, if it has one.
    own_limit_bytes: AtomicU32,
    has_own_limit: AtomicBool,
    /// Of the last question whether it may send; a rate that does not fit is as fast as can be.
    asked_packet_bytes: AtomicU32,
    asked_rate_bytes_per_s: AtomicUsize,
    throttle: Gate,
    pub(super) lock: OwnerLock,
    /// What the owner is called where its list is run.
    pub(super) tag: AtomicU32,
    pub(super) list: AtomicU32,
    /// The next slot of the list that this one is on.
    pub(super) next: AtomicU32,
    pub(super) throttled: AtomicUsize,
    pub(super) deferred: AtomicUsize,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}", self.slot)
    }
}

impl Account {
    pub(super) fn new(common: Arc<Common>, slot: u32) -> Self {
        Self {
            common,
            slot,
            state: AtomicU32::new(0),
            charged_bytes: AtomicUsize::new(0),
            own_limit_bytes: AtomicU32::new(0),
            has_own_limit: AtomicBool::new(false),
            asked_packet_bytes: AtomicU32::new(0),
            asked_rate_bytes_per_s: AtomicUsize::new(0),
            throttle: Gate::new(),
            lock: OwnerLock::new(),
            tag: AtomicU32::new(0),
            list: AtomicU32::new(0),
            next: AtomicU32::new(0),
            throttled: AtomicUsize::new(0),
            deferred: AtomicUsize::new(0),
        }
    }

    /// Takes the slot for a new flow if it is nobody's.
    pub fn try_open(&self, tag: u32, list: u32) -> bool {
        // Marked as listed until it is ready, so that a last look at its former flow cannot list it.
        let taken = self
            .state
            .compare_exchange(0, LISTED, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        self.has_own_limit.store(false, Ordering::Relaxed);
        self.asked_packet_bytes.store(0, Ordering::Relaxed);
        self.asked_rate_bytes_per_s.store(0, Ordering::Relaxed);
        self.throttle.open();
        self.lock.reset();
        self.tag.store(tag, Ordering::Relaxed);
        self.list.store(list, Ordering::Relaxed);
        self.throttled.store(0, Ordering::Relaxed);
        self.deferred.store(0, Ordering::Relaxed);
        self.state.store(OPEN, Ordering::Release);
        true
    }

    /// The flow ends. Its packets below keep the slot until they are freed.
    pub fn close(&self) {
        self.state.fetch_and(!OPEN, Ordering::AcqRel);
    }

    pub fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) & OPEN != 0
    }

    pub fn packets(&self) -> u32 {
        self.state.load(Ordering::Acquire) & PACKETS
    }

    pub fn charged_bytes(&self) -> u64 {
        self.charged_bytes.load(Ordering::Acquire) as u64
    }

    /// Charges a packet of `bytes`, which ends with [`end_packet`](Self::end_packet).
    pub(super) fn charge(&self, bytes: u32) {
        self.charged_bytes
            .fetch_add(bytes as usize, Ordering::Relaxed);
        self.state.fetch_add(1, Ordering::Relaxed);
    }

    /// Releases the charge of a packet that ended. Its flow might have room then.
    pub(super) fn end_packet(&self, bytes: u32) {
        if self.release(bytes) {
            self.look();
        }
    }

    /// Releases a packet. Returns `true` if its flow is still open.
    fn release(&self, bytes: u32) -> bool {
        self.charged_bytes
            .fetch_sub(bytes as usize, Ordering::Release);
        // Last, since it may give the slot to another flow.
        self.state.fetch_sub(1, Ordering::AcqRel) & OPEN != 0
    }

    /// Puts the flow on its list if it is throttled and has room.
    pub(super) fn look(&self) {
        if self.is_open() && self.must_defer(|| self.common.settings()) {
            self.common.deferred.fetch_add(1, Ordering::Relaxed);
            let list = self.list.load(Ordering::Relaxed) as usize;
            self.common.lists[list].push(self);
        }
    }

    /// Stores the request of the owner. A release computes the limit from it.
    pub fn set_request(&self, packet_bytes: u32, rate_bytes_per_s: u64) {
        self.asked_packet_bytes
            .store(packet_bytes, Ordering::Relaxed);
        let rate = usize::try_from(rate_bytes_per_s).unwrap_or(usize::MAX);
        self.asked_rate_bytes_per_s.store(rate, Ordering::Relaxed);
    }

    /// The limit without regard to the rate.
    pub fn most_bytes(&self, settings: Settings) -> u32 {
        if self.has_own_limit.load(Ordering::Acquire) {
            return self.own_limit_bytes.load(Ordering::Relaxed);
        }
        settings.limit_bytes
    }

    pub fn set_own_limit(&self, limit_bytes: Option<u32>) {
        if let Some(limit_bytes) = limit_bytes {
            self.own_limit_bytes.store(limit_bytes, Ordering::Relaxed);
        }
        // Release: whoever sees that there is one sees which.
        self.has_own_limit
            .store(limit_bytes.is_some(), Ordering::Release);
    }

    /// The limit now.
    pub fn limit_bytes(&self, settings: Settings) -> u64 {
        let most = u64::from(self.most_bytes(settings));
        let Sizing::Rate { time_ns } = settings.sizing else {
            return most;
        };
        let packet = u64::from(self.asked_packet_bytes.load(Ordering::Relaxed));
        let rate = self.asked_rate_bytes_per_s.load(Ordering::Relaxed);
        let share = rate as u128 * u128::from(time_ns) / 1_000_000_000;
        u64::try_from(share)
            .unwrap_or(u64::MAX)
            .max(2 * packet)
            .min(most)
    }

    pub fn has_room(&self, settings: Settings) -> bool {
        self.packets() <= ALWAYS_PACKETS || self.charged_bytes() <= self.limit_bytes(settings)
    }

    /// For the owner: whether one more packet may go; if not, the flow is throttled.
    pub fn may_send(&self, settings: impl Fn() -> Settings) -> bool {
        let was_throttled = self.throttle.is_closed();
        if self.has_room(settings()) {
            if was_throttled {
                self.throttle.open();
            }
            return true;
        }
        let throttled = self.throttle.close_unless(|| self.has_room(settings()));
        if throttled && !was_throttled {
            self.throttled.fetch_add(1, Ordering::Relaxed);
        }
        !throttled
    }

    pub fn is_throttled(&self) -> bool {
        self.throttle.is_closed()
    }

    /// For whoever made room: whether the flow was throttled and must be put on its list.
    pub fn must_defer(&self, settings: impl Fn() -> Settings) -> bool {
        self.throttle.open_if(|| self.has_room(settings())) && {
            self.deferred.fetch_add(1, Ordering::Relaxed);
            self.mark_listed()
        }
    }

    /// Returns whether the caller must put it on its list.
    pub fn mark_listed(&self) -> bool {
        self.state.fetch_or(LISTED, Ordering::AcqRel) & LISTED == 0
    }

    /// For the runner: takes the listed mark away. Returns whether there is a flow to run; if so,
    /// [`run_ends`](Self::run_ends) must follow, until when the slot stays taken.
    pub fn run_begins(&self) -> bool {
        self.state.fetch_or(RUNNING, Ordering::AcqRel);
        let open = self.state.fetch_and(!LISTED, Ordering::AcqRel) & OPEN != 0;
        if !open {
            self.run_ends();
        }
        open
    }

    pub fn run_ends(&self) {
        self.state.fetch_and(!RUNNING, Ordering::AcqRel);
    }
}
