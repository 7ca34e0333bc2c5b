//! What stands in memory of the caller's.

use super::status::Status;

/// A type of C whose memory holds a value of ours.
///
/// # Safety
/// The type is plain words: any bytes are a value of it.
pub(super) unsafe trait Opaque: Sized {
    type Value;
    /// Tells an initialised one from any other memory.
    const MARK: u64;
    /// Fails to build where the value does not fit.
    const FITS: () = assert!(
        size_of::<Placed<Self::Value>>() <= size_of::<Self>()
            && align_of::<Placed<Self::Value>>() <= align_of::<Self>()
    );
}

#[repr(C)]
pub(super) struct Placed<T> {
    mark: u64,
    value: T,
}

/// Puts `value` where `at` points to.
///
/// # Safety
/// `at` is null, or memory of the size of `O` that nobody else uses.
pub(super) unsafe fn put<O: Opaque>(at: *mut O, value: O::Value) -> Status {
    const { O::FITS };
    if let Err(status) = check(at) {
        return status;
    }
    // SAFETY: not null, aligned, large enough as `FITS` says, and the caller's to give.
    unsafe {
        at.cast::<Placed<O::Value>>().write(Placed {
            mark: O::MARK,
            value,
        });
    }
    Status::Ok
}

/// The value where `at` points to.
///
/// # Safety
/// `at` is null, or memory of the size of `O` that nobody writes while the borrow lasts.
pub(super) unsafe fn get<'a, O: Opaque>(at: *const O) -> Result<&'a O::Value, Status> {
    check(at)?;
    let placed = at.cast::<Placed<O::Value>>();
    // SAFETY: not null and aligned; its first word is a number whatever it holds.
    if unsafe { (&raw const (*placed).mark).read() } != O::MARK {
        return Err(Status::NotInitialised);
    }
    // SAFETY: `put` wrote a value there, for only it writes the mark.
    Ok(unsafe { &(*placed).value })
}

/// As [`get`], to change it.
///
/// # Safety
/// `at` is null, or memory of the size of `O` that nobody else uses while the borrow lasts.
pub(super) unsafe fn get_mut<'a, O: Opaque>(at: *mut O) -> Result<&'a mut O::Value, Status> {
    // SAFETY: the caller's promise is the stronger one.
    unsafe { get(at.cast_const()) }?;
    // SAFETY: as `get` found out, and nobody else uses it.
    Ok(unsafe { &mut (*at.cast::<Placed<O::Value>>()).value })
}

fn check<T>(at: *const T) -> Result<(), Status> {
    if at.is_null() {
        Err(Status::Null)
    } else if !at.is_aligned() {
        Err(Status::Misaligned)
    } else {
        Ok(())
    }
}

/// An argument that C points to; `None` where it is null. C may have laid it anywhere.
///
/// # Safety
/// `at` is null or points to a `T`.
pub(super) unsafe fn argument<T: Copy>(at: *const T) -> Option<T> {
    // SAFETY: not null, and a `T` as the caller promises, aligned or not.
    (!at.is_null()).then(|| unsafe { at.read_unaligned() })
}

/// Writes an answer, where one is wanted.
///
/// # Safety
/// `to` is null or points to a `T`.
pub(super) unsafe fn answer<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: required of the caller; C aligns what it declares, and other memory is checked.
        unsafe { to.write_unaligned(value) };
    }
}
