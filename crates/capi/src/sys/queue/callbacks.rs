//! A custom limit, as functions.

use core::ffi::c_void;

use taut_dql::MAX_LIMIT;
use taut_path::limit::{CompletionBatch, Needs, Unit};

/// A completion batch, for the functions of a limit. Units are bytes, or packets.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LimitBatch {
    /// The time of the batch.
    pub now_ns: u64,
    /// The rate of the device in units per second; 0 while it is unknown.
    pub rate_per_s: u64,
    /// Units completed: at most `in_flight`, and 0 only to close a reap with `more_pending`.
    pub units: u32,
    /// Units in flight before the batch.
    pub in_flight: u32,
    /// Size of the object queued last, in units.
    pub last_object: u32,
    /// Times that the sender was blocked: it had something to send and no room. Wraps.
    pub times_blocked: u32,
    /// Maximum units that the ring holds, less one object, while it stops the sender before the
    /// limit does; 4294967295 otherwise.
    pub ring_units: u32,
    /// The reap stopped at its budget with completions pending.
    pub more_pending: bool,
}

/// A custom limit, as functions. Each receives the state of its limit. They must not call the limit
/// that they belong to, and must return: no exception and no `longjmp` can leave them.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct LimitFunctions {
    /// The state for `taut_limit_init_functions`, which must stay valid as long as the limit is
    /// used; null for `taut_limit_register`.
    pub context: *mut c_void,
    /// Starts a new limit. Can be null.
    pub begin: Option<unsafe extern "C" fn(state: *mut c_void, now_ns: u64)>,
    /// Returns the limit in units. It is called after `begin` and after `reset`. One more object
    /// can be queued while the limit is not exceeded, so that 0 admits single objects. The maximum
    /// is `TAUT_LIMIT_MAX`, to which larger values are clamped.
    pub limit: Option<unsafe extern "C" fn(state: *mut c_void) -> u32>,
    /// Processes a completion batch. Returns the limit from now on, as `limit` does.
    pub completed:
        Option<unsafe extern "C" fn(state: *mut c_void, batch: *const LimitBatch) -> u32>,
    /// Discards all history: nothing is in flight any more.
    pub reset: Option<unsafe extern "C" fn(state: *mut c_void, now_ns: u64)>,
    /// It counts packets, not bytes.
    pub in_packets: bool,
}

impl LimitFunctions {
    /// Returns the functions without their context; `None` if `completed` is null.
    pub(super) fn callbacks(&self) -> Option<Callbacks> {
        Some(Callbacks {
            begin: self.begin,
            limit: self.limit,
            completed: self.completed?,
            reset: self.reset,
            in_packets: self.in_packets,
        })
    }
}

/// The functions of a limit. The caller who passed them guarantees that they can be called with a
/// state of theirs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Callbacks {
    begin: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    limit: Option<unsafe extern "C" fn(*mut c_void) -> u32>,
    completed: unsafe extern "C" fn(*mut c_void, *const LimitBatch) -> u32,
    reset: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    pub(super) in_packets: bool,
}

/// The memory used by the functions of one limit.
pub(super) trait State {
    /// Returns a pointer to it.
    fn pointer(&mut self) -> *mut c_void;

    /// Restores the initial content, if the limit owns it.
    fn clear(&mut self);
}

/// The state of `taut_limit_init_functions`, owned by the program.
pub(super) struct Context(pub(super) *mut c_void);

impl State for Context {
    fn pointer(&mut self) -> *mut c_void {
        self.0
    }

    fn clear(&mut self) {}
}

/// The rule of [`Callbacks`].
#[derive(Debug, Clone)]
pub(super) struct OwnLimit<S> {
    callbacks: Callbacks,
    pub(super) state: S,
    /// Last result of the functions, which are called only for a change of the state.
    limit: u32,
}

impl<S: State> OwnLimit<S> {
    pub(super) fn new(callbacks: Callbacks, state: S) -> Self {
        Self {
            callbacks,
            state,
            limit: 0,
        }
    }

    fn read_limit(&mut self) {
        // SAFETY: a function of the program with its state.
        let limit = (self.callbacks.limit).map(|limit| unsafe { limit(self.state.pointer()) });
        self.limit = limit.unwrap_or(0).min(MAX_LIMIT);
    }
}

impl<S: State> taut_path::Limit for OwnLimit<S> {
    fn unit(&self) -> Unit {
        match self.callbacks.in_packets {
            true => Unit::Packets,
            false => Unit::Bytes,
        }
    }

    fn begin(&mut self, now_ns: u64) {
        if let Some(begin) = self.callbacks.begin {
            // SAFETY: a function of the program with its state.
            unsafe { begin(self.state.pointer(), now_ns) };
        }
        self.read_limit();
    }

    fn limit(&self) -> u32 {
        self.limit
    }

    fn completed(&mut self, batch: &CompletionBatch) -> u32 {
        let batch = LimitBatch {
            now_ns: batch.now_ns,
            rate_per_s: batch.rate_per_s,
            units: batch.units,
            in_flight: batch.in_flight,
            last_object: batch.last_object,
            times_blocked: batch.times_blocked,
            ring_units: batch.ring_units,
            more_pending: batch.more_pending,
        };
        // SAFETY: a function of the program with its state.
        let limit = unsafe { (self.callbacks.completed)(self.state.pointer(), &raw const batch) };
        self.limit = limit.min(MAX_LIMIT);
        self.limit
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            rate: true,
            ..Needs::NOTHING
        }
    }

    fn reset(&mut self, now_ns: u64) {
        match self.callbacks.reset {
            // SAFETY: a function of the program with its state.
            Some(reset) => unsafe { reset(self.state.pointer(), now_ns) },
            None => {
                self.state.clear();
                return self.begin(now_ns);
            }
        }
        self.read_limit();
    }
}
