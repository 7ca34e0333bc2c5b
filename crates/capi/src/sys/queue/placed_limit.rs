//! Memory of the caller that holds a limit.

use core::ffi::c_void;

use taut_path::limit::{Fixed, LimitVisitor, StandaloneLimit};

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
pub(super) const ALIGN: usize = 16;

#[repr(C)]
struct PlacedLimit<L> {
    mark: u64,
    /// Finds the limit behind a pointer to this, whatever its rule.
    operations: fn(*mut Limit) -> *mut dyn Operations,
    limit: StandaloneLimit<L>,
}

/// The methods of a limit whose rule is known at run time only.
pub(super) trait Operations {
    fn queued(&mut self, units: u32, now_ns: u64) -> Result<(), taut_dql::Error>;
    fn unqueue(&mut self, units: u32) -> Result<(), taut_dql::Error>;
    fn room(&self) -> i64;
    fn blocked(&mut self);
    fn completed(
        &mut self,
        units: u32,
        more_pending: bool,
        now_ns: u64,
    ) -> Result<(), taut_dql::Error>;
    fn reset(&mut self, now_ns: u64);
    fn in_flight(&self) -> u32;
    fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, taut_dql::Error>;
    fn set_config(&mut self, config: taut_dql::Config) -> Result<(), taut_dql::Error>;
    fn rule(&self) -> &dyn taut_path::Limit;
}

impl<L: taut_path::Limit> Operations for StandaloneLimit<L> {
    fn queued(&mut self, units: u32, now_ns: u64) -> Result<(), taut_dql::Error> {
        self.queued(units, now_ns)
    }

    fn unqueue(&mut self, units: u32) -> Result<(), taut_dql::Error> {
        self.unqueue(units)
    }

    fn room(&self) -> i64 {
        self.room()
    }

    fn blocked(&mut self) {
        self.blocked();
    }

    fn completed(
        &mut self,
        units: u32,
        more_pending: bool,
        now_ns: u64,
    ) -> Result<(), taut_dql::Error> {
        self.completed(units, more_pending, now_ns)
    }

    fn reset(&mut self, now_ns: u64) {
        self.reset(now_ns);
    }

    fn in_flight(&self) -> u32 {
        self.in_flight()
    }

    fn observe_in_flight(&mut self, units: u32, now_ns: u64) -> Result<u32, taut_dql::Error> {
        self.observe_in_flight(units, now_ns)
    }

    fn set_config(&mut self, config: taut_dql::Config) -> Result<(), taut_dql::Error> {
        self.set_config(config)
    }

    fn rule(&self) -> &dyn taut_path::Limit {
        self.rule()
    }
}

/// The limit behind a pointer that [`place`] wrote for this rule.
fn operations_of<L: taut_path::Limit + 'static>(at: *mut Limit) -> *mut dyn Operations {
    // SAFETY: only `operations_at` calls this, for memory in which `place` wrote this function.
    unsafe { &raw mut (*at.cast::<PlacedLimit<L>>()).limit }
}

/// Runs `work` with the limit at a pointer, for any rule.
#[inline]
pub(super) fn with_limit<T>(
    at: *mut Limit,
    work: impl FnOnce(&mut dyn Operations) -> T,
) -> Result<T, Status> {
    // SAFETY: `place` wrote it, and no other code uses it: a requirement on the caller.
    operations_at(at).map(|at| work(unsafe { &mut *at }))
}

fn operations_at(at: *mut Limit) -> Result<*mut dyn Operations, Status> {
    if at.is_null() {
        return Err(Status::Null);
    }
    let head = at.cast::<PlacedLimit<Fixed>>();
    if !at.addr().is_multiple_of(ALIGN) {
        return Err(Status::Misaligned);
    }
    // SAFETY: not null and aligned, and the mark is a number in any memory. Every function of this
    // header requires that the memory exists.
    if unsafe { (&raw const (*head).mark).read() } != MARK {
        return Err(Status::NotInitialised);
    }
    // SAFETY: only `place` writes the mark, and with it this function.
    let operations = unsafe { (&raw const (*head).operations).read() };
    Ok(operations(at))
}

/// # Safety
/// `memory` points to `bytes` bytes of the caller.
pub(super) unsafe fn place<L: taut_path::Limit + 'static>(
    memory: *mut c_void,
    bytes: usize,
    rule: L,
    now_ns: u64,
) -> Status {
    const {
        assert!(
            align_of::<PlacedLimit<L>>() <= ALIGN
                && size_of::<PlacedLimit<L>>() <= TAUT_LIMIT_BYTES_MAX
        );
    }
    let at = memory.cast::<PlacedLimit<L>>();
    if !memory.addr().is_multiple_of(ALIGN) {
        return Status::Misaligned;
    }
    if bytes < size_of::<PlacedLimit<L>>() {
        return Status::TooSmall;
    }
    // SAFETY: aligned, large enough, and owned by the caller.
    unsafe {
        at.write(PlacedLimit {
            mark: MARK,
            operations: operations_of::<L>,
            limit: StandaloneLimit::new(rule, now_ns),
        });
    }
    Status::Ok
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
    type Output = Status;

    fn visit<L: taut_path::Limit + 'static>(self, limit: L) -> Status {
        // SAFETY: only `taut_limit_init` creates a `Place`, from memory of its caller.
        unsafe { place(self.memory, self.bytes, limit, self.now_ns) }
    }
}
