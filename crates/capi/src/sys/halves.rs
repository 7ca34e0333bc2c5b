//! Linux's rule for two threads: one queues, the other completes.

use taut_dql::{Completer as CompleterOf, Sender as SenderOf, Shared as SharedState};

use super::placed::{Opaque, answer, check, get, get_mut, put, with, write_result};
use super::snapshot::{Config, Snapshot, config_at, config_or_default};
use super::status::Status;

/// Words of the shared state, of the sender and of the completer.
pub const TAUT_SHARED_WORDS: usize = 80;
/// See `TAUT_SHARED_WORDS`.
pub const TAUT_SENDER_WORDS: usize = 8;
/// See `TAUT_SHARED_WORDS`.
pub const TAUT_COMPLETER_WORDS: usize = 24;

/// The state that the halves share. It must stay in place while either half is used, and each half
/// writes its own lines of 128 bytes in it.
#[repr(C, align(128))]
pub struct Shared {
    opaque: [u64; TAUT_SHARED_WORDS],
}

/// The half of the thread that queues. It can be copied to another place, but only one copy can be
/// used.
#[repr(C)]
pub struct Sender {
    opaque: [u64; TAUT_SENDER_WORDS],
}

/// The half of the thread that reaps. It can be copied to another place, but only one copy can be
/// used.
#[repr(C)]
pub struct Completer {
    opaque: [u64; TAUT_COMPLETER_WORDS],
}

// SAFETY: plain words.
unsafe impl Opaque for Shared {
    type Value = SharedState;
    const MARK: u64 = u64::from_be_bytes(*b"taut sha");
}

// SAFETY: plain words.
unsafe impl Opaque for Sender {
    type Value = SenderOf<&'static SharedState>;
    const MARK: u64 = u64::from_be_bytes(*b"taut sen");
}

// SAFETY: plain words.
unsafe impl Opaque for Completer {
    type Value = CompleterOf<&'static SharedState>;
    const MARK: u64 = u64::from_be_bytes(*b"taut com");
}

/// Creates the two halves of a queue, with the settings of `config`, or the defaults if it is null.
///
/// The caller stops and starts the sender. A sender that stops writes its flag, issues a full fence
/// (`atomic_thread_fence(memory_order_seq_cst)`) and reads the room again. A completer issues a
/// fence after `taut_completer_completed`, before it reads the room and the flag.
///
/// # Safety
/// Each points to the type in its declaration; `config` can be null. Earlier halves of `shared` are
/// no longer used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_split(
    shared: *mut Shared,
    config: *const Config,
    now_ns: u64,
    sender: *mut Sender,
    completer: *mut Completer,
) -> Status {
    let split = || {
        // Nothing is changed if one of them is rejected.
        check(sender)?;
        check(completer)?;
        // SAFETY: null, or valid as the caller guarantees.
        let config = unsafe { config_or_default(config) }?;
        config.validate()?;
        // SAFETY: guaranteed by the caller.
        unsafe { put(shared, SharedState::new()) }?;
        // SAFETY: it was just placed there, and stays there while a half is used.
        let state: &'static SharedState = unsafe { get(shared) }?;
        let (tx, rx) = taut_dql::split(state, config, now_ns)?;
        // SAFETY: guaranteed by the caller.
        unsafe { put(sender, tx) }?;
        // SAFETY: guaranteed by the caller.
        unsafe { put(completer, rx) }
    };
    split().into()
}

/// As `taut_dql_queued`, from the sending thread.
///
/// # Safety
/// `sender` points to a `taut_sender`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_sender_queued(sender: *mut Sender, units: u32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { with(sender, |it| it.queued(units)) }.into()
}

/// As `taut_dql_unqueue`, from the sending thread.
///
/// # Safety
/// `sender` points to a `taut_sender`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_sender_unqueue(sender: *mut Sender, units: u32) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { with(sender, |it| it.unqueue(units)) }.into()
}

/// As `taut_dql_room`, from the sending thread. The other thread can change it at any time.
///
/// # Safety
/// `sender` points to a `taut_sender`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_sender_room(sender: *const Sender) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe { get(sender) }.map_or(i32::MIN, |it| it.room())
}

/// As `taut_dql_completed`, from the completing thread.
///
/// # Safety
/// `completer` points to a `taut_completer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_completer_completed(
    completer: *mut Completer,
    units: u32,
    now_ns: u64,
) -> Status {
    // SAFETY: guaranteed by the caller.
    unsafe { with(completer, |it| it.completed(units, now_ns)) }.into()
}

/// As `taut_dql_observe_in_flight`, from the completing thread. The level must be read while no
/// object is between `taut_sender_queued` and the device: hold one lock around both.
///
/// # Safety
/// `completer` points to a `taut_completer`, `completed` to a number if it is not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_completer_observe_in_flight(
    completer: *mut Completer,
    units: u32,
    now_ns: u64,
    completed: *mut u32,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let done = unsafe { with(completer, |it| it.observe_in_flight(units, now_ns)) };
    // SAFETY: guaranteed by the caller.
    done.map(|units| unsafe { answer(completed, units) }).into()
}

/// Sets limit, bounds and hold time explicitly, from the completing thread. Contradictory settings
/// are all rejected.
///
/// # Safety
/// `completer` points to a `taut_completer`, `config` to a `taut_config`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_completer_set_config(
    completer: *mut Completer,
    config: *const Config,
) -> Status {
    let set = || {
        // SAFETY: guaranteed by the caller.
        let config = unsafe { config_at(config) }?;
        // SAFETY: guaranteed by the caller.
        unsafe { with(completer, |it| it.set_config(config)) }
    };
    set().into()
}

/// As `taut_dql_room`, from the completing thread, to check whether a stopped sender can continue.
///
/// # Safety
/// `completer` points to a `taut_completer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_completer_room(completer: *const Completer) -> i32 {
    // SAFETY: guaranteed by the caller.
    unsafe { get(completer) }.map_or(i32::MIN, |it| it.room())
}

/// As `taut_dql_read`, from the completing thread.
///
/// # Safety
/// `completer` points to a `taut_completer`, `snapshot` to a `taut_snapshot`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_completer_read(
    completer: *const Completer,
    snapshot: *mut Snapshot,
) -> Status {
    // SAFETY: guaranteed by the caller.
    let read = || Ok(unsafe { get(completer) }?.snapshot().into());
    // SAFETY: guaranteed by the caller.
    unsafe { write_result(snapshot, read) }
}

/// As `taut_dql_reset`, while neither thread queues or completes.
///
/// # Safety
/// Each points to the type in its declaration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn taut_halves_reset(
    sender: *mut Sender,
    completer: *mut Completer,
    now_ns: u64,
) -> Status {
    let reset = || {
        // SAFETY: guaranteed by the caller; they are different types, so different memory.
        let (tx, rx) = unsafe { (get_mut(sender)?, get_mut(completer)?) };
        Ok::<_, Status>(rx.reset(tx, now_ns)?)
    };
    reset().into()
}
