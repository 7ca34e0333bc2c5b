//! Both halves on one thread: a port.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use taut_path::TxRing;
use taut_path::driver::CompletionStatus;

use super::{AfPacketCompletions, AfPacketTx};
use crate::frame_source::FrameSource;
use crate::port::Port;
use crate::vlan;

impl<F: FrameSource> Port for (AfPacketTx<F>, AfPacketCompletions) {
    fn device(&self) -> &str {
        self.1.device()
    }

    fn driver(&self) -> &'static str {
        "af_packet"
    }

    fn mode(&self) -> &'static str {
        "ring"
    }

    fn completion_status(&self) -> CompletionStatus {
        self.1.completion_status()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.1.as_fd())
    }

    fn extra_bytes(frame: &[u8]) -> u32 {
        vlan::customer_tag_bytes(frame)
    }

    fn set_device(&mut self, name: &str) {
        self.1.set_device(name);
    }

    /// Packets that the kernel took from the old ring might still be sent.
    fn reopen(&mut self) -> io::Result<()> {
        let (tx, completions) = self;
        completions.request_reopen();
        // The sending half releases the old ring.
        tx.slots_free();
        completions.renew()?;
        // The sending half takes the new ring.
        tx.slots_free();
        Ok(())
    }
}
