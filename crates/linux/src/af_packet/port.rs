//! Both halves on one thread: a port.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use taut_path::driver::Truth;

use super::{AfPacketCompletions, AfPacketTx};
use crate::frame_source::FrameSource;
use crate::port::Port;

impl<F: FrameSource> Port for (AfPacketTx<F>, AfPacketCompletions) {
    fn device(&self) -> &str {
        self.0.device()
    }

    fn driver(&self) -> &'static str {
        "af_packet"
    }

    fn mode(&self) -> &'static str {
        "ring"
    }

    fn truth(&self) -> Truth {
        self.0.shared().doorbell.truth()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.0.as_fd())
    }

    /// What the kernel took from the old ring may still leave; it knows nothing of the new one.
    fn reopen(&mut self) -> io::Result<()> {
        let (tx, completions) = self;
        completions.give_up();
        tx.reopen()?;
        completions.go_on_with(Arc::clone(tx.shared()));
        Ok(())
    }
}
