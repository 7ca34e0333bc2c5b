//! Numbered slots whose values are lent.

use concurrent_queue::ConcurrentQueue;

/// Returns a list of free slots with all numbers below `slots`.
pub(crate) fn all_free(slots: u32) -> ConcurrentQueue<u32> {
    let free = ConcurrentQueue::bounded(slots as usize);
    for index in 0..slots {
        // Cannot fail: the list has room for all slots.
        let _ = free.push(index);
    }
    free
}

/// The value of a slot while it is lent. `Drop` returns it to its slot, even after a panic.
pub(crate) struct Lent<'a, T> {
    slot: &'a ConcurrentQueue<T>,
    /// `None` if the slot was empty.
    pub value: Option<T>,
}

impl<'a, T> Lent<'a, T> {
    pub(crate) fn from(slot: &'a ConcurrentQueue<T>) -> Self {
        let value = slot.pop().ok();
        Self { slot, value }
    }
}

impl<T> Drop for Lent<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            // Cannot fail: the slot is empty while its value is lent.
            let _ = self.slot.push(value);
        }
    }
}
