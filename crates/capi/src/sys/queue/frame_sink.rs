//! The return of frames to C.

use core::ffi::{CStr, c_char, c_void};

use taut_path::{DropReason, PacketSink};

use crate::sys::status::Status;

/// Receives each accepted frame exactly once.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Sink {
    /// Passed to the callback.
    pub context: *mut c_void,
    /// Returns the frame to the caller. `taut_outcome_text` is the text of `outcome`. The frame can
    /// be used again, except for two outcomes: `TAUT_OUTCOME_IN_RING`, and
    /// `TAUT_OUTCOME_UNKNOWN_COMPLETION`, which only reports a fault.
    pub frame_done: Option<unsafe extern "C" fn(context: *mut c_void, frame: u32, outcome: u32)>,
}

/// The device completed the frame. 1 to 6 are drop reasons.
pub const TAUT_OUTCOME_COMPLETED: u32 = 0;
/// The driver returned a frame that is not in the ring. Its owner stays the same.
pub const TAUT_OUTCOME_UNKNOWN_COMPLETION: u32 = 7;
/// The queue was freed while the frame was in the ring. It can be used again when the driver no
/// longer uses it.
pub const TAUT_OUTCOME_IN_RING: u32 = 8;
/// The number of outcomes; a later version can have more.
pub const TAUT_OUTCOMES: u32 = 9;

const TEXTS: [&CStr; TAUT_OUTCOMES as usize] = [
    c"completed",
    c"queue_full",
    c"memory_full",
    c"waited_too_long",
    c"uncountable",
    c"device_refused",
    c"flushed",
    c"unknown_completion",
    c"in_ring",
];

const _: () = assert!(DropReason::ALL.len() as u32 + 1 == TAUT_OUTCOME_UNKNOWN_COMPLETION);

/// Returns the name of an outcome; never null, and never to be freed. Any thread can call it.
#[unsafe(no_mangle)]
pub extern "C" fn taut_outcome_text(outcome: u32) -> *const c_char {
    let text = TEXTS.get(outcome as usize).copied();
    text.unwrap_or(c"unknown outcome").as_ptr()
}

/// Returns frames to C.
pub(super) struct FrameSink {
    context: *mut c_void,
    frame_done: unsafe extern "C" fn(*mut c_void, u32, u32),
    in_use: Vec<bool>,
    pub(super) marked_packets: u64,
}

impl FrameSink {
    /// `None` without a callback.
    pub(super) fn new(sink: &Sink, frames: u32) -> Option<Self> {
        Some(Self {
            context: sink.context,
            frame_done: sink.frame_done?,
            in_use: vec![false; frames as usize],
            marked_packets: 0,
        })
    }

    /// Marks a frame as in use, unless it is in use already.
    pub(super) fn accept(&mut self, frame: u32) -> Result<(), Status> {
        let in_use = self.in_use.get_mut(frame as usize);
        let in_use = in_use.ok_or(Status::FrameOutOfRange)?;
        match std::mem::replace(in_use, true) {
            true => Err(Status::FrameInUse),
            false => Ok(()),
        }
    }

    /// Returns a frame that the queue accepted.
    pub(super) fn finish(&mut self, frame: u32, outcome: u32) {
        if let Some(in_use) = self.in_use.get_mut(frame as usize) {
            *in_use = false;
        }
        self.report(frame, outcome);
    }

    fn report(&self, frame: u32, outcome: u32) {
        // SAFETY: guaranteed by the caller of `taut_queue_new`, while the queue exists.
        unsafe { (self.frame_done)(self.context, frame, outcome) };
    }
}

impl PacketSink for FrameSink {
    fn freed(&mut self, packet: taut_path::Packet) {
        self.finish(packet.into_frame().index(), TAUT_OUTCOME_COMPLETED);
    }

    fn dropped(&mut self, packet: taut_path::Packet, reason: DropReason) {
        let at = DropReason::ALL.iter().position(|it| *it == reason);
        // Reasons of a later version have no number here yet.
        let outcome = at.map_or(TAUT_OUTCOMES, |at| at as u32 + 1);
        self.finish(packet.into_frame().index(), outcome);
    }

    fn marked(&mut self, _packet: &taut_path::Packet) {
        self.marked_packets += 1;
    }

    fn unknown_completion(&mut self, packet: taut_path::Packet) {
        self.report(packet.into_frame().index(), TAUT_OUTCOME_UNKNOWN_COMPLETION);
    }
}
