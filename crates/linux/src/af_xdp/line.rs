//! A bound socket: its rings and its doorbell.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;

use crate::error::failed;
use crate::shared_ring::{Consumer, Memory, Producer};

/// The kernel's side of a socket. Tests replace it.
pub trait Kernel: Debug {
    /// Entries are those of a [`Descriptor`](crate::sys::xdp_ring::Descriptor).
    type Tx: Memory<Entry = [u64; 2]> + Debug;
    /// Entries are addresses in the umem.
    type Completion: Memory<Entry = [u64; 1]> + Debug;

    /// The doorbell.
    fn wake(&self) -> io::Result<()>;

    /// Returns `true` if the device reads the frames directly. It then sets a flag when the
    /// doorbell must be rung.
    fn is_zero_copy(&self) -> bool;

    /// Returns `true` if the receiver keeps the socket open, whose TX ring the kernel then reads
    /// even without this end.
    fn is_shared(&self) -> bool;
}

/// Opens sockets.
pub trait Opener: Debug {
    /// The sockets.
    type Kernel: Kernel;

    /// Returns `true` if the socket is bound to the current device and not to a removed one.
    fn is_current(&self) -> bool;

    /// Returns the name of the device.
    fn device(&self) -> &str;

    /// Releases the receiver's part of the last socket, unless the receiver took it.
    fn release_receive_end(&mut self);

    /// Opens a socket with its rings. An error names the call and the device.
    fn open(&mut self) -> io::Result<Line<Self::Kernel>>;
}

/// A socket and the rings by which it sends.
#[derive(Debug)]
pub struct Line<K: Kernel> {
    pub(super) kernel: K,
    /// The longest frame that the device carried when it was bound, with its Ethernet header.
    pub(super) frame_limit_bytes: u32,
    pub(super) tx: Producer<K::Tx>,
    pub(super) completion: Consumer<K::Completion>,
}

impl<K: Kernel> Line<K> {
    pub(super) fn new(
        kernel: K,
        frame_limit_bytes: u32,
        tx: Arc<K::Tx>,
        completion: Arc<K::Completion>,
    ) -> Self {
        Self {
            kernel,
            frame_limit_bytes,
            tx: Producer::new(tx),
            completion: Consumer::new(completion),
        }
    }

    /// Returns `true` if the kernel has not taken all published frames, and needs a doorbell.
    #[inline]
    pub(super) fn needs_doorbell(&self) -> bool {
        self.tx.pending() > 0 && (!self.kernel.is_zero_copy() || self.tx.needs_wakeup())
    }

    /// Returns the frames that the kernel took and has not completed.
    #[inline]
    pub(super) fn held(&self) -> u32 {
        // Completions first: their position never overtakes that of taken frames.
        let completed = self.completion.produced();
        let held = self.tx.consumed().wrapping_sub(completed) as i32;
        // A kernel that rejects a descriptor might complete it without taking it.
        held.max(0) as u32
    }

    /// Rings the doorbell until the kernel took all frames or takes no more now.
    ///
    /// Remaining frames are not an error: the next reap rings again.
    pub(super) fn ring(&self, device: &str) -> io::Result<()> {
        while self.needs_doorbell() {
            let before = self.tx.consumed();
            let result = self.kernel.wake();
            let moved = self.tx.consumed() != before;
            match result {
                Ok(()) if moved => {}
                Ok(()) => break,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) if moved => {}
                    Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS) => break,
                    _ => return Err(failed("sendto", device, error)),
                },
            }
        }
        Ok(())
    }
}
