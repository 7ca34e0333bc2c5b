//! One bound socket as both halves of the driver see it: its rings, its doorbell, and what it
//! counts.

use std::fmt::Debug;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use taut_path::driver::Truth;

use crate::error::failed;
use crate::handover::{Giver, Taker};
use crate::shared_ring::{Consumer, Memory, Producer, Word, pending};
use crate::sys::xdp_ring::Descriptor;

/// The kernel's side of a socket; a test plays another.
pub trait Kernel: Debug {
    type Tx: Memory<Entry = Descriptor> + Debug;
    type Completion: Memory<Entry = u64> + Debug;

    /// The doorbell.
    fn wake(&self) -> io::Result<()>;

    /// Whether the device reads the frames itself. It then says when the doorbell must be rung.
    fn is_zero_copy(&self) -> bool;
}

/// A socket and its rings, as both halves see them.
#[derive(Debug)]
pub struct Line<K: Kernel> {
    pub(crate) kernel: K,
    /// The longest frame that the device carried when it was bound, with its Ethernet header.
    pub(crate) frame_limit_bytes: u32,
    tx: Arc<K::Tx>,
    completion: Arc<K::Completion>,
}

/// What the sending half has of a socket.
#[derive(Debug)]
pub struct TxEnd<K: Kernel> {
    pub(crate) line: Arc<Line<K>>,
    pub(crate) tx: Producer<Arc<K::Tx>>,
    /// How far the kernel was after the last doorbell.
    pub(crate) taken: u32,
}

/// What the completion half has of a socket.
#[derive(Debug)]
pub struct CompletionEnd<K: Kernel> {
    pub(crate) line: Arc<Line<K>>,
    pub(crate) completion: Consumer<Arc<K::Completion>>,
}

/// Both ends of a socket that was just bound.
pub(crate) fn ends<K: Kernel>(
    kernel: K,
    frame_limit_bytes: u32,
    tx: K::Tx,
    completion: K::Completion,
) -> (TxEnd<K>, CompletionEnd<K>) {
    let (tx, completion) = (Arc::new(tx), Arc::new(completion));
    let line = Arc::new(Line {
        kernel,
        frame_limit_bytes,
        tx,
        completion: completion.clone(),
    });
    let tx = line.tx_end();
    let completion = CompletionEnd {
        line,
        completion: Consumer::new(completion),
    };
    (tx, completion)
}

impl<K: Kernel> Line<K> {
    /// The sending end once more, for a half that let go of it.
    pub(crate) fn tx_end(self: &Arc<Self>) -> TxEnd<K> {
        TxEnd {
            line: self.clone(),
            tx: Producer::new(self.tx.clone()),
            taken: self.taken(),
        }
    }

    /// Slots of the ring that the kernel has emptied.
    pub(crate) fn room(&self) -> u32 {
        self.tx.slots().saturating_sub(pending(&self.tx))
    }

    /// Whether the kernel has not taken all of what was published, and waits for the doorbell.
    #[inline]
    pub(crate) fn needs_doorbell(&self) -> bool {
        pending(&self.tx) > 0
            && (!self.kernel.is_zero_copy()
                || self.tx.flags().load_relaxed() & libc::XDP_RING_NEED_WAKEUP != 0)
    }

    /// How far the kernel took what was published.
    #[inline]
    pub(crate) fn taken(&self) -> u32 {
        self.tx.consumer().load_acquire()
    }

    /// Frames that the kernel took and has not completed.
    #[inline]
    pub(crate) fn held(&self) -> u32 {
        // Completed first: it never overtakes what was taken.
        let completed = self.completion.producer().load_acquire();
        let held = self.taken().wrapping_sub(completed) as i32;
        // A kernel that refuses a descriptor may complete it without taking it.
        held.max(0) as u32
    }

    /// Asks the kernel to send, until it took everything or takes no more now.
    ///
    /// What it does not take is no error: the completion half rings again.
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
                        common.counters.refusal(code);
                        break;
                    }
                    _ => return Err(failed("sendto", &common.device, error)),
                },
            }
        }
        Ok(())
    }
}

/// What both halves share for as long as the driver lives.
#[derive(Debug)]
pub(crate) struct Common {
    pub(crate) device: String,
    pub(crate) counters: Counters,
    completion_status: AtomicU8,
}

impl Common {
    pub(crate) fn new(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            counters: Counters::default(),
            completion_status: AtomicU8::new(0),
        }
    }

    pub(crate) fn completion_status(&self) -> Truth {
        match self.completion_status.load(Ordering::Relaxed) {
            1 => Truth::True,
            2 => Truth::False,
            _ => Truth::Unknown,
        }
    }

    #[inline]
    pub(crate) fn set_completion_status(&self, completion_status: Truth) {
        let code = match completion_status {
            Truth::Unknown => 0,
            Truth::True => 1,
            Truth::False => 2,
        };
        // Looked at first: it rarely changes, and a store would take the other half's line away.
        if self.completion_status.load(Ordering::Relaxed) != code {
            self.completion_status.store(code, Ordering::Relaxed);
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    send_buffer_full: AtomicU64,
    busy: AtomicU64,
    no_buffers: AtomicU64,
    pub(crate) unknown_completions: AtomicU64,
    pub(crate) lost_packets: AtomicU64,
    pub(crate) recovered_frames: AtomicU64,
    pub(crate) reopened: AtomicU64,
}

/// What did not go the plain way since the driver was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct XdpCounters {
    /// Doorbells at which the kernel took nothing for lack of room (`EAGAIN`): the send buffer or
    /// the completion ring was full.
    pub send_buffer_full: u64,
    /// Doorbells at which the device was busy (`EBUSY`).
    pub busy: u64,
    /// Doorbells at which the kernel had no memory (`ENOBUFS`).
    pub no_buffers: u64,
    /// Completions of frames that were not in the device: the driver completed them twice, or made
    /// them up.
    pub unknown_completions: u64,
    /// Packets that were in a ring when it was given up, and of which no completion was seen then.
    pub lost_packets: u64,
    /// Of their frames those that the kernel let go of later, on the same socket.
    pub recovered_frames: u64,
    /// Times that the ring was begun anew, with a new socket or on the old one.
    pub reopened: u64,
}

impl Counters {
    fn refusal(&self, code: i32) {
        let counter = match code {
            libc::EBUSY => &self.busy,
            libc::ENOBUFS => &self.no_buffers,
            _ => &self.send_buffer_full,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self) -> XdpCounters {
        XdpCounters {
            send_buffer_full: self.send_buffer_full.load(Ordering::Relaxed),
            busy: self.busy.load(Ordering::Relaxed),
            no_buffers: self.no_buffers.load(Ordering::Relaxed),
            unknown_completions: self.unknown_completions.load(Ordering::Relaxed),
            lost_packets: self.lost_packets.load(Ordering::Relaxed),
            recovered_frames: self.recovered_frames.load(Ordering::Relaxed),
            reopened: self.reopened.load(Ordering::Relaxed),
        }
    }
}

/// How the completion half gives the sending half a new end.
pub(crate) type TxGiver<K> = Giver<TxEnd<K>>;
/// How the sending half gets it.
pub(crate) type TxTaker<K> = Taker<TxEnd<K>>;
