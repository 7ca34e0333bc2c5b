//! The result of a call.

use core::ffi::{CStr, c_char};

use taut_dql::Error;

/// The version of this header: `taut_version_number` returns `TAUT_VERSION_NUMBER` if the library
/// has the same version. While the major version is 0, another minor version is another interface.
pub const TAUT_VERSION_MAJOR: u32 = 0;
/// See `TAUT_VERSION_MAJOR`.
pub const TAUT_VERSION_MINOR: u32 = 1;
/// See `TAUT_VERSION_MAJOR`.
pub const TAUT_VERSION_PATCH: u32 = 0;
/// The three in one number: 1,000,000 a major, 1,000 a minor version.
pub const TAUT_VERSION_NUMBER: u32 = 1_000;

const _: () = assert!(
    TAUT_VERSION_NUMBER
        == TAUT_VERSION_MAJOR * 1_000_000 + TAUT_VERSION_MINOR * 1_000 + TAUT_VERSION_PATCH
);

/// The result of a call: 0, or why it changed nothing (`taut_queue_complete` has two exceptions).
/// Numbers do not change their meaning.
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success.
    Ok = 0,
    /// A required pointer is null.
    Null = -1,
    /// The object was not initialised, or its memory was overwritten.
    NotInitialised = -2,
    /// The memory is not aligned as required.
    Misaligned = -3,
    /// The memory is too small.
    TooSmall = -4,
    /// An object of more than 2^28 - 1 units.
    ObjectTooLarge = -5,
    /// 2^31 units or more would be in flight.
    TooMuchInFlight = -6,
    /// More was completed than is in flight.
    OverCompletion = -7,
    /// Only the object queued last can be removed, and only once.
    NotQueuedLast = -8,
    /// It was completed before it was removed.
    AlreadyCompleted = -9,
    /// A limit of more than 1,879,048,192 units.
    LimitTooLarge = -10,
    /// The lower bound is above the upper one.
    MinAboveMax = -11,
    /// Not used: `taut_split` initialises any memory. Earlier halves of it must not be used.
    AlreadySplit = -12,
    /// The halves are of different queues.
    DifferentQueues = -13,
    /// Unknown discipline, limit or setting; the text lists the allowed ones.
    BadSpec = -14,
    /// The number of a frame is not below the number of frames.
    FrameOutOfRange = -15,
    /// The frame is in the queue already.
    FrameInUse = -16,
    /// The driver's callback failed.
    DriverFailed = -17,
    /// The driver returned frames that are not in the ring.
    UnknownCompletion = -18,
    /// The queue is in a call already, of a callback or of another thread.
    Busy = -19,
    /// Any other error.
    Other = -20,
    /// A field has a value that its comment does not allow, such as one that must be 0.
    BadField = -21,
    /// Another limit has this name.
    NameTaken = -22,
    /// A name of a limit is a letter, followed by letters, digits, "-" and "_".
    BadName = -23,
    /// A state of more than `TAUT_LIMIT_STATE_BYTES_MAX` bytes.
    StateTooLarge = -24,
    /// The queue was freed, or the pointer is not a queue.
    BadHandle = -25,
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        match error {
            Error::ObjectTooLarge { .. } => Self::ObjectTooLarge,
            Error::TooMuchInFlight { .. } | Error::RepairTooLarge { .. } => Self::TooMuchInFlight,
            Error::OverCompletion { .. } | Error::ObservedAboveInFlight { .. } => {
                Self::OverCompletion
            }
            Error::NotQueuedLast { .. } => Self::NotQueuedLast,
            Error::AlreadyCompleted { .. } => Self::AlreadyCompleted,
            Error::LimitTooLarge { .. } => Self::LimitTooLarge,
            Error::MinAboveMax { .. } => Self::MinAboveMax,
            Error::AlreadySplit => Self::AlreadySplit,
            Error::DifferentQueues => Self::DifferentQueues,
            _ => Self::Other,
        }
    }
}

impl<E: Into<Status>> From<Result<(), E>> for Status {
    fn from(done: Result<(), E>) -> Self {
        done.err().map_or(Self::Ok, E::into)
    }
}

const TEXTS: [&CStr; 26] = [
    c"ok",
    c"null pointer",
    c"not initialised, or overwritten",
    c"memory is not aligned",
    c"memory is too small",
    c"object too large: at most 268435455 units",
    c"2^31 units or more would be in flight",
    c"more completed than is in flight",
    c"only the object queued last can be removed, once",
    c"already completed",
    c"limit too large: at most 1879048192 units",
    c"the lower bound is above the upper bound",
    c"already split",
    c"the halves are of different queues",
    c"unknown discipline, limit or setting",
    c"frame number out of range",
    c"frame is in the queue already",
    c"the driver's callback failed",
    c"the driver returned frames that are not in the ring",
    c"the queue is in a call already",
    c"other error",
    c"a field has a value that is not allowed",
    c"another limit has this name",
    c"a name is a letter, followed by letters, digits, - and _",
    c"state too large: at most 4096 bytes",
    c"the queue was freed, or the pointer is not a queue",
];

/// Returns the meaning of a status, in English; never null, and never to be freed. Any thread can
/// call it.
#[unsafe(no_mangle)]
pub extern "C" fn taut_status_text(status: i32) -> *const c_char {
    text(status).as_ptr()
}

/// Returns the text of [`taut_status_text`].
pub(super) fn text(status: i32) -> &'static CStr {
    let text = usize::try_from(-i64::from(status)).ok();
    let text = text.and_then(|at| TEXTS.get(at).copied());
    text.unwrap_or(c"unknown status")
}

/// Returns the version of the library, such as "0.1.0"; never to be freed. Any thread can call it.
#[unsafe(no_mangle)]
pub extern "C" fn taut_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Returns the version of the library in the form of `TAUT_VERSION_NUMBER`. Any thread can call it.
#[unsafe(no_mangle)]
pub extern "C" fn taut_version_number() -> u32 {
    TAUT_VERSION_NUMBER
}
