//! A queue's share of a budget: a second gate beside its own limit.

use alloc::sync::Arc;

use super::Device;

/// One queue of a device that has a budget. The sender and the completer of the queue have one each.
#[derive(Clone)]
pub(crate) struct Member {
    device: Arc<Device>,
    queue: usize,
}

impl Member {
    pub(super) fn new(device: Arc<Device>, queue: usize) -> Self {
        Self { device, queue }
    }

    /// For the sender, whose own limit has room or not: whether it may send one more object. If only
    /// the budget is in the way, the queue waits for it from now on.
    pub(crate) fn acquire(&self, own_has_room: bool) -> bool {
        let waiters = &self.device.waiters;
        if !own_has_room {
            // It waits for its own limit, and uses no room of the others'.
            waiters.leave(self.queue);
            return false;
        }
        let may_send = waiters.may_send(self.queue);
        if !may_send {
            // Before the gate is closed, so that whoever finds it closed finds the queue waiting.
            waiters.enter(self.queue);
        }
        may_send
    }

    /// For the sender: it had something to send, and only the budget was in the way.
    pub(crate) fn note_blocked(&self) {
        self.device.waiters.note_blocked();
    }

    /// Whether an object of `bytes` can be counted.
    pub(crate) fn can_count(&self, bytes: u32) -> bool {
        self.device.waiters.can_count(bytes)
    }

    /// For the sender: accounts for an object.
    pub(crate) fn charge(&self, bytes: u32, now_ns: u64) {
        self.device.waiters.charge(self.queue, bytes, now_ns);
    }

    /// For the sender: the object that it sent last goes nowhere.
    pub(crate) fn uncharge(&self, bytes: u32) {
        self.device.waiters.uncharge(self.queue, bytes);
    }

    /// For the sender, which takes no more for now: what room it leaves is for others.
    pub(crate) fn share_room(&self) {
        if self.device.waiters.looks(self.queue) {
            self.device.waiters.start_next();
        }
    }

    /// For the completer: bytes came back.
    pub(crate) fn release(&self, bytes: u32, now_ns: u64) {
        let Device { waiters, rule } = &*self.device;
        // What a reset has forgotten does not come back twice.
        let bytes = bytes.min(waiters.queues[self.queue].in_flight_bytes());
        waiters.give_back(self.queue, bytes);
        rule.tell(waiters, now_ns);
    }

    /// For the completer: whether its queue can be started.
    pub(crate) fn may_start(&self) -> bool {
        self.device.waiters.may_start(self.queue)
    }

    /// For the completer: room may have come that this queue does not use, so it is for others.
    /// Returns whether that started this very queue.
    pub(crate) fn starts_itself(&self) -> bool {
        self.device.waiters.start_next() == Some(self.queue)
    }

    /// For the completer, which goes: what it had in flight is room for others.
    pub(crate) fn leave(&self) {
        let waiters = &self.device.waiters;
        waiters.give_back(self.queue, waiters.queues[self.queue].in_flight_bytes());
        waiters.start_next();
    }

    /// For a completer whose sender is stopped: corrects the bytes in flight after a reset or a repair.
    pub(crate) fn correct(&self, in_flight_bytes: u32, now_ns: u64) {
        let waiters = &self.device.waiters;
        let counted = waiters.queues[self.queue].in_flight_bytes();
        match counted.checked_sub(in_flight_bytes) {
            Some(lost) => self.release(lost, now_ns),
            None => waiters.charge(self.queue, in_flight_bytes - counted, now_ns),
        }
        waiters.start_next();
    }
}
