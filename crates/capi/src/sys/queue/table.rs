//! The live queues. A handle is an index and a generation, never an address, so that each value of
//! a pointer can be checked without access to the memory that it points to.

use core::cell::UnsafeCell;
use core::ptr::{null_mut, without_provenance_mut};
use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::build::Queue;
use crate::sys::status::Status;

/// A transmit queue on one thread, or under one lock. `taut_queue_new` creates it, and
/// `taut_queue_free` frees it. The pointer is a number: every function returns
/// `TAUT_STATUS_BAD_HANDLE`, or as documented, for a queue that was freed and for a pointer to
/// other memory. A call during another call for the same queue, from a callback or from another
/// thread, returns `TAUT_STATUS_BUSY` and changes nothing.
pub struct Handle {
    _opaque: (),
}

/// 65,536 queues at once, and 4,096 where a pointer has 32 bits.
const MAX_QUEUES: usize = if usize::BITS == 64 { 1 << 16 } else { 1 << 12 };

/// A handle is `generation * GENERATION + index * INDEX + IDLE`. The index is in units of a slot,
/// so that the address of the slot needs no shift.
const INDEX: usize = size_of::<Slot>();
const GENERATION: usize = MAX_QUEUES * INDEX;
const MAX_GENERATION: usize = usize::MAX / GENERATION;

/// Set in each handle, so that it never equals the address of an object. Clear in the state of a
/// slot while a call uses its queue.
const IDLE: usize = 1;

/// The state of a slot without a queue.
const VACANT: usize = 0;

struct Slot {
    /// The handle of the queue, without [`IDLE`] during a call; or [`VACANT`].
    state: AtomicUsize,
    /// From `Box::into_raw`, while `state` is not [`VACANT`].
    queue: UnsafeCell<*mut Queue>,
}

// SAFETY: only the thread that changed `state` from idle to busy, or took the slot from
// `VACANCIES`, accesses `queue`. The queue can be used by another thread, because its callbacks can
// be called from each thread that uses the queue: a requirement on the caller.
unsafe impl Sync for Slot {}

/// In memory that is zero, so that no page is used before its first queue.
static SLOTS: [Slot; MAX_QUEUES] = [const {
    Slot {
        state: AtomicUsize::new(VACANT),
        queue: UnsafeCell::new(null_mut()),
    }
}; MAX_QUEUES];

static VACANCIES: Mutex<Vacancies> = Mutex::new(Vacancies {
    unused: 0,
    freed: Vec::new(),
});

/// Slots without a queue.
struct Vacancies {
    /// The first slot that never had a queue.
    unused: usize,
    /// Handles for freed slots, each of a new generation.
    freed: Vec<usize>,
}

impl Vacancies {
    /// Returns a handle that no queue had before; `None` if all slots are in use.
    fn take(&mut self) -> Option<usize> {
        if let Some(handle) = self.freed.pop() {
            return Some(handle);
        }
        let index = self.unused;
        (index < MAX_QUEUES).then(|| {
            self.unused += 1;
            handle_of(index, 1)
        })
    }

    /// Makes the slot of `handle` available. Without another generation it is not used again,
    /// because an old handle could then be one of a new queue.
    fn give(&mut self, handle: usize) {
        let generation = handle / GENERATION;
        if generation < MAX_GENERATION {
            self.freed.push(handle_of(index_of(handle), generation + 1));
        }
    }
}

const fn handle_of(index: usize, generation: usize) -> usize {
    generation * GENERATION + index * INDEX + IDLE
}

const fn index_of(handle: usize) -> usize {
    (handle / INDEX) % MAX_QUEUES
}

/// Stores a queue, and returns its handle; `None` if all slots are in use.
pub(super) fn insert(queue: Queue) -> Option<*mut Handle> {
    let mut vacancies = VACANCIES.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = vacancies.take()?;
    let slot = &SLOTS[index_of(handle)];
    // SAFETY: the slot was vacant, and only this call took it.
    unsafe { slot.queue.get().write(Box::into_raw(Box::new(queue))) };
    slot.state.store(handle, Ordering::Release);
    Some(without_provenance_mut(handle))
}

/// Runs `work` with the queue of a handle, unless another call does so.
#[inline]
pub(super) fn enter<T>(
    handle: *mut Handle,
    work: impl FnOnce(&mut Queue) -> T,
) -> Result<T, Status> {
    let slot = begin(handle)?;
    // SAFETY: `begin` marked the slot as busy, so that it has a queue without another user.
    let done = work(unsafe { &mut **slot.queue.get() });
    slot.state.store(handle.addr(), Ordering::Release);
    Ok(done)
}

/// Runs `last` with the queue of a handle, and destroys the queue.
pub(super) fn remove(handle: *mut Handle, last: impl FnOnce(&mut Queue)) -> Status {
    let slot = match begin(handle) {
        Ok(slot) => slot,
        Err(status) => return status,
    };
    // SAFETY: `begin` marked the slot as busy, so that it has a queue without another user, and its
    // pointer is not used again.
    let mut queue = unsafe { Box::from_raw(*slot.queue.get()) };
    last(&mut queue);
    drop(queue);
    slot.state.store(VACANT, Ordering::Release);
    let mut vacancies = VACANCIES.lock().unwrap_or_else(PoisonError::into_inner);
    vacancies.give(handle.addr());
    Status::Ok
}

/// Marks the slot of a handle as busy.
#[inline]
fn begin(handle: *mut Handle) -> Result<&'static Slot, Status> {
    let handle = handle.addr();
    let slot = &SLOTS[index_of(handle)];
    let busy = handle & !IDLE;
    // An even number is not a handle, but can be the state of a slot.
    if handle == busy {
        return Err(if handle == 0 {
            Status::Null
        } else {
            Status::BadHandle
        });
    }
    let begun = (slot.state).compare_exchange(handle, busy, Ordering::Acquire, Ordering::Relaxed);
    match begun {
        Ok(_) => Ok(slot),
        Err(state) if state == busy => Err(Status::Busy),
        Err(_) => Err(Status::BadHandle),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn used_up_generations_are_not_repeated() {
        let mut vacancies = Vacancies {
            unused: 7,
            freed: Vec::new(),
        };
        vacancies.give(handle_of(3, MAX_GENERATION - 1));
        assert_eq!(vacancies.take(), Some(handle_of(3, MAX_GENERATION)));
        vacancies.give(handle_of(3, MAX_GENERATION));
        assert_eq!(vacancies.take(), Some(handle_of(7, 1)));
        vacancies.unused = MAX_QUEUES;
        assert_eq!(vacancies.take(), None);
    }
}
