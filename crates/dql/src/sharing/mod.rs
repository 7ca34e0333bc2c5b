//! The cells in which the two halves of a queue share numbers: plain cells on one thread, atomics
//! on two. Code that is generic over [`Sharing`] serves both variants.

use core::cell::Cell;
use core::fmt::Debug;
use core::ops::Deref;

#[cfg(all(target_has_atomic = "8", target_has_atomic = "32"))]
mod threads;

#[cfg(all(target_has_atomic = "8", target_has_atomic = "32"))]
pub use threads::Threads;

/// One way of sharing.
pub trait Sharing: Debug + Default + Sized + 'static {
    /// A number with one writer, unless a method says otherwise.
    type Word: Word;
    /// A time in ns, or a counter, with one writer.
    type Wide: Wide;
    /// The numbers that one half writes: a cache line of its own if another thread reads them.
    type Line<T>: Deref<Target = T> + From<T>;
    /// `true` if another thread can see or change the queue.
    const SHARED: bool;

    /// Orders every earlier write before every later read, also as another thread sees them.
    fn full_fence();
}

/// A number of 32 bits, 0 by default.
pub trait Word: Debug + Default {
    /// A word that holds `value`.
    fn new(value: u32) -> Self;
    /// Returns the value, which might be an old one.
    fn load(&self) -> u32;
    /// Returns the value. Everything that its writer wrote before it is visible afterwards.
    fn load_acquire(&self) -> u32;
    /// Stores the value.
    fn store(&self, value: u32);
    /// Stores the value after everything that this thread wrote before.
    fn store_release(&self, value: u32);
    /// Adds to the value, wrapping. Any thread can call it.
    fn add(&self, value: u32);
    /// Sets bits of the value. Any thread can call it.
    fn set_bits(&self, bits: u32);
    /// Returns the value and stores 0. Any thread can call it.
    fn take(&self) -> u32;
    /// Replaces 1 by 0, by any thread. Returns `true` if it was 1; another value is not written.
    fn clear_one(&self) -> bool;
}

/// A number of 64 bits with one writer, 0 by default.
pub trait Wide: Debug + Default {
    /// A number that holds `value`.
    fn new(value: u64) -> Self;
    /// Returns the value. Everything that its writer wrote before it is visible afterwards.
    fn load(&self) -> u64;
    /// Stores the value. Only the writer may call it.
    fn store(&self, value: u64);
}

/// One thread, or one lock, owns both halves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Local;

/// A value without alignment of its own.
#[derive(Clone, Debug)]
pub struct Packed<T>(pub(crate) T);

/// A value on cache lines of its own. 128 and not 64 bytes: x86 fetches lines in adjacent pairs,
/// and some arm64 lines have 128 bytes.
#[derive(Debug)]
#[repr(align(128))]
pub struct CacheAligned<T>(pub(crate) T);

macro_rules! line {
    ($($line:ident),*) => {$(
        impl<T> From<T> for $line<T> {
            #[inline]
            fn from(value: T) -> Self {
                Self(value)
            }
        }

        impl<T> Deref for $line<T> {
            type Target = T;

            #[inline]
            fn deref(&self) -> &T {
                &self.0
            }
        }
    )*};
}

line!(Packed, CacheAligned);

impl Sharing for Local {
    type Word = Cell<u32>;
    type Wide = Cell<u64>;
    type Line<T> = Packed<T>;
    const SHARED: bool = false;

    #[inline]
    fn full_fence() {}
}

impl Word for Cell<u32> {
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

    #[inline]
    fn set_bits(&self, bits: u32) {
        self.set(self.get() | bits);
    }

    #[inline]
    fn take(&self) -> u32 {
        self.replace(0)
    }

    #[inline]
    fn clear_one(&self) -> bool {
        self.get() == 1 && self.replace(0) == 1
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
