//! Work that may be interrupted, and what was finished by then.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

pub use taut_linux::interrupt::{Interrupt, note, noted};

/// How often to look: nobody feels a longer wait after Ctrl-C.
const LOOK: Duration = Duration::from_millis(20);

/// The stack that the main thread has as a rule.
const STACK_BYTES: usize = 8 << 20;

/// Does `work` on a thread of its own, until it is done or somebody asks the process to end. Then the
/// thread is left behind: it ends with the process, and what it finished must be somewhere else.
pub fn watch<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Result<T, Interrupt>> {
    note()?;
    let (send, done) = channel();
    let worker = thread::Builder::new()
        .name("run".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // Nobody listens any more after an interrupt.
            let _ = send.send(work());
        })?;
    loop {
        match done.recv_timeout(LOOK) {
            Ok(result) => return Ok(Ok(result)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("it sends before it ends"),
            },
        }
        if let Some(interrupt) = noted() {
            return Ok(Err(interrupt));
        }
    }
}

/// What was finished so far, on whichever thread.
#[derive(Debug)]
pub struct Finished<T>(Arc<Mutex<Vec<T>>>);

impl<T> Finished<T> {
    pub fn new() -> Self {
        Self(Arc::default())
    }

    pub fn push(&self, one: T) {
        self.lock().push(one);
    }

    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.lock())
    }

    // One is pushed whole, or not at all.
    fn lock(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// By hand, for what is shared need not be cloned.
impl<T> Clone for Finished<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
