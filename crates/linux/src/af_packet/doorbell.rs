//! Ringing the kernel, and finding out what it took.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use taut_path::driver::{Truth, TruthJudge};

use super::state::RingState;
use crate::error::failed;
use crate::sys::packet_ring::SlotReader;

/// What did not go the plain way. All count since the ring was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TxCounters {
    /// Bytes of frames that the kernel skipped (its device's MTU was lowered). They come back as
    /// completed. Not counted at a doorbell that found the discipline or the send buffer full.
    pub skipped_bytes: u64,
    /// Doorbells after which the discipline had refused a frame, which stayed in the ring.
    pub qdisc_full: u64,
    /// Doorbells that did nothing because the socket's send buffer was full.
    pub send_buffer_full: u64,
}

/// Doorbells in a row at which the discipline refuses a frame while nothing of ours is in it,
/// before that is an error. One can happen when our last frame leaves at just that moment.
const REFUSALS_LIMIT: u32 = 3;

/// Who rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The sending half: nobody submits meanwhile.
    Sender,
    /// The completion half, for what was left: the sender may be submitting.
    Completer,
}

#[derive(Debug)]
pub(super) struct Doorbell {
    fd: OwnedFd,
    device: String,
    reader: SlotReader,
    /// Held while ringing, for both halves may.
    taken: Mutex<Taken>,
    /// Completions are false, as far as is known.
    doubted: AtomicBool,
    /// Whether the last ring left something that the kernel did not take.
    left: AtomicBool,
    skipped_bytes: AtomicU64,
    qdisc_full: AtomicU64,
    send_buffer_full: AtomicU64,
}

/// How far the kernel got.
#[derive(Debug, Default)]
struct Taken {
    /// Packets that it took, and so the number of the first that it may not have taken.
    packets: u64,
    /// Bytes that it took less those that it said it sent. A frame that it skipped makes the
    /// difference. One that the sender just filled may count on one side first.
    unsent_bytes: i64,
    /// The kernel did not say what it sent, so that nothing can be compared.
    blind: bool,
    /// Rings in a row at which nothing of ours was in the discipline and it refused.
    refusals: u32,
    /// Finds out what a completion means, from what the kernel still has when a ring returns.
    judge: TruthJudge,
}

impl Doorbell {
    pub(super) fn new(fd: OwnedFd, device: &str, reader: SlotReader, judge: TruthJudge) -> Self {
        let doubted = AtomicBool::new(!judge.truth().holds());
        let taken = Taken {
            judge,
            ..Taken::default()
        };
        Self {
            fd,
            device: device.to_owned(),
            reader,
            taken: Mutex::new(taken),
            doubted,
            left: AtomicBool::new(false),
            skipped_bytes: AtomicU64::new(0),
            qdisc_full: AtomicU64::new(0),
            send_buffer_full: AtomicU64::new(0),
        }
    }

    pub(super) fn fd(&self) -> &OwnedFd {
        &self.fd
    }

    pub(super) fn device(&self) -> &str {
        &self.device
    }

    /// Whether something was left that another ring may move.
    pub(super) fn left_something(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    pub(super) fn counters(&self) -> TxCounters {
        TxCounters {
            skipped_bytes: self.skipped_bytes.load(Ordering::Relaxed),
            qdisc_full: self.qdisc_full.load(Ordering::Relaxed),
            send_buffer_full: self.send_buffer_full.load(Ordering::Relaxed),
        }
    }

    /// Asks the kernel to send what is in the ring. What it does not take now stays there.
    ///
    /// A full send buffer or discipline is no error while frames of ours are on their way: when
    /// they are gone there is room, and the completion half rings again.
    pub(super) fn ring(&self, state: &RingState, by: By) -> io::Result<()> {
        let mut taken = self.lock();
        let sent = send(&self.fd, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        self.look(&mut taken, state);
        self.left
            .store(taken.packets < state.submitted(), Ordering::Relaxed);
        self.count_skipped(&mut taken, sent.as_ref().ok().copied(), by);
        match sent {
            Ok(_) => {
                taken.refusals = 0;
                Ok(())
            }
            Err(error) => self.judge(&mut taken, state, error),
        }
    }

    /// Never left half-changed, so what a panic left is good.
    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What completions mean, as far as is known.
    pub(super) fn completion_status(&self) -> Truth {
        self.lock().judge.truth()
    }

    /// Whether they mean something, without a lock.
    pub(super) fn is_doubted(&self) -> bool {
        self.doubted.load(Ordering::Relaxed)
    }

    /// What was found out so far, for a ring that follows on the same device.
    pub(super) fn truth_judge(&self) -> TruthJudge {
        self.lock().judge.clone()
    }

    /// Finds up to which packet the kernel took them, and whether it still has the last of them.
    fn look(&self, taken: &mut Taken, state: &RingState) {
        let before = taken.packets;
        self.count_taken(taken, state);
        let newly = u32::try_from(taken.packets - before).unwrap_or(u32::MAX);
        let held = u32::from(newly > 0 && self.on_their_way(taken, state));
        let status = taken.judge.after_doorbell(newly, held);
        self.doubted.store(!status.holds(), Ordering::Relaxed);
    }

    fn count_taken(&self, taken: &mut Taken, state: &RingState) {
        for number in taken.packets..state.submitted() {
            let slot = state.slot(number);
            if self.reader.status(slot) == libc::TP_STATUS_SEND_REQUEST {
                return;
            }
            taken.packets = number + 1;
            taken.unsent_bytes += i64::from(self.reader.frame_bytes(slot));
        }
    }

    /// A frame that was skipped is available like one that is gone, but not in the kernel's sum.
    fn count_skipped(&self, taken: &mut Taken, sent_bytes: Option<usize>, by: By) {
        match sent_bytes {
            Some(bytes) => taken.unsent_bytes -= bytes as i64,
            None => taken.blind = true,
        }
        // Only now do both sides count the same frames.
        if by == By::Sender {
            let skipped = if taken.blind { 0 } else { taken.unsent_bytes };
            self.skipped_bytes
                .fetch_add(skipped.max(0) as u64, Ordering::Relaxed);
            taken.unsent_bytes = 0;
            taken.blind = false;
        }
    }

    /// Tells back-pressure from failure.
    fn judge(&self, taken: &mut Taken, state: &RingState, error: Errno) -> io::Result<()> {
        let alone = !self.on_their_way(taken, state);
        taken.refusals = if alone { taken.refusals + 1 } else { 0 };
        match error {
            Errno::INTR => Ok(()),
            Errno::AGAIN => {
                self.send_buffer_full.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Errno::NOBUFS if taken.refusals < REFUSALS_LIMIT => {
                self.qdisc_full.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(failed("sendto", &self.device, error)),
        }
    }

    /// Whether the kernel still has a frame of ours: the one it took last.
    fn on_their_way(&self, taken: &Taken, state: &RingState) -> bool {
        let last = taken.packets.checked_sub(1);
        last.is_some_and(|number| {
            self.reader.status(state.slot(number)) & libc::TP_STATUS_SENDING != 0
        })
    }
}
