//! Values in memory of the caller.

use super::status::Status;

/// A type of C whose memory holds a Rust value.
///
/// # Safety
/// The type is plain words: any bytes are a value of it.
pub(super) unsafe trait Opaque: Sized {
    type Value;
    /// Distinguishes an initialised one from any other memory.
    const MARK: u64;
    /// Fails to build if the value does not fit.
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

/// Writes `value` to `at`.
///
/// # Safety
/// `at` is null, or memory of the size of `O` without another user.
pub(super) unsafe fn put<O: Opaque>(at: *mut O, value: O::Value) -> Result<(), Status> {
    const { O::FITS };
    check(at)?;
    // SAFETY: not null, aligned, large enough as checked by `FITS`, and owned by the caller.
    unsafe {
        at.cast::<Placed<O::Value>>().write(Placed {
            mark: O::MARK,
            value,
        });
    }
    Ok(())
}

/// Returns the value at `at`.
///
/// # Safety
/// `at` is null, or memory of the size of `O` that is not written during the borrow.
pub(super) unsafe fn get<'a, O: Opaque>(at: *const O) -> Result<&'a O::Value, Status> {
    check(at)?;
    let placed = at.cast::<Placed<O::Value>>();
    // SAFETY: not null and aligned; its first word is a number with any content.
    if unsafe { (&raw const (*placed).mark).read() } != O::MARK {
        return Err(Status::NotInitialised);
    }
    // SAFETY: `put` wrote a value there, because only it writes the mark.
    Ok(unsafe { &(*placed).value })
}

/// As [`get`], to change it.
///
/// # Safety
/// `at` is null, or memory of the size of `O` without another user during the borrow.
pub(super) unsafe fn get_mut<'a, O: Opaque>(at: *mut O) -> Result<&'a mut O::Value, Status> {
    // SAFETY: the caller guarantees more than required.
    unsafe { get(at.cast_const()) }?;
    // SAFETY: as checked by `get`, and it has no other user.
    Ok(unsafe { &mut (*at.cast::<Placed<O::Value>>()).value })
}

/// Runs `work` on the value at `at`; a failure is its status.
///
/// # Safety
/// As for [`get_mut`].
pub(super) unsafe fn with<O: Opaque, T>(
    at: *mut O,
    work: impl FnOnce(&mut O::Value) -> Result<T, taut_dql::Error>,
) -> Result<T, Status> {
    // SAFETY: guaranteed by the caller.
    let value = unsafe { get_mut(at) }?;
    Ok(work(value)?)
}

pub(super) fn check<T>(at: *const T) -> Result<(), Status> {
    if at.is_null() {
        Err(Status::Null)
    } else if !at.is_aligned() {
        Err(Status::Misaligned)
    } else {
        Ok(())
    }
}

/// Reads an argument that C points to; `None` if it is null. It can have any alignment.
///
/// # Safety
/// `at` is null or points to a `T`.
pub(super) unsafe fn argument<T: Copy>(at: *const T) -> Option<T> {
    // SAFETY: not null, and a `T` as the caller guarantees, aligned or not.
    (!at.is_null()).then(|| unsafe { at.read_unaligned() })
}

/// Writes a result, if it was requested.
///
/// # Safety
/// `to` is null or points to a `T`.
pub(super) unsafe fn answer<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: required of the caller; C aligns its declarations, and other memory is checked.
        unsafe { to.write_unaligned(value) };
    }
}

/// Writes the result of a read to `to`, which must not be null.
///
/// # Safety
/// `to` is null or points to a `T`.
pub(super) unsafe fn write_result<T>(
    to: *mut T,
    read: impl FnOnce() -> Result<T, Status>,
) -> Status {
    if to.is_null() {
        return Status::Null;
    }
    // SAFETY: guaranteed by the caller.
    read().map(|value| unsafe { answer(to, value) }).into()
}
