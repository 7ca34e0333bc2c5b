//! The end of a call from Python before its work is complete.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;

/// Ends the work of a call from Python, on all of its threads.
#[derive(Default)]
pub struct Interrupt {
    /// Set when the result is not needed any more.
    is_set: AtomicBool,
    /// The first exception of a rule.
    raised: OnceLock<PyErr>,
}

thread_local! {
    /// The call that this thread works for.
    static CURRENT: RefCell<Option<Arc<Interrupt>>> = RefCell::default();
}

impl Interrupt {
    /// Ends the work. No rule is called any more.
    pub fn set(&self) {
        self.is_set.store(true, Ordering::Relaxed);
    }

    /// Returns an error after the interrupt.
    pub fn check(&self) -> io::Result<()> {
        match self.is_set.load(Ordering::Relaxed) {
            true => Err(io::Error::other("interrupted")),
            false => Ok(()),
        }
    }

    /// Runs `work`, which uses limits.
    pub fn run<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        // A rule may use another limit, so calls nest.
        let outer = CURRENT.replace(Some(Arc::clone(self)));
        let done = work();
        CURRENT.set(outer);
        done
    }

    /// Returns the exception of a rule, otherwise `done`.
    pub fn result<T>(&self, done: PyResult<T>) -> PyResult<T> {
        match self.raised.get() {
            Some(raised) => Err(Python::attach(|py| raised.clone_ref(py))),
            None => done,
        }
    }
}

/// Runs `work`, which uses limits. Returns the exception of a rule as an error.
pub fn raising<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let interrupt = Arc::<Interrupt>::default();
    let done = interrupt.run(work);
    interrupt.result(done)
}

/// Calls a rule. Returns `None` if it raised an exception, which ends the call from Python, or if
/// that was ended before.
pub fn call_rule<T>(work: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
    let current = CURRENT.with_borrow(Clone::clone).unwrap_or_default();
    current.check().ok()?;
    // Fails while the interpreter exits.
    let done = Python::try_attach(work)?;
    let keep = |raised| {
        let _ = current.raised.set(raised);
        current.set();
    };
    done.map_err(keep).ok()
}
