//! Work on a thread of its own, while the one that asked for it hears of progress and of Ctrl-C.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// How often to look for Ctrl-C: nobody feels a longer wait.
const LOOK: Duration = Duration::from_millis(50);

/// The stack that a main thread has as a rule.
const STACK_BYTES: usize = 8 << 20;

enum News<T> {
    Progress(String, u64, u64),
    Finished(usize),
    End(T),
}

/// What the work tells of itself.
pub struct Talk<T> {
    send: Sender<News<T>>,
    stop: Arc<AtomicBool>,
}

impl<T> Talk<T> {
    // Nobody listens any more after an interrupt.

    pub fn progress(&self, what: &str, done: u64, all: u64) {
        let _ = self.send.send(News::Progress(what.to_owned(), done, all));
    }

    pub fn finished(&self, number: usize) {
        let _ = self.send.send(News::Finished(number));
    }

    /// Set when nobody wants the result any more.
    pub fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }
}

/// Set however the wait ends.
struct StopAtEnd(Arc<AtomicBool>);

impl Drop for StopAtEnd {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Does `work` without holding Python's lock. `progress` is a Python callable; `finished` hears of
/// what the work says is finished. After Ctrl-C, or an error of one of the two, the thread is left
/// behind: it is told to stop, and ends with what it is just doing.
pub fn watch<T: Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    finished: &mut dyn FnMut(usize) -> PyResult<()>,
    work: impl FnOnce(&Talk<T>) -> T + Send + 'static,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let _stop_at_end = StopAtEnd(Arc::clone(&stop));
    let (send, mut news) = channel();
    let worker = thread::Builder::new()
        .name("taut".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            let talk = Talk { send, stop };
            let done = work(&talk);
            let _ = talk.send.send(News::End(done));
        })
        .map_err(|error| PyOSError::new_err(format!("no thread can be had: {error}")))?;
    loop {
        match next(py, &mut news) {
            Ok(News::Progress(what, done, all)) => {
                if let Some(progress) = progress {
                    progress.call1((what, done, all))?;
                }
            }
            Ok(News::Finished(number)) => finished(number)?,
            Ok(News::End(done)) => return Ok(done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("it sends before it ends"),
            },
        }
        py.check_signals()?;
    }
}

fn next<T: Send>(
    py: Python<'_>,
    news: &mut Receiver<News<T>>,
) -> Result<News<T>, RecvTimeoutError> {
    py.detach(move || news.recv_timeout(LOOK))
}
