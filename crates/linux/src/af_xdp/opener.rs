//! Making sockets again and again, in the same place and for the same use.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::completions::{Ends, Opener};
use super::handover::Giver;
use super::line::Line;
use super::program::Program;
use super::receiver::ReceiveEnd;
use super::socket::{Place, ReceiveRings, Socket};
use super::umem::UmemFrames;
use crate::frames::Frames;
use crate::link;

/// The sockets of one umem. A new one registers it only if there is no other.
#[derive(Clone, Default)]
pub(super) struct Group(Arc<Mutex<Vec<Weak<Line<Socket>>>>>);

impl Group {
    fn any(&self) -> Option<Arc<Line<Socket>>> {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().find_map(Weak::upgrade)
    }

    fn add(&self, line: &Arc<Line<Socket>>) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.retain(|line| line.strong_count() > 0);
        lines.push(Arc::downgrade(line));
    }
}

/// What a socket is for.
pub(super) enum Role {
    /// Sending. The frames in the FILL ring are the kernel's for as long as the driver lives.
    Send {
        fill_frames: Vec<u32>,
        rings: Option<ReceiveRings>,
    },
    /// Sending and receiving.
    Receive {
        giver: Giver<ReceiveEnd>,
        program: Program,
    },
}

impl Role {
    /// Sending, with so many frames in the FILL ring.
    pub(super) fn send(frames: &UmemFrames, fill_frames: u32) -> Self {
        let taken = (0..fill_frames).map_while(|_| frames.take());
        let fill_frames: Vec<u32> = taken.map(|frame| frame.index()).collect();
        for &index in &fill_frames {
            frames.umem().to_device(index);
        }
        Self::Send {
            fill_frames,
            rings: None,
        }
    }
}

pub(super) struct SocketOpener {
    place: Place,
    role: Role,
    group: Group,
    /// The index of the device that it is bound to.
    index: u32,
}

impl SocketOpener {
    pub(super) fn new(place: Place, role: Role, group: Group) -> Self {
        Self {
            place,
            role,
            group,
            index: 0,
        }
    }

    /// A new socket, and what a receiver needs of it.
    pub(super) fn open_one(&mut self) -> io::Result<(Ends<Socket>, Option<ReceiveEnd>)> {
        let Place {
            ns, device, config, ..
        } = &self.place;
        let other = self.group.any();
        let shared = other.as_ref().map(|line| line.kernel.as_fd());
        self.index = link::index(ns, device)?;
        let mut opened = self.place.open(self.index, shared)?;
        let line = opened.tx.line.clone();
        let receive = match &mut self.role {
            Role::Send { fill_frames, rings } => {
                for &index in fill_frames.iter() {
                    let address = self.place.frames.whole_frame(index);
                    opened.receive.fill.push(address);
                }
                opened.receive.fill.publish();
                *rings = Some(opened.receive);
                None
            }
            Role::Receive { program, .. } => {
                let index = self.index;
                let socket = line.kernel.as_fd();
                program.serve((ns, device, index), config.queue, socket)?;
                let (rings, line) = (opened.receive, line.clone());
                Some(ReceiveEnd { rings, line })
            }
        };
        self.group.add(&line);
        Ok(((opened.tx, opened.completion), receive))
    }
}

impl Opener<Socket> for SocketOpener {
    fn is_current(&self) -> bool {
        let index = link::index(&self.place.ns, &self.place.device);
        index.is_ok_and(|index| index == self.index)
    }

    fn ask(&mut self) {
        match &mut self.role {
            Role::Send { rings, .. } => *rings = None,
            Role::Receive { giver, .. } => giver.ask(),
        }
    }

    fn has_left(&self) -> bool {
        match &self.role {
            Role::Send { .. } => true,
            Role::Receive { giver, .. } => giver.has_left(),
        }
    }

    fn open(&mut self) -> io::Result<Ends<Socket>> {
        let (ends, receive) = self.open_one()?;
        if let (Role::Receive { giver, .. }, Some(end)) = (&self.role, receive) {
            giver.give(end);
        }
        Ok(ends)
    }
}
