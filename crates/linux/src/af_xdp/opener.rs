//! Opens sockets repeatedly, for the same queue and the same use.

use std::io;
use std::os::fd::AsFd;

use super::completions::Opener;
use super::line::SocketEnds;
use super::program::Program;
use super::receiver::ReceiveEnd;
use super::socket::{ReceiveRings, SocketTarget, XdpSocket};
use super::umem::UmemFrames;
use crate::frames::Frames;
use crate::handover::Giver;
use crate::link;

/// The use of a socket.
#[derive(Debug)]
pub(super) enum Role {
    /// Sending. The kernel owns the frames in the FILL ring while the driver exists.
    Send {
        fill_frames: Vec<u32>,
        kept: Option<ReceiveRings>,
    },
    /// Sending and receiving.
    Receive {
        giver: Giver<ReceiveEnd>,
        program: Program,
    },
}

impl Role {
    /// Sending, with this many frames in the FILL ring.
    pub(super) fn send(frames: &UmemFrames, fill_frames: u32) -> Self {
        let taken = (0..fill_frames).map_while(|_| frames.take());
        let fill_frames: Vec<u32> = taken.map(|frame| frame.index()).collect();
        for &index in &fill_frames {
            frames.umem().to_device(index);
        }
        Self::Send {
            fill_frames,
            kept: None,
        }
    }
}

#[derive(Debug)]
pub(super) struct SocketOpener {
    place: SocketTarget,
    role: Role,
    /// The index of the device to which it is bound.
    index: u32,
}

impl SocketOpener {
    pub(super) fn new(place: SocketTarget, role: Role) -> Self {
        Self {
            place,
            role,
            index: 0,
        }
    }

    /// Opens a new socket, and returns the end for its receiver.
    pub(super) fn open_one(&mut self) -> io::Result<(SocketEnds<XdpSocket>, Option<ReceiveEnd>)> {
        let SocketTarget {
            ns, device, config, ..
        } = &self.place;
        self.index = link::index(ns, device)?;
        let (ends, mut rings) = self.place.open(self.index)?;
        let receive = match &mut self.role {
            Role::Send { fill_frames, kept } => {
                for &index in fill_frames.iter() {
                    rings.fill.push([self.place.frames.whole_frame(index)]);
                }
                rings.fill.publish();
                *kept = Some(rings);
                None
            }
            Role::Receive { program, .. } => {
                let line = ends.0.line.clone();
                let place = (ns, device.as_str(), self.index);
                let redirect = program.serve(place, config.queue, line.kernel.as_fd())?;
                Some(ReceiveEnd {
                    rings,
                    line,
                    redirect,
                })
            }
        };
        Ok((ends, receive))
    }
}

impl Opener<XdpSocket> for SocketOpener {
    fn is_current(&self) -> bool {
        let index = link::index(&self.place.ns, &self.place.device);
        index.is_ok_and(|index| index == self.index)
    }

    fn device(&self) -> &str {
        &self.place.device
    }

    fn set_device(&mut self, name: &str) {
        name.clone_into(&mut self.place.device);
    }

    fn release_device(&mut self) {
        // The index of no device: that of the next one can be the same.
        self.index = 0;
        if let Role::Receive { program, .. } = &mut self.role {
            program.detach();
        }
    }

    fn request_release(&mut self) {
        match &mut self.role {
            Role::Send { kept, .. } => *kept = None,
            Role::Receive { giver, .. } => giver.request_release(),
        }
    }

    fn has_released(&mut self) -> bool {
        match &mut self.role {
            Role::Send { .. } => true,
            Role::Receive { giver, .. } => giver.has_released(),
        }
    }

    fn open(&mut self) -> io::Result<SocketEnds<XdpSocket>> {
        let (ends, receive) = self.open_one()?;
        if let (Role::Receive { giver, .. }, Some(end)) = (&mut self.role, receive) {
            giver.give(end);
        }
        Ok(ends)
    }
}
