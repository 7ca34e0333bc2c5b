//! How the two halves of a queue see each other's numbers: as plain cells when one thread owns
//! both, as atomics when two threads do. One source for both variants of the queue.

use core::cell::Cell;
use core::fmt::Debug;

use taut_dql::sync::{AtomicBool, AtomicU32, Ordering, Written64, fence};

/// One way of sharing.
pub trait Sharing: Debug + Sized + 'static {
    /// A number with one writer, unless a method says otherwise.
    type Number: Number;
    /// A flag that both sides write.
    type Flag: Flag;
    /// A time in ns, or a counter, with one writer.
    type Wide: Wide;
    /// Whether anybody but the owner of both halves can look at the queue, ask something of it, or
    /// share a budget with it.
    const OBSERVED: bool;

    /// Orders every write before it against every read after it, also for the other thread.
    fn full_fence();
}

/// A number of 32 bits.
pub trait Number: Debug {
    /// With a value to begin with.
    fn new(value: u32) -> Self;
    /// The value, perhaps an old one.
    fn load(&self) -> u32;
    /// The value, and with it all that its writer wrote before it.
    fn load_acquire(&self) -> u32;
    /// Writes it.
    fn store(&self, value: u32);
    /// Writes it after everything that was written before.
    fn store_release(&self, value: u32);
    /// Adds to it, wrapping; any thread may.
    fn add(&self, value: u32);
}

/// A flag.
pub trait Flag: Debug {
    /// With a value to begin with.
    fn new(value: bool) -> Self;
    /// The value, and with it all that its writer wrote before it.
    fn load(&self) -> bool;
    /// Writes it after everything that was written before.
    fn store(&self, value: bool);
    /// Writes it and returns what it was.
    fn swap(&self, value: bool) -> bool;
}

/// A number of 64 bits.
pub trait Wide: Debug {
    /// With a value to begin with.
    fn new(value: u64) -> Self;
    /// The value.
    fn load(&self) -> u64;
    /// Writes it.
    fn store(&self, value: u64);
}

/// One thread has both halves.
#[derive(Debug)]
pub struct Owned;

/// Each half may be on a thread of its own.
#[derive(Debug)]
pub struct Threads;

impl Sharing for Owned {
    type Number = Cell<u32>;
    type Flag = Cell<bool>;
    type Wide = Cell<u64>;
    const OBSERVED: bool = false;

    #[inline]
    fn full_fence() {}
}

impl Sharing for Threads {
    type Number = AtomicU32;
    type Flag = AtomicBool;
    type Wide = Written64;
    const OBSERVED: bool = true;

    #[inline]
    fn full_fence() {
        fence(Ordering::SeqCst);
    }
}

/// The broken variant that a model check must catch: nothing orders a write against the look that
/// follows it.
#[cfg(loom)]
#[derive(Debug)]
pub struct Unfenced;

#[cfg(loom)]
impl Sharing for Unfenced {
    type Number = AtomicU32;
    type Flag = AtomicBool;
    type Wide = Written64;
    const OBSERVED: bool = true;

    fn full_fence() {}
}

impl Number for Cell<u32> {
    fn new(value: u32) -> Self {
        Cell::new(value)
    }

    #[inline]
    fn load(&self) -> u32 {
        self.get()
    }

    #[inline]
    fn load_acquire(&self) -> u32 {
        self.get()
    }

    #[inline]
    fn store(&self, value: u32) {
        self.set(value);
    }

    #[inline]
    fn store_release(&self, value: u32) {
        self.set(value);
    }

    #[inline]
    fn add(&self, value: u32) {
        self.set(self.get().wrapping_add(value));
    }
}

impl Number for AtomicU32 {
    fn new(value: u32) -> Self {
        AtomicU32::new(value)
    }

    #[inline]
    fn load(&self) -> u32 {
        AtomicU32::load(self, Ordering::Relaxed)
    }

    #[inline]
    fn load_acquire(&self) -> u32 {
        AtomicU32::load(self, Ordering::Acquire)
    }

    #[inline]
    fn store(&self, value: u32) {
        AtomicU32::store(self, value, Ordering::Relaxed);
    }

    #[inline]
    fn store_release(&self, value: u32) {
        AtomicU32::store(self, value, Ordering::Release);
    }

    #[inline]
    fn add(&self, value: u32) {
        self.fetch_add(value, Ordering::AcqRel);
    }
}

impl Flag for Cell<bool> {
    fn new(value: bool) -> Self {
        Cell::new(value)
    }

    #[inline]
    fn load(&self) -> bool {
        self.get()
    }

    #[inline]
    fn store(&self, value: bool) {
        self.set(value);
    }

    #[inline]
    fn swap(&self, value: bool) -> bool {
        self.replace(value)
    }
}

impl Flag for AtomicBool {
    fn new(value: bool) -> Self {
        AtomicBool::new(value)
    }

    #[inline]
    fn load(&self) -> bool {
        AtomicBool::load(self, Ordering::Acquire)
    }

    #[inline]
    fn store(&self, value: bool) {
        AtomicBool::store(self, value, Ordering::Release);
    }

    #[inline]
    fn swap(&self, value: bool) -> bool {
        AtomicBool::swap(self, value, Ordering::AcqRel)
    }
}

impl Wide for Cell<u64> {
    fn new(value: u64) -> Self {
        Cell::new(value)
    }

    #[inline]
    fn load(&self) -> u64 {
        self.get()
    }

    #[inline]
    fn store(&self, value: u64) {
        self.set(value);
    }
}

impl Wide for Written64 {
    fn new(value: u64) -> Self {
        Written64::new(value)
    }

    #[inline]
    fn load(&self) -> u64 {
        Written64::load(self)
    }

    #[inline]
    fn store(&self, value: u64) {
        Written64::store(self, value);
    }
}
