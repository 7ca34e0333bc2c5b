//! The doorbell, and the packets that the kernel took at it.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use taut_path::driver::{CompletionStatus, EarlyCompletionDetector};

use crate::error::failed;
use crate::sys::packet_ring::PacketRing;

/// Consecutive doorbells at which the discipline rejects a frame although it holds none of ours,
/// before that is an error. A single one can happen if the last frame leaves at that moment.
const MAX_REJECTIONS: u32 = 3;

/// The parts of a ring that both halves use. Packets are numbered from 0 as they are submitted.
#[derive(Debug)]
pub(super) struct Doorbell {
    pub(super) fd: OwnedFd,
    device: String,
    pub(super) slots: Arc<PacketRing>,
    /// Packets submitted; written by the sending half.
    submitted: AtomicU64,
    /// Locked while ringing, because both halves can ring.
    progress: Mutex<Progress>,
    /// The last status was "early completions".
    early: AtomicBool,
    /// The last doorbell left packets that the kernel did not take.
    remaining: AtomicBool,
}

/// The progress of the kernel in the ring.
#[derive(Debug)]
struct Progress {
    /// Packets taken by the kernel, and so the number of the first that might not be taken.
    packets: u64,
    /// Consecutive doorbells at which the discipline held none of our frames and rejected one.
    rejections: u32,
    /// Detects early completions, from the frames that the kernel holds when a doorbell returns.
    detector: EarlyCompletionDetector,
}

impl Doorbell {
    pub(super) fn new(
        fd: OwnedFd,
        device: &str,
        slots: Arc<PacketRing>,
        detector: EarlyCompletionDetector,
    ) -> Self {
        Self {
            fd,
            device: device.to_owned(),
            slots,
            submitted: AtomicU64::new(0),
            early: AtomicBool::new(!detector.status().limit_applies()),
            progress: Mutex::new(Progress {
                packets: 0,
                rejections: 0,
                detector,
            }),
            remaining: AtomicBool::new(false),
        }
    }

    /// Returns the number of packets submitted. All their slots are filled.
    pub(super) fn submitted(&self) -> u64 {
        self.submitted.load(Ordering::Acquire)
    }

    /// Publishes packets, which are stored and whose slots are filled, to the other half.
    pub(super) fn set_submitted(&self, packets: u64) {
        self.submitted.store(packets, Ordering::Release);
    }

    /// Returns `true` if packets are left that another doorbell can move.
    pub(super) fn has_remaining(&self) -> bool {
        self.remaining.load(Ordering::Relaxed)
    }

    /// Rings the kernel's doorbell. Packets that the kernel does not take now stay in the ring.
    ///
    /// A full send buffer or discipline is not an error while frames of ours are in flight. When
    /// they have left there is room, and the completing half rings again.
    pub(super) fn ring(&self) -> io::Result<()> {
        let mut progress = self.lock();
        let sent = send(&self.fd, &[], SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
        self.update(&mut progress);
        match sent {
            Ok(_) => {
                progress.rejections = 0;
                Ok(())
            }
            Err(error) => self.classify_error(&mut progress, error),
        }
    }

    /// The state is consistent at each point, so a poisoned lock is usable.
    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
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
    fn update(&self, progress: &mut Progress) {
        let (before, submitted) = (progress.packets, self.submitted());
        let is_taken = |number| self.slots.status(number) != libc::TP_STATUS_SEND_REQUEST;
        while progress.packets < submitted && is_taken(progress.packets) {
            progress.packets += 1;
        }
        let has_remaining = progress.packets < submitted;
        self.remaining.store(has_remaining, Ordering::Relaxed);
        let newly = u32::try_from(progress.packets - before).unwrap_or(u32::MAX);
        let held = u32::from(newly > 0 && self.holds_last_frame(progress));
        let status = progress.detector.after_doorbell(newly, held);
        self.early.store(!status.limit_applies(), Ordering::Relaxed);
    }

    /// Distinguishes backpressure from failure.
    fn classify_error(&self, progress: &mut Progress, error: Errno) -> io::Result<()> {
        let alone = !self.holds_last_frame(progress);
        progress.rejections = if alone { progress.rejections + 1 } else { 0 };
        match error {
            // The send buffer is full (`EAGAIN`), or the discipline rejected a frame.
            Errno::INTR | Errno::AGAIN => Ok(()),
            Errno::NOBUFS if progress.rejections < MAX_REJECTIONS => Ok(()),
            _ => Err(failed("sendto", &self.device, error)),
        }
    }

    /// Returns `true` if the kernel still holds the frame that it took last.
    fn holds_last_frame(&self, progress: &Progress) -> bool {
        let last = progress.packets.checked_sub(1);
        last.is_some_and(|number| self.slots.status(number) & libc::TP_STATUS_SENDING != 0)
    }
}
