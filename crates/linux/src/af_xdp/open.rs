//! Opening a driver, and both of its halves as one port.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use taut_path::driver::CompletionStatus;
use taut_path::{TxRing, in_flight};

use super::completions::AfXdpCompletions;
use super::config::{Redirect, XdpConfig};
use super::line::{Common, Kernel, Opener};
use super::program::Program;
use super::receiver::AfXdpReceiver;
use super::socket::SocketOpener;
use super::tx::AfXdpTx;
use super::umem::UmemFrames;
use crate::error::invalid;
use crate::frames::Frames;
use crate::handover::handover;
use crate::netns::NetNs;
use crate::port::Port;
use crate::vlan;

/// AF_XDP sockets.
#[derive(Debug)]
pub struct AfXdp;

/// Both halves of a socket.
pub type Halves = (AfXdpTx, AfXdpCompletions);

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
    pub fn open(
        ns: &NetNs,
        device: &str,
        config: &XdpConfig,
    ) -> io::Result<(AfXdpTx, AfXdpCompletions, UmemFrames)> {
        config.validate()?;
        let frames = UmemFrames::new(config.frames, config.frame_bytes)?;
        let opener = SocketOpener::new(ns, device, config, &frames, None);
        let (tx, completions) = halves(device, &frames, config.capacity_slots(), opener)?;
        Ok((tx, completions, frames))
    }

    /// Opens a queue of `device` for sending and receiving. Packets that arrive on it are
    /// redirected to the receiver and no longer reach the kernel's stack. The redirection ends when
    /// both halves and the receiver are dropped, however the process ends.
    ///
    /// To be [reopened](Port::reopen), call the receiver once more, so that it releases the old
    /// socket, and then [reap](taut_path::Completions::reap). If both are on one thread,
    /// [`reopen_both`](Self::reopen_both) does all of that. Reopening needs only CAP_NET_RAW,
    /// because the program and its map stay open. Before Linux 5.19, putting a socket into the map
    /// also needs CAP_BPF where `kernel.unprivileged_bpf_disabled` is set.
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
    ) -> io::Result<(AfXdpTx, AfXdpCompletions, AfXdpReceiver, UmemFrames)> {
        if config.fill_frames == 0 {
            return Err(invalid(
                "fill_frames is 0; allowed for a receiver: 1 or more",
            ));
        }
        config.validate()?;
        let frames = UmemFrames::new(config.frames, config.frame_bytes)?;
        let (giver, taker) = handover();
        let receiver = Some((giver, Program::load(device, redirect)?));
        let opener = SocketOpener::new(ns, device, config, &frames, receiver);
        let (tx, completions) = halves(device, &frames, config.capacity_slots(), opener)?;
        let receiver = AfXdpReceiver::new(device, frames.clone(), config.fill_frames, taker);
        Ok((tx, completions, receiver, frames))
    }

    /// As [`Port::reopen`], with a `receiver` of the same socket. If the socket is a new one,
    /// packets not yet received are lost.
    ///
    /// # Errors
    /// As for [`Port::reopen`].
    pub fn reopen_both(halves: &mut Halves, receiver: &mut AfXdpReceiver) -> io::Result<()> {
        reopen_with(halves, || receiver.handle_request())
    }
}

/// Reopens the socket. `update` lets a receiver release its part of the old one, and take that of
/// the new one.
fn reopen_with(halves: &mut Halves, mut update: impl FnMut()) -> io::Result<()> {
    let (tx, completions) = halves;
    completions.request_reopen();
    // The sending half releases the old ring.
    tx.slots_free();
    update();
    completions.renew()?;
    // The sending half takes the new one if there is one.
    tx.slots_free();
    update();
    Ok(())
}

/// Returns both halves over the sockets of `opener`, of which it opens the first.
pub(super) fn halves<K: Kernel>(
    device: &str,
    frames: &UmemFrames,
    capacity_slots: u32,
    opener: impl Opener<K> + 'static,
) -> io::Result<(AfXdpTx<K>, AfXdpCompletions<K>)> {
    let common = Arc::new(Common::new(device));
    let (sender, completer) = in_flight::split(frames.frames());
    let (giver, taker) = handover();
    let completions = AfXdpCompletions::open(
        common.clone(),
        frames.clone(),
        completer,
        capacity_slots,
        giver,
        Box::new(opener),
    )?;
    let tx = AfXdpTx::new(common, frames.clone(), sender, capacity_slots, taker);
    Ok((tx, completions))
}

impl Port for Halves {
    fn device(&self) -> &str {
        self.1.device()
    }

    fn extra_bytes(frame: &[u8]) -> u32 {
        vlan::tag_bytes(frame)
    }

    fn set_device(&mut self, name: &str) {
        self.1.opener.set_device(name);
    }

    fn release_device(&mut self) {
        self.1.opener.release_device();
    }

    fn driver(&self) -> &'static str {
        "af_xdp"
    }

    fn mode(&self) -> &'static str {
        self.1.mode()
    }

    fn completion_status(&self) -> CompletionStatus {
        self.1.completion_status()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.1.fd()
    }

    fn reopen(&mut self) -> io::Result<()> {
        reopen_with(self, || {})
    }
}
