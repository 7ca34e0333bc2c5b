//! Opening a driver, and both halves of it as one.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

use taut_path::driver::Truth;
use taut_path::{TxRing, in_flight};

use super::completions::AfXdpCompletions;
use super::config;
use super::config::{Redirect, XdpConfig};
use super::line::Common;
use super::opener::{Group, Role, SocketOpener};
use super::program::Program;
use super::receiver::{AfXdpReceiver, ReceiveEnd};
use super::socket::SocketTarget;
use super::tx::AfXdpTx;
use super::umem::UmemFrames;
use crate::error::invalid;
use crate::frames::Frames;
use crate::handover::handover;
use crate::netns::NetNs;
use crate::port::Port;

/// AF_XDP sockets.
#[derive(Debug)]
pub struct AfXdp;

/// Both halves of a socket.
pub type Halves = (AfXdpTx, AfXdpCompletions);

impl AfXdp {
    /// Opens a queue of `device` for sending, and makes frames to send.
    ///
    /// A frame may be as long as the device's MTU now and its Ethernet header, and as the frames of
    /// the umem.
    ///
    /// # Errors
    /// `NotFound` if there is no such device; `PermissionDenied` without CAP_NET_RAW;
    /// `InvalidInput` for a setting out of range, or a queue that the device does not have;
    /// `ResourceBusy` if another program has the queue, or the kernel a packet of the socket that
    /// had it last; `ENOBUFS` where the frames are more memory than may be locked (8 MB for most
    /// users, so 2,048 frames at most).
    pub fn open(
        ns: &NetNs,
        device: &str,
        config: &XdpConfig,
    ) -> io::Result<(AfXdpTx, AfXdpCompletions, UmemFrames)> {
        let place = place(ns, device, config)?;
        let frames = place.frames.clone();
        let (tx, completions) = sender(place, &Group::default())?;
        Ok((tx, completions, frames))
    }

    /// Opens several queues of `device` for sending, with frames that all of them can send.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `InvalidInput` for no queue at all.
    pub fn open_queues(
        ns: &NetNs,
        device: &str,
        queues: &[u32],
        config: &XdpConfig,
    ) -> io::Result<(Vec<Halves>, UmemFrames)> {
        if queues.is_empty() {
            return Err(invalid("no queue to open: at least 1".to_owned()));
        }
        let first = place(ns, device, config)?;
        let group = Group::default();
        let halves = queues.iter().map(|&queue| {
            let mut place = first.clone();
            place.config.queue = queue;
            sender(place, &group)
        });
        Ok((halves.collect::<io::Result<_>>()?, first.frames))
    }

    /// Opens a queue of `device` for sending and receiving: what arrives on it comes to the
    /// receiver and no more to the kernel. The device is as it was before when both halves and the
    /// receiver are gone, however the process ends.
    ///
    /// To be [opened again](Port::reopen), the receiver has to be called once more, so that it lets
    /// go of the old socket, and then [reaped](taut_path::Completions::reap);
    /// [`reopen_both`](Self::reopen_both) does all of that where both are on one thread. It works
    /// with CAP_NET_RAW alone, for the program and its map are held; only before Linux 5.19 putting
    /// a socket into the map takes CAP_BPF too, where `kernel.unprivileged_bpf_disabled` is set.
    ///
    /// # Errors
    /// As for [`open`](Self::open); `PermissionDenied` also without CAP_BPF; `Unsupported` where
    /// the driver takes no native program and nothing else may be; `ResourceBusy` if there is
    /// another program on the device.
    pub fn open_both(
        ns: &NetNs,
        device: &str,
        config: &XdpConfig,
        redirect: Redirect,
    ) -> io::Result<(AfXdpTx, AfXdpCompletions, AfXdpReceiver, UmemFrames)> {
        if config.fill_frames == 0 {
            return Err(invalid(
                "no frames to receive into: fill_frames must be at least 1".to_owned(),
            ));
        }
        let place = place(ns, device, config)?;
        let frames = place.frames.clone();
        let program = Program::load(device, redirect)?;
        let (giver, taker) = handover();
        let wanted = config.fill_frames;
        let role = Role::Receive { giver, program };
        let (tx, completions, end) = driver(place, role, &Group::default())?;
        let end = end.ok_or(io::ErrorKind::InvalidData)?;
        let receiver = AfXdpReceiver::new(tx.common(), frames.clone(), wanted, (end, taker));
        Ok((tx, completions, receiver, frames))
    }

    /// As [`Port::reopen`], where a `receiver` has a part of the socket. What it has not taken is
    /// lost, if the socket is a new one.
    ///
    /// # Errors
    /// As for [`Port::reopen`].
    pub fn reopen_both(halves: &mut Halves, receiver: &mut AfXdpReceiver) -> io::Result<()> {
        halves.1.request_reopen();
        // Both let go.
        halves.0.slots_free();
        receiver.heed();
        halves.1.renew()?;
        // And take their parts of the new one.
        halves.0.slots_free();
        receiver.heed();
        Ok(())
    }
}

/// Where sockets will be, with frames for them.
fn place(ns: &NetNs, device: &str, config: &XdpConfig) -> io::Result<SocketTarget> {
    config.validate()?;
    let own_start = (config.metadata_bytes()).next_multiple_of(config::START_ALIGNMENT_BYTES);
    Ok(SocketTarget {
        ns: ns.clone(),
        device: device.to_owned(),
        config: *config,
        frames: UmemFrames::new(config.frames, config.frame_bytes, own_start)?,
    })
}

fn sender(place: SocketTarget, group: &Group) -> io::Result<Halves> {
    let role = Role::send(&place.frames, place.config.fill_frames);
    let (tx, completions, _) = driver(place, role, group)?;
    Ok((tx, completions))
}

/// Both halves of a new socket, and what a receiver of it needs.
fn driver(
    place: SocketTarget,
    role: Role,
    group: &Group,
) -> io::Result<(AfXdpTx, AfXdpCompletions, Option<ReceiveEnd>)> {
    let frames = place.frames.clone();
    let capacity_slots = place.config.capacity_slots();
    let common = Arc::new(Common::new(&place.device));
    let mut opener = SocketOpener::new(place, role, group.clone());
    let ((tx, completion), receive) = opener.open_one()?;
    let (in_sender, in_completer) = in_flight::split(frames.frames());
    let (giver, taker) = handover();
    let tx = AfXdpTx::new(
        common.clone(),
        frames.clone(),
        in_sender,
        capacity_slots,
        (tx, taker),
    );
    let completions = AfXdpCompletions::new(
        common,
        frames,
        in_completer,
        capacity_slots,
        (completion, giver),
        Box::new(opener),
    );
    Ok((tx, completions, receive))
}

impl Port for Halves {
    fn device(&self) -> &str {
        self.0.device()
    }

    fn driver(&self) -> &'static str {
        "af_xdp"
    }

    fn mode(&self) -> &'static str {
        self.1.mode()
    }

    fn completion_status(&self) -> Truth {
        self.0.completion_status()
    }

    fn frame_limit_bytes(&self) -> u32 {
        self.0.frame_limit_bytes()
    }

    fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.1.fd()
    }

    fn reopen(&mut self) -> io::Result<()> {
        self.1.request_reopen();
        // The sending half lets go.
        self.0.slots_free();
        self.1.renew()?;
        // And takes the new one, if it is there.
        self.0.slots_free();
        Ok(())
    }
}
