//! The atomics of this crate, or those of loom in a model check (`--cfg loom`), so that the model
//! checks the product's own source. Not part of the public interface.

#[cfg(any(loom, all(target_has_atomic = "32", not(target_has_atomic = "64"))))]
mod two_slots;

#[cfg(all(not(loom), target_has_atomic = "8"))]
pub use core::sync::atomic::AtomicBool;
#[cfg(all(not(loom), target_has_atomic = "32"))]
pub use core::sync::atomic::AtomicU32;
#[cfg(all(not(loom), target_has_atomic = "64"))]
pub use core::sync::atomic::AtomicU64;
#[cfg(all(not(loom), target_has_atomic = "ptr"))]
pub use core::sync::atomic::AtomicUsize;
#[cfg(not(loom))]
pub use core::sync::atomic::{Ordering, fence};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// A `u64` with one writer and any number of readers.
// Models of other types use the single atomic; `TwoSlots` has models of its own.
#[cfg(any(loom, target_has_atomic = "64"))]
pub use self::AtomicU64 as SingleWriterU64;
#[cfg(all(not(loom), target_has_atomic = "32", not(target_has_atomic = "64")))]
pub use two_slots::TwoSlots as SingleWriterU64;

#[cfg(loom)]
pub use two_slots::TwoSlots;
