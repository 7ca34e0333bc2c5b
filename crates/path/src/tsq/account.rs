//! The budget of one flow.

use alloc::sync::Arc;
use core::fmt;

use concurrent_queue::ConcurrentQueue;
use taut_dql::sync::{AtomicU32, AtomicUsize, Ordering};

use super::owner_lock::OwnerLock;
use super::settings::{SendRequest, Settings};
use crate::gate::Gate;

/// Flags in [`FlowAccount::state`]; the lower bits count the packets below the socket. There are
/// never 2^29 packets, because each is a descriptor of 24 bytes.
const OPEN: u32 = 1 << 31;
/// On the deferred list.
const LISTED: u32 = 1 << 30;
/// A runner processes it.
const RUNNING: u32 = 1 << 29;
const PACKETS: u32 = RUNNING - 1;

/// A packet may always be sent while at most one is below the socket: otherwise the link would go
/// idle between two GSO packets when completions are slow.
const ALWAYS_PACKETS: u32 = 1;

/// The state that all flows, packets and runners of a table share.
#[derive(Debug)]
pub(super) struct SharedState {
    /// The deferred list, with room for the slots of all flows: many threads push, one pops.
    pub list: ConcurrentQueue<u32>,
    pub settings: Settings,
    /// The slot at which the search for a free one begins.
    pub next_slot: AtomicU32,
    pub throttled: AtomicUsize,
    pub deferred: AtomicUsize,
    pub deferred_to_owner: AtomicUsize,
}

impl SharedState {
    pub(crate) fn new(flows: u32, settings: Settings) -> Self {
        Self {
            list: ConcurrentQueue::bounded(flows as usize),
            settings,
            next_slot: AtomicU32::new(0),
            throttled: AtomicUsize::new(0),
            deferred: AtomicUsize::new(0),
            deferred_to_owner: AtomicUsize::new(0),
        }
    }
}

/// A slot of the table. While `state` is 0 it is free. Packets of a flow that has ended keep it
/// until the last of them is freed.
pub(crate) struct FlowAccount {
    /// State shared with all other flows.
    pub(super) common: Arc<SharedState>,
    /// Its number in the table.
    pub(super) slot: u32,
    state: AtomicU32,
    charged_bytes: AtomicUsize,
    /// The limit for the last request of the owner. A release reads it.
    limit_bytes: AtomicU32,
    throttle: Gate,
    pub(super) lock: OwnerLock,
    /// The number that is passed to `send` when the flow is run.
    pub(super) tag: AtomicU32,
}

impl fmt::Debug for FlowAccount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}", self.slot)
    }
}

impl FlowAccount {
    pub(super) fn new(common: Arc<SharedState>, slot: u32) -> Self {
        Self {
            common,
            slot,
            state: AtomicU32::new(0),
            charged_bytes: AtomicUsize::new(0),
            limit_bytes: AtomicU32::new(0),
            throttle: Gate::new(),
            lock: OwnerLock::default(),
            tag: AtomicU32::new(0),
        }
    }

    /// Takes a free slot for a new flow.
    pub(crate) fn try_open(&self, tag: u32) -> bool {
        // Marked as listed until it is ready, so that a final release of its former flow cannot
        // list it.
        let taken = self
            .state
            .compare_exchange(0, LISTED, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_err() {
            return false;
        }
        self.set_request(SendRequest::default());
        self.throttle.open();
        self.lock.reset();
        self.tag.store(tag, Ordering::Relaxed);
        // Release: a thread that sees the flow open sees its fields.
        self.state.store(OPEN, Ordering::Release);
        true
    }

    /// The flow ends. Its packets below keep the slot until they are freed.
    pub(crate) fn close(&self) {
        self.state.fetch_and(!OPEN, Ordering::AcqRel);
    }

    fn is_open(&self) -> bool {
        self.state.load(Ordering::Acquire) & OPEN != 0
    }

    pub(crate) fn packets(&self) -> u32 {
        self.state.load(Ordering::Acquire) & PACKETS
    }

    pub(crate) fn charged_bytes(&self) -> u64 {
        self.charged_bytes.load(Ordering::Acquire) as u64
    }

    /// Charges a packet of `bytes`, which ends with [`end_packet`](Self::end_packet).
    pub(super) fn charge(&self, bytes: u32) {
        self.charged_bytes
            .fetch_add(bytes as usize, Ordering::Relaxed);
        self.state.fetch_add(1, Ordering::Relaxed);
    }

    /// Releases the charge of a packet that ended, and puts its flow on the list if it was
    /// throttled and has room now.
    pub(super) fn end_packet(&self, bytes: u32) {
        self.charged_bytes
            .fetch_sub(bytes as usize, Ordering::Release);
        // Last, because this can free the slot for another flow.
        let was_open = self.state.fetch_sub(1, Ordering::AcqRel) & OPEN != 0;
        if was_open && self.is_open() && self.must_defer() {
            self.common.deferred.fetch_add(1, Ordering::Relaxed);
            self.push();
        }
    }

    /// Pushes the flow, which is not on the deferred list, to it.
    pub(super) fn push(&self) {
        // Cannot fail: the list has room for each slot, and a slot is on it at most once.
        let _ = self.common.list.push(self.slot);
    }

    /// Sets the limit for the next request of the owner.
    pub(super) fn set_request(&self, request: SendRequest) {
        let limit_bytes = self.common.settings.limit_of(request);
        self.limit_bytes.store(limit_bytes, Ordering::Relaxed);
    }

    /// Returns the current limit.
    pub(crate) fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Ordering::Relaxed).into()
    }

    fn has_room(&self) -> bool {
        self.packets() <= ALWAYS_PACKETS || self.charged_bytes() <= self.limit_bytes()
    }

    /// For the owner: returns `true` if one more packet may be sent; otherwise the flow is
    /// throttled.
    pub(crate) fn may_send(&self) -> bool {
        let was_throttled = self.throttle.is_closed();
        if self.has_room() {
            if was_throttled {
                self.throttle.open();
            }
            return true;
        }
        let throttled = self.throttle.close_unless(|| self.has_room());
        if throttled && !was_throttled {
            self.common.throttled.fetch_add(1, Ordering::Relaxed);
        }
        !throttled
    }

    pub(crate) fn is_throttled(&self) -> bool {
        self.throttle.is_closed()
    }

    /// For the thread that made room: returns `true` if the flow was throttled and must be listed.
    fn must_defer(&self) -> bool {
        self.throttle.open_if(|| self.has_room()) && self.mark_listed()
    }

    /// Returns `true` if the caller must list the flow.
    pub(crate) fn mark_listed(&self) -> bool {
        self.state.fetch_or(LISTED, Ordering::AcqRel) & LISTED == 0
    }

    /// For the runner: clears the listed flag. Returns `true` if the flow must be run; then
    /// [`run_ends`](Self::run_ends) must follow, and the slot stays taken until then.
    pub(crate) fn run_begins(&self) -> bool {
        // Set RUNNING before LISTED is cleared: a state of 0 in between would free the slot.
        self.state.fetch_or(RUNNING, Ordering::AcqRel);
        let open = self.state.fetch_and(!LISTED, Ordering::AcqRel) & OPEN != 0;
        if !open {
            self.run_ends();
        }
        open
    }

    pub(crate) fn run_ends(&self) {
        self.state.fetch_and(!RUNNING, Ordering::AcqRel);
    }
}
