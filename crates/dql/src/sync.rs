//! The atomics of this crate, or loom's when a model check is built (`--cfg loom`), so that what
//! is checked is the product's own source.

#[cfg(all(not(loom), target_has_atomic = "64"))]
pub use core::sync::atomic::AtomicU64;
#[cfg(not(loom))]
pub use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, fence};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
