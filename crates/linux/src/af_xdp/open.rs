//! Opening a socket for sending, or for both directions, and its port.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use taut_path::driver::CompletionStatus;

use super::config::{Redirect, XdpConfig};
use super::line::Opener;
use super::program::Program;
use super::receiver::AfXdpReceiver;
use super::ring::AfXdp;
use super::socket::SocketOpener;
use super::umem::UmemFrames;
use crate::error::invalid;
use crate::netns::NetNs;
use crate::port::Port;
use crate::vlan;

impl AfXdp {
    /// Opens a queue of `device` for sending, and allocates its frames.
    ///
    /// The maximum length of a frame is the device's current MTU and its Ethernet header, and a
    /// frame of the umem.
    ///
    /// # Errors
    /// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_RAW;
    /// `InvalidInput` for a setting out of range, or a queue that the device does not have;
    /// `ResourceBusy` if another program uses the queue, or the kernel still holds a packet of its
    /// last socket; `ENOBUFS` if the frames exceed the limit of locked memory (8 MB for most users,
    /// 2,048 frames).
    pub fn open(ns: &NetNs, device: &str, config: &XdpConfig) -> io::Result<(Self, UmemFrames)> {
        config.validate()?;
        let frames = UmemFrames::new(config.frames, config.frame_bytes)?;
        let opener = SocketOpener::new(ns, device, config, &frames, None);
        let ring = Self::open_with(opener, &frames, config.capacity_slots())?;
        Ok((ring, frames))
    }

    /// Opens a queue of `device` for sending and receiving. Packets that arrive on it are
    /// redirected to the receiver and no longer reach the kernel's stack. The redirection ends when
    /// this is dropped, however the process ends.
    ///
    /// [`reopen_both`](Self::reopen_both) reopens the socket. [`Port::reopen`] returns
    /// `ResourceBusy` while the receiver exists, because the receiver keeps the old socket open.
    /// Reopening needs only CAP_NET_RAW, because the program and its map stay open. Before Linux
    /// 5.19, putting a socket into the map also needs CAP_BPF where
    /// `kernel.unprivileged_bpf_disabled` is set.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `PermissionDenied` also without CAP_BPF; `Unsupported` if the
    /// driver has no native mode and [`Redirect::Native`] was requested; `ResourceBusy` if the
    /// device has another program.
    pub fn open_both(
        ns: &NetNs,
        device: &str,
        config: &XdpConfig,
        redirect: Redirect,
    ) -> io::Result<(Self, AfXdpReceiver, UmemFrames)> {
        if config.fill_frames == 0 {
            return Err(invalid(
                "fill_frames is 0; allowed for a receiver: 1 or more",
            ));
        }
        config.validate()?;
        let frames = UmemFrames::new(config.frames, config.frame_bytes)?;
        let program = Program::load(device, redirect)?;
        let opener = SocketOpener::new(ns, device, config, &frames, Some(program));
        let mut ring = Self::open_with(opener, &frames, config.capacity_slots())?;
        let mut receiver = AfXdpReceiver::new(device, frames.clone(), config.fill_frames);
        receiver.attach(ring.opener.receive_end.take());
        Ok((ring, receiver, frames))
    }

    /// As [`Port::reopen`], with the `receiver` of this socket. If the socket is a new one, packets
    /// not yet received are lost.
    ///
    /// # Errors
    /// As for [`Port::reopen`]; `ResourceBusy` also if `receiver` belongs to another socket. Then
    /// that receiver has lost its socket, and this one is unchanged.
    pub fn reopen_both(&mut self, receiver: &mut AfXdpReceiver) -> io::Result<()> {
        self.restart(|| receiver.end = None)?;
        receiver.attach(self.opener.receive_end.take());
        Ok(())
    }
}

impl Port for AfXdp {
    fn device(&self) -> &str {
        self.opener.device()
    }

    fn extra_bytes(frame: &[u8]) -> u32 {
        vlan::tag_bytes(frame)
    }

    fn set_device(&mut self, name: &str) {
        self.opener.set_device(name);
    }

    fn release_device(&mut self) {
        self.opener.release_device();
    }

    fn driver(&self) -> &'static str {
        "af_xdp"
    }

    fn mode(&self) -> &'static str {
        self.mode()
    }

    fn completion_status(&self) -> CompletionStatus {
        self.detector.status()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.line.as_ref().map(|line| line.kernel.as_fd())
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.restart(|| ())
    }
}
