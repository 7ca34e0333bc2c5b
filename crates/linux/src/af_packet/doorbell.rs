//! The doorbell, and the packets that the kernel took at it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use taut_path::driver::{CompletionStatus, EarlyCompletionDetector};

use super::state::RingState;
use crate::error::failed;
use crate::sys::packet_ring::SlotReader;

/// Exceptions while sending, counted since the ring was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TxCounters {
    /// Bytes of frames that the kernel skipped because its device's MTU was lowered. They are
    /// returned as completed. Not counted at a doorbell that found the discipline or the send
    /// buffer full.
    pub skipped_bytes: u64,
    /// Doorbells at which the discipline rejected a frame, which stayed in the ring.
    pub qdisc_full: u64,
    /// Doorbells without effect because the socket's send buffer was full.
    pub send_buffer_full: u64,
}

/// Consecutive doorbells at which the discipline rejects a frame although it holds none of ours,
/// before that is an error. A single one can happen if the last frame leaves at that moment.
const MAX_REJECTIONS: u32 = 3;

/// The half that rings the doorbell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum By {
    /// The sending half: no packet is submitted at the same time.
    Sender,
    /// The completing half, for the remaining packets: the sender might be submitting.
    Completer,
}

#[derive(Debug)]
pub(super) struct Doorbell {
    fd: OwnedFd,
    device: String,
    reader: SlotReader,
    /// Locked while ringing, because both halves can ring.
    taken: Mutex<Progress>,
    /// The last status was "early completions".
    early: AtomicBool,
    /// The last doorbell left packets that the kernel did not take.
    remaining: AtomicBool,
    skipped_bytes: AtomicU64,
    qdisc_full: AtomicU64,
    send_buffer_full: AtomicU64,
}

/// The progress of the kernel in the ring.
#[derive(Debug, Default)]
struct Progress {
    /// Packets taken by the kernel, and so the number of the first that might not be taken.
    packets: u64,
    /// Bytes taken, less the bytes that the kernel reported as sent. The difference is the frames
    /// that it skipped. A frame that the sender has just filled might count on one side first.
    unsent_bytes: i64,
    /// The kernel did not report the bytes sent, so there is nothing to compare.
    blind: bool,
    /// Consecutive doorbells at which the discipline held none of our frames and rejected one.
    rejections: u32,
    /// Detects early completions, from the frames that the kernel holds when a doorbell returns.
    detector: EarlyCompletionDetector,
}

impl Doorbell {
    pub(super) fn new(
        fd: OwnedFd,
        device: &str,
        reader: SlotReader,
        detector: EarlyCompletionDetector,
    ) -> Self {
        let early = AtomicBool::new(!detector.status().limit_applies());
        let taken = Progress {
            detector,
            ..Progress::default()
        };
        Self {
            fd,
            device: device.to_owned(),
            reader,
            taken: Mutex::new(taken),
            early,
            remaining: AtomicBool::new(false),
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

    /// Returns `true` if packets are left that another doorbell can move.
    pub(super) fn has_remaining(&self) -> bool {
        self.remaining.load(Ordering::Relaxed)
    }

    pub(super) fn counters(&self) -> TxCounters {
        TxCounters {
            skipped_bytes: self.skipped_bytes.load(Ordering::Relaxed),
            qdisc_full: self.qdisc_full.load(Ordering::Relaxed),
            send_buffer_full: self.send_buffer_full.load(Ordering::Relaxed),
        }
    }

    /// Rings the kernel's doorbell. Packets that the kernel does not take now stay in the ring.
    ///
    /// A full send buffer or discipline is not an error while frames of ours are in flight. When
    /// they have left there is room, and the completing half rings again.
    pub(super) fn ring(&self, state: &RingState, by: By) -> io::Result<()> {
        let mut taken = self.lock();
        let sent = send(&self.fd, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        self.update(&mut taken, state);
        self.remaining
            .store(taken.packets < state.submitted(), Ordering::Relaxed);
        self.count_skipped(&mut taken, sent.as_ref().ok().copied(), by);
        match sent {
            Ok(_) => {
                taken.rejections = 0;
                Ok(())
            }
            Err(error) => self.classify_error(&mut taken, state, error),
        }
    }

    /// The state is consistent at each point, so a poisoned lock is usable.
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the current status of completions.
    pub(super) fn completion_status(&self) -> CompletionStatus {
        self.lock().detector.status()
    }

    /// Returns `true` if completions are early, without a lock.
    pub(super) fn is_early(&self) -> bool {
        self.early.load(Ordering::Relaxed)
    }

    /// Returns the detector, for a new ring on the same device.
    pub(super) fn detector(&self) -> EarlyCompletionDetector {
        self.lock().detector.clone()
    }

    /// Updates the progress of the kernel, and whether it still holds the last packet.
    fn update(&self, taken: &mut Progress, state: &RingState) {
        let before = taken.packets;
        self.count_taken(taken, state);
        let newly = u32::try_from(taken.packets - before).unwrap_or(u32::MAX);
        let held = u32::from(newly > 0 && self.holds_last_frame(taken, state));
        let status = taken.detector.after_doorbell(newly, held);
        self.early.store(!status.limit_applies(), Ordering::Relaxed);
    }

    fn count_taken(&self, taken: &mut Progress, state: &RingState) {
        for number in taken.packets..state.submitted() {
            let slot = state.slot(number);
            if self.reader.status(slot) == libc::TP_STATUS_SEND_REQUEST {
                return;
            }
            taken.packets = number + 1;
            taken.unsent_bytes += i64::from(self.reader.frame_bytes(slot));
        }
    }

    /// A skipped frame is available like one that was sent, but is missing in the kernel's sum.
    fn count_skipped(&self, taken: &mut Progress, sent_bytes: Option<usize>, by: By) {
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

    /// Distinguishes backpressure from failure.
    fn classify_error(
        &self,
        taken: &mut Progress,
        state: &RingState,
        error: Errno,
    ) -> io::Result<()> {
        let alone = !self.holds_last_frame(taken, state);
        taken.rejections = if alone { taken.rejections + 1 } else { 0 };
        match error {
            Errno::INTR => Ok(()),
            Errno::AGAIN => {
                self.send_buffer_full.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Errno::NOBUFS if taken.rejections < MAX_REJECTIONS => {
                self.qdisc_full.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            _ => Err(failed("sendto", &self.device, error)),
        }
    }

    /// Returns `true` if the kernel still holds the frame that it took last.
    fn holds_last_frame(&self, taken: &Progress, state: &RingState) -> bool {
        let last = taken.packets.checked_sub(1);
        last.is_some_and(|number| {
            self.reader.status(state.slot(number)) & libc::TP_STATUS_SENDING != 0
        })
    }
}
