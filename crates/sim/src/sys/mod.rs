//! Memory prefetch, the only use of `unsafe` in this crate.

/// Size of a cache line, in bytes: that of every x86 since 2003.
const LINE_BYTES: usize = 64;

/// Prefetches all cache lines of `what` without waiting for them. An early read would have the same
/// effect, but later instructions could not retire before it.
#[inline(always)]
pub(crate) fn fetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    for line in 0..size_of::<T>().div_ceil(LINE_BYTES) {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

        let at = core::ptr::from_ref(what).cast::<i8>();
        // SAFETY: a prefetch neither reads nor writes, whatever the address. These addresses are
        // inside of `what`.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.wrapping_add(line * LINE_BYTES)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}
