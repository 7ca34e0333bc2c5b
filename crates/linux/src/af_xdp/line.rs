//! A bound socket as shared by both halves of the driver: rings, doorbell and counters.

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use taut_path::driver::CompletionStatus;

use crate::error::failed;
use crate::shared_ring::{Consumer, Memory, Producer, pending};

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
}

/// Opens sockets, and tracks the other users of their rings.
pub trait Opener<K: Kernel>: Send + Debug {
    /// Returns `true` if the socket is bound to the current device and not to a removed one.
    fn is_current(&self) -> bool;

    /// Requests that all other users release the current socket.
    fn request_release(&mut self);

    /// Returns `true` if they have released it.
    fn has_released(&self) -> bool;

    /// Returns the name of the device.
    fn device(&self) -> &str;

    /// Sets the name of the device after it was renamed.
    fn set_device(&mut self, name: &str);

    /// Detaches the program from a device that was removed or moved.
    fn release_device(&mut self);

    /// Opens a socket with its rings. An error names the call and the device.
    fn open(&mut self) -> io::Result<Arc<Line<K>>>;
}

/// A socket and its rings, shared by both halves.
#[derive(Debug)]
pub struct Line<K: Kernel> {
    pub(crate) kernel: K,
    /// The longest frame that the device carried when it was bound, with its Ethernet header.
    pub(crate) frame_limit_bytes: u32,
    pub(crate) tx: Arc<K::Tx>,
    pub(crate) completion: Arc<K::Completion>,
}

/// The sending half's part of a socket.
#[derive(Debug)]
pub struct TxEnd<K: Kernel> {
    pub(crate) line: Arc<Line<K>>,
    pub(crate) tx: Producer<K::Tx>,
    /// Position of the kernel after the last doorbell.
    pub(crate) taken: u32,
}

/// The completing half's part of a socket.
#[derive(Debug)]
pub struct CompletionEnd<K: Kernel> {
    pub(crate) line: Arc<Line<K>>,
    pub(crate) completion: Consumer<K::Completion>,
}

impl<K: Kernel> Line<K> {
    /// Returns the completing end, once.
    pub(crate) fn completion_end(self: &Arc<Self>) -> CompletionEnd<K> {
        CompletionEnd {
            line: self.clone(),
            completion: Consumer::new(self.completion.clone()),
        }
    }

    /// Returns the sending end, also again for a half that has released it.
    pub(crate) fn tx_end(self: &Arc<Self>) -> TxEnd<K> {
        TxEnd {
            line: self.clone(),
            tx: Producer::new(self.tx.clone()),
            taken: self.taken(),
        }
    }

    /// Returns the slots of the ring that the kernel has emptied.
    pub(crate) fn room(&self) -> u32 {
        self.tx.slots().saturating_sub(pending(&*self.tx))
    }

    /// Returns `true` if the kernel has not taken all published frames, and needs a doorbell.
    #[inline]
    pub(crate) fn needs_doorbell(&self) -> bool {
        pending(&*self.tx) > 0 && (!self.kernel.is_zero_copy() || self.tx.needs_wakeup())
    }

    /// Returns the position up to which the kernel took frames.
    #[inline]
    pub(crate) fn taken(&self) -> u32 {
        self.tx.consumed()
    }

    /// Returns the frames that the kernel took and has not completed.
    #[inline]
    pub(crate) fn held(&self) -> u32 {
        // Completions first: their position never overtakes that of taken frames.
        let completed = self.completion.produced();
        let held = self.taken().wrapping_sub(completed) as i32;
        // A kernel that rejects a descriptor might complete it without taking it.
        held.max(0) as u32
    }

    /// Rings the doorbell until the kernel took all frames or takes no more now.
    ///
    /// Remaining frames are not an error: the completing half rings again.
    pub(crate) fn ring(&self, common: &Common) -> io::Result<()> {
        while self.needs_doorbell() {
            let before = self.taken();
            let result = self.kernel.wake();
            let moved = self.taken() != before;
            match result {
                Ok(()) if moved => {}
                Ok(()) => break,
                Err(error) => match error.raw_os_error() {
                    Some(libc::EINTR) => {}
                    Some(libc::EAGAIN) if moved => {}
                    Some(code @ (libc::EAGAIN | libc::EBUSY | libc::ENOBUFS)) => {
                        common.count(|it| match code {
                            libc::EBUSY => it.busy += 1,
                            libc::ENOBUFS => it.no_buffers += 1,
                            _ => it.send_buffer_full += 1,
                        });
                        break;
                    }
                    _ => return Err(failed("sendto", &common.device, error)),
                },
            }
        }
        Ok(())
    }
}

/// State that both halves share while the driver exists.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) device: String,
    /// Changed in exceptions only.
    counters: Mutex<XdpCounters>,
    completion_status: AtomicU8,
}

impl Common {
    pub(crate) fn new(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            counters: Mutex::default(),
            completion_status: AtomicU8::new(0),
        }
    }

    /// Counts an exception.
    pub(crate) fn count(&self, add: impl FnOnce(&mut XdpCounters)) {
        add(&mut self.counters.lock().unwrap_or_else(PoisonError::into_inner));
    }

    pub(crate) fn counters(&self) -> XdpCounters {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn completion_status(&self) -> CompletionStatus {
        match self.completion_status.load(Ordering::Relaxed) {
            code if code == CompletionStatus::Valid as u8 => CompletionStatus::Valid,
            code if code == CompletionStatus::Early as u8 => CompletionStatus::Early,
            _ => CompletionStatus::Unknown,
        }
    }

    #[inline]
    pub(crate) fn set_completion_status(&self, completion_status: CompletionStatus) {
        let code = completion_status as u8;
        // Read first: the value rarely changes, and a store would take the cache line from the
        // other half.
        if self.completion_status.load(Ordering::Relaxed) != code {
            self.completion_status.store(code, Ordering::Relaxed);
        }
    }
}

/// Exceptions counted since the driver was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct XdpCounters {
    /// Doorbells at which the kernel took nothing (`EAGAIN`): the send buffer or the completion
    /// ring was full.
    pub send_buffer_full: u64,
    /// Doorbells at which the device was busy (`EBUSY`).
    pub busy: u64,
    /// Doorbells at which the kernel had no memory (`ENOBUFS`).
    pub no_buffers: u64,
    /// Completions of frames that were not in the device (driver bug): completed twice, or never
    /// sent.
    pub unknown_completions: u64,
    /// Packets that were in a ring when it was closed, without a completion.
    pub lost_packets: u64,
    /// Of their frames, those that the kernel released later, on the same socket.
    pub recovered_frames: u64,
    /// Restarts of the ring, with a new socket or on the old one.
    pub reopened: u64,
}
