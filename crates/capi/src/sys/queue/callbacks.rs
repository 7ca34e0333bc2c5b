//! A custom limit, as functions.

use core::ffi::c_void;
use core::fmt;
use core::mem::MaybeUninit;

use taut_dql::MAX_LIMIT;
use taut_path::limit::{CompletionBatch, LimitInfo, LimitVisitor, Needs, ParseLimitError, Unit};

/// Maximum size of the state of a registered limit, in bytes: it must fit into
/// `TAUT_LIMIT_BYTES_MAX` bytes with its ledger.
pub const TAUT_LIMIT_STATE_BYTES_MAX: usize = 4096;

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

/// A limit that a program registered. The program guarantees that its functions can be called with
/// a state of `state_bytes` bytes.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) name: String,
    pub(super) help: String,
    pub(super) functions: LimitFunctions,
    pub(super) state_bytes: usize,
}

const MAX_WORDS: usize = TAUT_LIMIT_STATE_BYTES_MAX / size_of::<u128>();

impl Registered {
    pub(super) fn info(&'static self) -> LimitInfo {
        LimitInfo {
            name: &self.name,
            usage: &self.name,
            help: &self.help,
            adapts: !self.functions.in_packets,
        }
    }

    /// Passes a new limit, requested by `spec`, to `visitor`.
    pub(super) fn visit<V: LimitVisitor>(
        &'static self,
        spec: &str,
        visitor: V,
    ) -> Result<V::Output, ParseLimitError> {
        // Few sizes, because each is compiled in each form of a limit.
        match self.state_bytes.div_ceil(size_of::<u128>()) {
            0..=4 => self.info().visit(spec, self.limit::<4>(), visitor),
            5..=64 => self.info().visit(spec, self.limit::<64>(), visitor),
            _ => self.info().visit(spec, self.limit::<MAX_WORDS>(), visitor),
        }
    }

    fn limit<const WORDS: usize>(&'static self) -> OwnLimit<WORDS> {
        OwnLimit {
            registered: self,
            state: [MaybeUninit::zeroed(); WORDS],
            limit: 0,
        }
    }
}

/// A registered limit. Its state is inside, so that it can be moved and needs no heap. The state is
/// aligned for any type of C; its bytes belong to the program.
#[derive(Debug, Clone)]
struct OwnLimit<const WORDS: usize> {
    registered: &'static Registered,
    state: [MaybeUninit<u128>; WORDS],
    /// Last result of the functions, which are called only for a change of the state.
    limit: u32,
}

impl<const WORDS: usize> OwnLimit<WORDS> {
    fn state(&mut self) -> *mut c_void {
        self.state.as_mut_ptr().cast()
    }

    fn read_limit(&mut self) {
        // SAFETY: a function of the program with its state.
        let limit = (self.registered.functions.limit).map(|limit| unsafe { limit(self.state()) });
        self.limit = limit.unwrap_or(0).min(MAX_LIMIT);
    }
}

impl<const WORDS: usize> taut_path::Limit for OwnLimit<WORDS> {
    fn unit(&self) -> Unit {
        match self.registered.functions.in_packets {
            true => Unit::Packets,
            false => Unit::Bytes,
        }
    }

    fn begin(&mut self, now_ns: u64) {
        if let Some(begin) = self.registered.functions.begin {
            // SAFETY: a function of the program with its state.
            unsafe { begin(self.state(), now_ns) };
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
        // Not null: checked when it was registered.
        if let Some(completed) = self.registered.functions.completed {
            // SAFETY: a function of the program with its state.
            let limit = unsafe { completed(self.state(), &raw const batch) };
            self.limit = limit.min(MAX_LIMIT);
        }
        self.limit
    }

    fn needs(&self) -> Needs {
        Needs {
            sender: true,
            rate: true,
            ..Needs::default()
        }
    }

    fn reset(&mut self, now_ns: u64) {
        match self.registered.functions.reset {
            // SAFETY: a function of the program with its state.
            Some(reset) => unsafe { reset(self.state(), now_ns) },
            None => {
                self.state.fill(MaybeUninit::zeroed());
                return self.begin(now_ns);
            }
        }
        self.read_limit();
    }
}

impl<const WORDS: usize> fmt::Display for OwnLimit<WORDS> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.registered.name)
    }
}
