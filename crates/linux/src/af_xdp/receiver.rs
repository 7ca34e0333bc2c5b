//! Receiving: frames that the device fills, as packets.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::sockopt::xdp_statistics;
use rustix::net::{RecvFlags, recv};
use taut_path::{Frame, Packet};

use super::config::Redirect;
use super::socket::ReceiveEnd;
use super::umem::UmemFrames;
use crate::error::{Context, failed};
use crate::frames::Frames;
use crate::sys::xdp_ring::Descriptor;

/// Packets lost by the kernel, as it counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReceiveCounters {
    /// Packets lost because the RX ring was full, no frame was free, or the packet was longer than
    /// a frame less 256 bytes.
    pub lost_packets: u64,
    /// Of these, packets lost because the FILL ring was empty.
    pub no_frame_packets: u64,
    /// Of these, packets that were longer than a frame less 256 bytes.
    pub too_long_packets: u64,
}

/// Receives packets from a device's queue, in frames of the umem. A socket of the same umem can
/// send such a packet without a copy.
#[derive(Debug)]
pub struct AfXdpReceiver {
    device: String,
    frames: UmemFrames,
    /// `None` without a socket, after a failed `reopen_both`.
    pub(super) end: Option<ReceiveEnd>,
    /// For each frame: it is in the FILL or RX ring.
    in_rings: Box<[bool]>,
    frames_in_rings: u32,
    frames_wanted: u32,
}

impl AfXdpReceiver {
    pub(super) fn new(device: &str, frames: UmemFrames, frames_wanted: u32) -> Self {
        Self {
            device: device.to_owned(),
            in_rings: vec![false; frames.frames() as usize].into(),
            frames,
            end: None,
            frames_in_rings: 0,
            frames_wanted,
        }
    }

    /// Receives up to `budget_packets` packets, and passes each to `take`, which must send it or
    /// release its frame. Returns the number of packets: 0 without a socket, after a failed
    /// [`reopen_both`](super::AfXdp::reopen_both).
    ///
    /// # Errors
    /// The error of waking the driver, after the packets were passed on.
    pub fn receive(
        &mut self,
        budget_packets: u32,
        take: &mut dyn FnMut(Packet),
    ) -> io::Result<u32> {
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

    /// Continues with a new socket if there is one.
    pub(super) fn attach(&mut self, end: Option<ReceiveEnd>) {
        if end.is_none() {
            return;
        }
        self.end = end;
        // Frames of the old socket belong to this one now.
        for index in 0..self.in_rings.len() as u32 {
            if self.in_rings[index as usize] {
                self.push(index);
            }
        }
        self.refill();
    }

    fn next_packet(&mut self) -> Option<Packet> {
        let end = self.end.as_mut()?;
        loop {
            let descriptor = Descriptor::from_words(end.rings.rx.pop()?);
            let index = self.frames.index_of(descriptor.address);
            // A frame is accepted from a driver only if it had been given to it.
            let is_in_rings = self.in_rings.get_mut(index as usize);
            if is_in_rings.is_some_and(std::mem::take) && self.frames.umem().reclaim(index) {
                self.frames_in_rings -= 1;
                self.frames.starts_at(index, descriptor.address);
                return Some(Packet::new(Frame::new(index), descriptor.length_bytes));
            }
        }
    }

    /// Passes free frames to the driver, as many as it needs.
    fn refill(&mut self) {
        while self.end.is_some() && self.frames_in_rings < self.frames_wanted {
            let Some(frame) = self.frames.take() else {
                break;
            };
            let index = frame.index();
            self.frames.umem().to_device(index);
            self.in_rings[index as usize] = true;
            self.frames_in_rings += 1;
            self.push(index);
        }
    }

    fn push(&mut self, index: u32) {
        if let Some(end) = &mut self.end {
            // Cannot fail: the ring has a slot for each of these frames.
            end.rings.fill.push([self.frames.whole_frame(index)]);
            end.rings.fill.publish();
        }
    }

    /// Wakes a driver that sleeps because it had no frames.
    fn wake(&self) -> io::Result<()> {
        let Some(end) = &self.end else {
            return Ok(());
        };
        if !end.rings.fill.needs_wakeup() {
            return Ok(());
        }
        match recv(&end.fd, &mut [0; 0][..], RecvFlags::DONTWAIT) {
            Ok(_) | Err(Errno::AGAIN | Errno::BUSY | Errno::INTR | Errno::NOBUFS) => Ok(()),
            Err(error) => Err(failed("recvfrom", &self.device, error)),
        }
    }

    /// Returns where packets are redirected: [`Redirect::Native`] or [`Redirect::Generic`]. `None`
    /// without a socket, after a failed [`reopen_both`](super::AfXdp::reopen_both).
    pub fn redirect(&self) -> Option<Redirect> {
        self.end.as_ref().map(|end| end.redirect)
    }

    /// Returns the lost packets since the socket was last opened.
    ///
    /// # Errors
    /// The error of `getsockopt`; `NotConnected` without a socket, after a failed
    /// [`reopen_both`](super::AfXdp::reopen_both).
    pub fn counters(&self) -> io::Result<ReceiveCounters> {
        let fd = self.fd().ok_or(io::ErrorKind::NotConnected)?;
        let counted = xdp_statistics(fd).context("XDP_STATISTICS", &self.device)?;
        let no_frame_packets = counted.rx_fill_ring_empty_descs.unwrap_or(0);
        Ok(ReceiveCounters {
            lost_packets: counted.rx_dropped + counted.rx_ring_full.unwrap_or(0),
            no_frame_packets,
            // The kernel has no counter of its own for them.
            too_long_packets: counted.rx_dropped.saturating_sub(no_frame_packets),
        })
    }

    /// Returns the descriptor, which is readable when packets arrived. `None` without a socket,
    /// after a failed [`reopen_both`](super::AfXdp::reopen_both).
    pub fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.end.as_ref().map(|end| end.fd.as_fd())
    }
}

/// Releases the frames in the rings. If the sender keeps the socket open, the kernel still owns
/// them. They are free after the next [`reopen`](crate::Port::reopen), so drop the sender first if
/// they are needed at once.
impl Drop for AfXdpReceiver {
    fn drop(&mut self) {
        let frames = 0..self.in_rings.len() as u32;
        let in_rings = || {
            frames
                .clone()
                .filter(|&index| self.in_rings[index as usize])
        };
        for index in in_rings() {
            self.frames.umem().abandon(index);
            let _ = self.frames.release(Frame::new(index));
        }
        // Unmaps the rings, and closes the socket if this is the last part.
        let fd = self.end.take().map(|end| end.fd);
        if fd.is_none_or(|fd| Arc::into_inner(fd).is_some()) {
            for index in in_rings() {
                self.frames.umem().recover(index);
            }
        }
    }
}
