//! A queue's share of a budget: a second limit above its own.

use alloc::sync::Arc;

use super::rule::SharedRule;
use super::waiters::Waiters;
use crate::queue::Admission;

/// The room and the rule of a budget.
pub(super) struct Device {
    pub(super) waiters: Waiters,
    pub(super) rule: SharedRule,
}

/// One half of a queue under a budget. When the completer's half is dropped, the queue's bytes in
/// flight become room for other queues.
pub struct Member {
    device: Arc<Device>,
    queue: usize,
    is_completers: bool,
}

impl Member {
    /// The members of the sender and the completer of a queue.
    pub(super) fn pair(device: &Arc<Device>, queue: usize) -> (Self, Self) {
        let member = |is_completers| Self {
            device: device.clone(),
            queue,
            is_completers,
        };
        (member(false), member(true))
    }

    fn in_flight_bytes(&self) -> u32 {
        self.device.waiters.queues[self.queue].in_flight_bytes()
    }
}

impl Admission for Member {
    const SHARED: bool = true;

    fn admits(&self, limit_has_room: bool) -> bool {
        let waiters = &self.device.waiters;
        if !limit_has_room {
            // The queue waits for its own limit, so it gives up its place for the shared room.
            waiters.leave(self.queue);
            return false;
        }
        let may_send = waiters.may_send(self.queue);
        if !may_send {
            // Before the gate is closed: a thread that finds it closed finds the queue waiting.
            waiters.enter(self.queue);
        }
        may_send
    }

    fn can_charge(&self, bytes: u32) -> bool {
        self.device.waiters.can_count(bytes)
    }

    fn charge(&self, bytes: u32, now_ns: u64) {
        self.device.waiters.charge(self.queue, bytes, now_ns);
    }

    fn uncharge(&self, bytes: u32) {
        self.device.waiters.uncharge(self.queue, bytes);
    }

    fn note_blocked(&self) {
        self.device.waiters.note_blocked();
    }

    fn share_room(&self) {
        self.device.waiters.wake_next();
    }

    fn release(&self, bytes: u32, now_ns: u64) {
        let Device { waiters, rule } = &*self.device;
        // Packets sent before a reset are not released twice.
        waiters.complete(self.queue, bytes.min(self.in_flight_bytes()));
        rule.update(waiters, now_ns);
    }

    fn correct(&self, in_flight_bytes: u32, now_ns: u64) {
        let waiters = &self.device.waiters;
        let counted = self.in_flight_bytes();
        match counted.checked_sub(in_flight_bytes) {
            Some(lost) => self.release(lost, now_ns),
            None => waiters.charge(self.queue, in_flight_bytes - counted, now_ns),
        }
        waiters.wake_next();
    }

    fn may_start(&self) -> bool {
        self.device.waiters.may_start(self.queue)
    }

    fn starts_itself(&self) -> bool {
        self.device.waiters.wake_next() == Some(self.queue)
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if self.is_completers {
            let waiters = &self.device.waiters;
            waiters.complete(self.queue, self.in_flight_bytes());
            waiters.wake_next();
        }
    }
}
