//! Runs work on a separate thread, while the calling thread handles progress and Ctrl-C.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Interval at which signals are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The usual stack size of a main thread.
const STACK_BYTES: usize = 8 << 20;

enum Message<T> {
    Progress(String, u64, u64),
    Finished(usize),
    End(T),
}

/// Reports of the work to the calling thread.
pub struct Reports<T> {
    send: Sender<Message<T>>,
    stop: Arc<AtomicBool>,
}

impl<T> Reports<T> {
    // After an interrupt, the receiver is dropped and sending fails.

    pub fn progress(&self, what: &str, done: u64, all: u64) {
        let _ = self
            .send
            .send(Message::Progress(what.to_owned(), done, all));
    }

    pub fn finished(&self, number: usize) {
        let _ = self.send.send(Message::Finished(number));
    }

    /// Set when the result is not needed any more.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

/// Sets the flag on every exit from the wait.
struct StopAtEnd(Arc<AtomicBool>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` without holding the GIL. Calls `progress`, a Python callable, and `finished` for the
/// reports of the work. After Ctrl-C or an error of one of the two, it requests a stop and does not
/// wait for the thread, which ends after its current case.
pub fn run_in_background<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    finished: &mut dyn FnMut(usize) -> PyResult<()>,
    work: impl FnOnce(&Reports<T>) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let _stop_at_end = StopAtEnd(Arc::clone(&stop));
    let (send, mut messages) = channel();
    let worker = thread::Builder::new()
        .name("taut".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let reports = Reports { send, stop };
            let done = work(&reports);
            let _ = reports.send.send(Message::End(done));
        })
        .map_err(|error| PyOSError::new_err(format!("cannot create a thread: {error}")))?;
    loop {
        match next(py, &mut messages) {
            Ok(Message::Progress(what, done, all)) => {
                if let Some(progress) = progress {
                    progress.call1((what, done, all))?;
                }
            }
            Ok(Message::Finished(number)) => finished(number)?,
            Ok(Message::End(done)) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("the thread sends before it ends"),
            },
        }
        py.check_signals()?;
    }
}

fn next<T: Send>(
    py: Python<'_>,
    messages: &mut Receiver<Message<T>>,
) -> Result<Message<T>, RecvTimeoutError> {
    py.detach(move || messages.recv_timeout(CHECK_INTERVAL))
}
