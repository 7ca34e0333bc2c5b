//! The interface of a second limit above that of a queue.

/// A second limit above that of a queue, such as a [budget](crate::budget) that several queues
/// share: a packet is sent while both limits have room.
///
/// Only `()` and the [`Member`](crate::budget::Member) of a budget can be part of a queue: see
/// [`budget::attach`](crate::budget::attach). Each half of a queue has a value of this type and
/// calls the methods for that half. A method without an implementation admits everything, so `()`
/// is not a second limit and has no cost.
pub trait Admission {
    /// `true` if other queues share the second limit.
    const SHARED: bool = false;

    /// For the sender: returns `true` if one more object may be sent. `limit_has_room` is `true` if
    /// the queue's own limit has room. If only the second limit has no room, the queue waits for it
    /// from now on.
    fn admits(&self, limit_has_room: bool) -> bool {
        limit_has_room
    }

    /// For the sender: returns `true` if an object of `bytes` can be counted.
    fn can_charge(&self, bytes: u32) -> bool {
        let _ = bytes;
        true
    }

    /// For the sender: counts an object, before the device can see it.
    fn charge(&self, bytes: u32, now_ns: u64) {
        let _ = (bytes, now_ns);
    }

    /// For the sender: removes the object that was counted last, because the device refused it.
    fn uncharge(&self, bytes: u32) {
        let _ = bytes;
    }

    /// For the sender: counts that only the second limit had no room for a packet.
    fn note_blocked(&self) {}

    /// For the sender at the end of a run: wakes another queue if there is room.
    fn share_room(&self) {}

    /// For the completer: bytes completed.
    fn release(&self, bytes: u32, now_ns: u64) {
        let _ = (bytes, now_ns);
    }

    /// For the completer: corrects the bytes in flight after a reset or a repair.
    fn correct(&self, in_flight_bytes: u32, now_ns: u64) {
        let _ = (in_flight_bytes, now_ns);
    }

    /// For the completer, whose own limit has room: returns `true` if its queue may be woken.
    fn may_start(&self) -> bool {
        true
    }

    /// For the completer: wakes the queue that has waited longest, if there is room. Returns `true`
    /// if that is its own queue.
    fn starts_itself(&self) -> bool {
        false
    }
}

/// No second limit.
impl Admission for () {}
