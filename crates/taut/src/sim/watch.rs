//! Work that the user can interrupt.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use taut_linux::interrupt::{Interrupt, note, noted};

/// Interval at which interrupts are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// The usual stack size of a main thread.
const STACK_BYTES: usize = 8 << 20;

/// Runs `work` on a separate thread, until it is done or the process is interrupted. After an
/// interrupt the thread keeps running until the process exits, so `work` must store its results
/// elsewhere.
pub fn watch<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<Result<T, Interrupt>> {
    note()?;
    let (send, done) = channel();
    let worker = thread::Builder::new()
        .name("run".into())
        .stack_size(STACK_BYTES)
        .spawn(move || {
            // After an interrupt, the receiver is dropped.
            let _ = send.send(work());
        })?;
    loop {
        match done.recv_timeout(CHECK_INTERVAL) {
            Ok(result) => return Ok(Ok(result)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match worker.join() {
                Err(panic) => resume_unwind(panic),
                Ok(()) => unreachable!("the thread sends before it ends"),
            },
        }
        if let Some(interrupt) = noted() {
            return Ok(Err(interrupt));
        }
    }
}
