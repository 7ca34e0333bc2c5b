//! Memory of the caller that holds a limit.

use core::ffi::c_void;

use taut_path::limit::{Fixed, LimitVisitor, StandaloneLimit};

use crate::sys::placed::check;
use crate::sys::status::Status;

/// A rule chosen by its name, with its ledger, for one thread or one lock. It is placed in memory
/// of the caller, can be moved by copying while no call uses it, and needs no freeing.
pub struct Limit {
    _opaque: (),
}

/// Bytes that are enough for any limit, for memory that is allocated before its name is known.
pub const TAUT_LIMIT_BYTES_MAX: usize = 8192;

const MARK: u64 = u64::from_be_bytes(*b"taut lim");
/// Enough for every rule, and what `malloc` gives.
#[repr(align(16))]
struct Aligned;

pub(super) const ALIGN: usize = align_of::<Aligned>();

#[repr(C)]
struct PlacedLimit<L> {
    mark: u64,
    /// Finds the limit behind a pointer to this, whatever its rule.
    erase_rule: fn(*mut Limit) -> *mut AnyRule,
    limit: StandaloneLimit<L>,
}

/// A limit of any rule.
type AnyRule = StandaloneLimit<dyn taut_path::Limit>;

/// The limit behind a pointer that [`place`] wrote for this rule.
fn erase_rule<L: taut_path::Limit + 'static>(at: *mut Limit) -> *mut AnyRule {
    // SAFETY: only `limit_at` calls this, for memory in which `place` wrote this function.
    unsafe { &raw mut (*at.cast::<PlacedLimit<L>>()).limit }
}

/// Runs `work` with the limit at a pointer, for any rule.
#[inline]
pub(super) fn with_limit<T>(
    at: *mut Limit,
    work: impl FnOnce(&mut AnyRule) -> T,
) -> Result<T, Status> {
    // SAFETY: `place` wrote it, and no other code uses it: a requirement on the caller.
    limit_at(at).map(|at| work(unsafe { &mut *at }))
}

fn limit_at(at: *mut Limit) -> Result<*mut AnyRule, Status> {
    check(at.cast::<Aligned>())?;
    let head = at.cast::<PlacedLimit<Fixed>>();
    // SAFETY: not null and aligned, and the mark is a number in any memory. Every function of this
    // header requires that the memory exists.
    if unsafe { (&raw const (*head).mark).read() } != MARK {
        return Err(Status::NotInitialised);
    }
    // SAFETY: only `place` writes the mark, and with it this function.
    let erase_rule = unsafe { (&raw const (*head).erase_rule).read() };
    Ok(erase_rule(at))
}

/// # Safety
/// `memory` points to `bytes` bytes of the caller.
unsafe fn place<L: taut_path::Limit + 'static>(
    memory: *mut c_void,
    bytes: usize,
    rule: L,
    now_ns: u64,
) -> Result<(), Status> {
    const {
        assert!(
            align_of::<PlacedLimit<L>>() <= ALIGN
                && size_of::<PlacedLimit<L>>() <= TAUT_LIMIT_BYTES_MAX
        );
    }
    check(memory.cast::<Aligned>())?;
    if bytes < size_of::<PlacedLimit<L>>() {
        return Err(Status::TooSmall);
    }
    // SAFETY: aligned, large enough, and owned by the caller.
    unsafe {
        memory.cast::<PlacedLimit<L>>().write(PlacedLimit {
            mark: MARK,
            erase_rule: erase_rule::<L>,
            limit: StandaloneLimit::new(rule, now_ns),
        });
    }
    Ok(())
}

/// Measures a limit.
pub(super) struct Size;

impl LimitVisitor for Size {
    type Output = usize;

    fn visit<L: taut_path::Limit>(self, _limit: L) -> usize {
        size_of::<PlacedLimit<L>>()
    }
}

/// Places a limit in memory of the caller.
pub(super) struct Place {
    pub(super) memory: *mut c_void,
    pub(super) bytes: usize,
    pub(super) now_ns: u64,
}

impl LimitVisitor for Place {
    type Output = Result<(), Status>;

    fn visit<L: taut_path::Limit + 'static>(self, limit: L) -> Result<(), Status> {
        // SAFETY: only `taut_limit_init` creates a `Place`, from memory of its caller.
        unsafe { place(self.memory, self.bytes, limit, self.now_ns) }
    }
}
