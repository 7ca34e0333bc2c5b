//! Work that may be interrupted, and what was finished by then.

use std::io;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use taut_linux::interrupt::{Interrupt, note, noted};

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
