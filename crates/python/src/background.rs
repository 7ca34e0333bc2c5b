//! Runs work on a separate thread, while the calling thread handles progress and Ctrl-C.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

use crate::interrupt::Interrupt;

/// Interval at which signals are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The usual stack size of a main thread.
const STACK_BYTES: usize = 8 << 20;

enum Message {
    Progress(String, u64, u64),
    Finished(usize),
}

/// Reports of the work to the calling thread.
pub struct Reports {
    send: Sender<Message>,
    /// Set when the result is not needed any more.
    pub interrupt: Arc<Interrupt>,
}

impl Reports {
    // After an interrupt, the receiver is dropped and sending fails.

    pub fn progress(&self, what: &str, done: u64, all: u64) {
        let _ = self
            .send
            .send(Message::Progress(what.to_owned(), done, all));
    }

    pub fn finished(&self, number: usize) {
        let _ = self.send.send(Message::Finished(number));
    }
}

/// Runs `work` without holding the GIL. Calls `progress`, a Python callable, and `finished` for the
/// reports of the work. After Ctrl-C or an error of one of the two, it sets the interrupt and does
/// not wait for the thread, which ends after its current case.
pub fn run_in_background<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    finished: &mut dyn FnMut(usize) -> PyResult<()>,
    work: impl FnOnce(&Reports) -> PyResult<T> + Send + 'static,
) -> PyResult<T> {
    let interrupt = Arc::<Interrupt>::default();
    let (send, mut messages) = channel();
    let reports = Reports {
        send,
        interrupt: Arc::clone(&interrupt),
    };
    let worker = thread::Builder::new()
        .name("taut".into())
        .stack_size(STACK_BYTES)
        .spawn(move || work(&reports))
        .map_err(|error| PyOSError::new_err(format!("cannot create a thread: {error}")))?;
    let mut handle_reports = || -> PyResult<()> {
        loop {
            let messages = &mut messages;
            match py.detach(move || messages.recv_timeout(CHECK_INTERVAL)) {
                Ok(Message::Progress(what, done, all)) => {
                    if let Some(progress) = progress {
                        progress.call1((what, done, all))?;
                    }
                }
                Ok(Message::Finished(number)) => finished(number)?,
                Err(RecvTimeoutError::Timeout) => {}
                // The thread ends.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            py.check_signals()?;
        }
    };
    handle_reports().inspect_err(|_| interrupt.set())?;
    let done = py.detach(|| worker.join());
    interrupt.result(done.unwrap_or_else(|panic| resume_unwind(panic)))
}
