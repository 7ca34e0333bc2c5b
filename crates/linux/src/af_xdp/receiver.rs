//! Receiving: frames that the device fills, taken as packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::sockopt::xdp_statistics;
use rustix::net::{RecvFlags, recv};
use taut_path::{Frame, Packet};

use super::config::Redirect;
use super::line::{Common, Line};
use super::socket::{ReceiveRings, XdpSocket};
use super::umem::UmemFrames;
use crate::error::failed;
use crate::frames::Frames;
use crate::handover::{Asked, Taker};
use crate::shared_ring::{Memory, Word};

/// What the receiver has of a socket.
pub(super) struct ReceiveEnd {
    pub(super) rings: ReceiveRings,
    pub(super) line: Arc<Line<XdpSocket>>,
    pub(super) redirect: Redirect,
}

/// What the kernel could not give us, as it counts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiveCounters {
    /// Packets lost because nobody took those before them, no frame was free, or they are longer
    /// than what a frame takes: 256 bytes less than it has.
    pub lost_packets: u64,
    /// Of them, for want of frames in the FILL ring.
    pub no_frame_packets: u64,
}

/// Takes packets from a device's queue, in frames of the umem: such a packet can be sent as it is
/// by a socket of the same umem. May be on a thread of its own.
pub struct AfXdpReceiver {
    common: Arc<Common>,
    frames: UmemFrames,
    /// `None` while the socket is being renewed.
    end: Option<ReceiveEnd>,
    next: Taker<ReceiveEnd>,
    /// For each frame whether it is in the FILL or RX ring.
    in_rings: Box<[bool]>,
    frames_in_rings: u32,
    frames_wanted: u32,
}

impl AfXdpReceiver {
    pub(super) fn new(
        common: Arc<Common>,
        frames: UmemFrames,
        frames_wanted: u32,
        (end, next): (ReceiveEnd, Taker<ReceiveEnd>),
    ) -> Self {
        let mut receiver = Self {
            common,
            in_rings: vec![false; frames.frames() as usize].into(),
            frames,
            end: Some(end),
            next,
            frames_in_rings: 0,
            frames_wanted,
        };
        receiver.refill();
        receiver
    }

    /// Takes up to `budget_packets` packets that have arrived, and hands each to `take`: whoever
    /// gets it sends it, or gives its frame back. Returns how many. 0 while the socket is being
    /// renewed.
    ///
    /// # Errors
    /// What waking the driver fails with, after the packets were handed out.
    pub fn receive(
        &mut self,
        budget_packets: u32,
        take: &mut dyn FnMut(Packet),
    ) -> io::Result<u32> {
        self.heed();
        let mut taken = 0;
        while taken < budget_packets {
            let Some(packet) = self.next_packet() else {
                break;
            };
            take(packet);
            taken += 1;
        }
        if let Some(end) = &mut self.end {
            end.rings.rx.release();
        }
        self.refill();
        self.wake()?;
        Ok(taken)
    }

    /// Does what the completion half asked for when it renews the socket.
    pub(super) fn heed(&mut self) {
        match self.next.asked() {
            Asked::Nothing => {}
            Asked::Leave => {
                self.end = None;
                self.next.left();
            }
            Asked::Take => {
                self.end = self.next.take();
                // What the old socket had is this one's now.
                for index in 0..self.in_rings.len() as u32 {
                    if self.in_rings[index as usize] {
                        self.push(index);
                    }
                }
            }
        }
    }

    fn next_packet(&mut self) -> Option<Packet> {
        let end = self.end.as_mut()?;
        loop {
            let descriptor = end.rings.rx.pop()?;
            let index = self.frames.index_of(descriptor.address);
            // Whatever a driver says, only a frame that it has is taken from it.
            let is_in_rings = self.in_rings.get_mut(index as usize);
            if is_in_rings.is_some_and(std::mem::take) && self.frames.umem().reclaim(index) {
                self.frames_in_rings -= 1;
                self.frames.starts_at(index, descriptor.address);
                return Some(Packet::new(Frame::new(index), descriptor.length_bytes));
            }
        }
    }

    /// Gives the driver frames, as many as are wanted and free.
    fn refill(&mut self) {
        if self.end.is_none() || self.frames_in_rings >= self.frames_wanted {
            return;
        }
        while self.frames_in_rings < self.frames_wanted {
            let Some(frame) = self.frames.take() else {
                break;
            };
            let index = frame.index();
            self.frames.umem().to_device(index);
            self.in_rings[index as usize] = true;
            self.frames_in_rings += 1;
            self.push(index);
        }
        if let Some(end) = &mut self.end {
            end.rings.fill.publish();
        }
    }

    fn push(&mut self, index: u32) {
        if let Some(end) = &mut self.end {
            // There is room: the ring has a slot for each frame that is wanted.
            end.rings.fill.push(self.frames.whole_frame(index));
            end.rings.fill.publish();
        }
    }

    /// Tells a driver that sleeps for want of frames that there are some.
    fn wake(&self) -> io::Result<()> {
        let Some(end) = &self.end else { return Ok(()) };
        let flags = end.rings.fill.memory().flags().load_relaxed();
        if flags & libc::XDP_RING_NEED_WAKEUP == 0 {
            return Ok(());
        }
        match recv(
            end.line.kernel.as_fd(),
            &mut [0; 0][..],
            RecvFlags::DONTWAIT,
        ) {
            Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::INTR | Errno::NOBUFS) => Ok(()),
            Err(error) => Err(failed("recvfrom", &self.common.device, error)),
        }
    }

    /// How packets are caught for us: [`Redirect::Native`] or [`Redirect::Generic`]. `None` while
    /// the socket is being renewed.
    pub fn redirect(&self) -> Option<Redirect> {
        self.end.as_ref().map(|end| end.redirect)
    }

    /// What was lost, since the socket was opened last.
    ///
    /// # Errors
    /// What `getsockopt` fails with; `NotConnected` while the socket is being renewed.
    pub fn counters(&self) -> io::Result<ReceiveCounters> {
        let fd = self.fd().ok_or(io::ErrorKind::NotConnected)?;
        let counted = xdp_statistics(fd)
            .map_err(|cause| failed("XDP_STATISTICS", &self.common.device, cause))?;
        Ok(ReceiveCounters {
            lost_packets: counted.rx_dropped + counted.rx_ring_full.unwrap_or(0),
            no_frame_packets: counted.rx_fill_ring_empty_descs.unwrap_or(0),
        })
    }

    /// What to poll; `None` while the socket is being renewed.
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(|end| end.line.kernel.as_fd())
    }
}

/// Gives the frames in the rings back.
impl Drop for AfXdpReceiver {
    fn drop(&mut self) {
        // First the socket, then its frames.
        self.end = None;
        for index in 0..self.in_rings.len() as u32 {
            if self.in_rings[index as usize] && self.frames.umem().reclaim(index) {
                let _ = self.frames.release(Frame::new(index));
            }
        }
    }
}

impl std::fmt::Debug for AfXdpReceiver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AfXdpReceiver")
            .field("device", &self.common.device)
            .field("frames_in_rings", &self.frames_in_rings)
            .finish_non_exhaustive()
    }
}
