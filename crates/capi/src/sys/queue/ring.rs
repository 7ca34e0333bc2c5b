//! A ring whose driver is callbacks of C.

use core::ffi::c_void;

use taut_path::{Completions, Ecn, Frame, TxRing};

/// A packet, as passed to the queue and to the driver.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// The number of its frame, below the number of frames of the queue. The content of the frame
    /// belongs to the caller.
    pub frame: u32,
    /// Its length on the wire, headers once, in bytes; 0 counts as 1.
    pub bytes: u32,
    /// A hash of the flow's addresses and ports, the same for every packet of a flow.
    /// `taut_classify` sets it, and the next two fields.
    pub flow: u32,
    /// Priority 0 to 15, as the kernel derives it from the type of service.
    pub priority: u8,
    /// The two ECN bits of the IP header: 0 for none, 1 or 2 if it can be marked, 3 if it is
    /// marked. The driver writes a 3 into the header (`taut_mark_congestion`).
    pub ecn: u8,
    /// Must be 0.
    pub reserved: u16,
}

/// The driver: the operations of a ring. All callbacks run within calls of the queue, must not call
/// it, and must return: no exception and no `longjmp` can leave them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ring {
    /// Passed to each callback.
    pub context: *mut c_void,
    /// Slots of the ring, at least 1.
    pub capacity_slots: u32,
    /// Must be 0.
    pub reserved: u32,
    /// Slots that can be filled now.
    pub slots_free: Option<unsafe extern "C" fn(context: *mut c_void) -> u32>,
    /// Puts a packet into the ring; called only while a slot is free. Returns false for a packet
    /// that this device can never send, which is dropped.
    pub submit: Option<
        unsafe extern "C" fn(context: *mut c_void, packet: *const Packet, now_ns: u64) -> bool,
    >,
    /// Rings the doorbell: the device can send the submitted packets. Returns 0, or an error number
    /// of the driver; submitted packets then stay in the ring, and the next run rings again.
    pub kick: Option<unsafe extern "C" fn(context: *mut c_void, now_ns: u64) -> i32>,
    /// Writes the numbers of up to `budget` completed frames to `frames`, oldest first. Returns how
    /// many, or an error number of the driver below 0. More than `budget` is a failure too: none of
    /// them is completed.
    pub reap: Option<
        unsafe extern "C" fn(
            context: *mut c_void,
            frames: *mut u32,
            budget: u32,
            now_ns: u64,
        ) -> i32,
    >,
    /// Returns whether a completion means that the packet left the device; null means that it does.
    pub completions_valid: Option<unsafe extern "C" fn(context: *mut c_void) -> bool>,
}

impl Packet {
    /// Returns `true` if each field has an allowed value.
    pub(super) fn is_allowed(&self) -> bool {
        self.priority <= 15 && self.ecn <= 3 && self.reserved == 0
    }

    pub(super) fn into_packet(self) -> taut_path::Packet {
        let mut packet = taut_path::Packet::new(Frame::new(self.frame), self.bytes);
        packet.flow = self.flow;
        packet.priority = self.priority;
        packet.set_ecn(match self.ecn {
            0 => Ecn::NotCapable,
            3 => Ecn::Marked,
            _ => Ecn::Capable,
        });
        packet
    }

    fn of(packet: &taut_path::Packet) -> Self {
        Self {
            frame: packet.frame().index(),
            bytes: packet.wire_bytes(),
            flow: packet.flow,
            priority: packet.priority,
            ecn: ecn_bits(packet.ecn()),
            reserved: 0,
        }
    }
}

/// Returns the bits of the IP header.
pub(super) fn ecn_bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotCapable => 0,
        Ecn::Capable => 2,
        Ecn::Marked => 3,
    }
}

/// The driver, and the packets that it holds.
pub(super) struct Driver {
    context: *mut c_void,
    slots_free: unsafe extern "C" fn(*mut c_void) -> u32,
    submit: unsafe extern "C" fn(*mut c_void, *const Packet, u64) -> bool,
    kick: unsafe extern "C" fn(*mut c_void, u64) -> i32,
    reap: unsafe extern "C" fn(*mut c_void, *mut u32, u32, u64) -> i32,
    completions_valid: Option<unsafe extern "C" fn(*mut c_void) -> bool>,
    capacity_slots: u32,
    held: Vec<Option<taut_path::Packet>>,
    reaped: Vec<u32>,
}

/// Frames requested in one callback.
const REAP_FRAMES: usize = 64;

impl Driver {
    /// `None` if a callback is missing.
    pub(super) fn new(ring: &Ring, frames: u32) -> Option<Self> {
        Some(Self {
            context: ring.context,
            slots_free: ring.slots_free?,
            submit: ring.submit?,
            kick: ring.kick?,
            reap: ring.reap?,
            completions_valid: ring.completions_valid,
            capacity_slots: ring.capacity_slots,
            held: (0..frames).map(|_| None).collect(),
            reaped: vec![0; REAP_FRAMES],
        })
    }

    /// Returns the frames in the ring, also those that are stale or were considered lost.
    pub(super) fn frames_in_ring(&self) -> impl Iterator<Item = u32> {
        self.held.iter().flatten().map(|it| it.frame().index())
    }
}

impl TxRing for Driver {
    /// The error number of the driver.
    type Error = i32;

    fn capacity_slots(&self) -> u32 {
        self.capacity_slots
    }

    fn slots_free(&self) -> u32 {
        // SAFETY: guaranteed by the caller of `taut_queue_new`, while the queue exists.
        unsafe { (self.slots_free)(self.context) }.min(self.capacity_slots)
    }

    fn submit(&mut self, packet: taut_path::Packet, now_ns: u64) -> Result<(), taut_path::Packet> {
        let raw = Packet::of(&packet);
        // SAFETY: as for `slots_free`; the packet outlives the call.
        if !unsafe { (self.submit)(self.context, &raw const raw, now_ns) } {
            return Err(packet);
        }
        // The queue checked that the frame exists.
        match self.held.get_mut(raw.frame as usize) {
            Some(held) => {
                *held = Some(packet);
                Ok(())
            }
            None => Err(packet),
        }
    }

    fn kick(&mut self, now_ns: u64) -> Result<(), i32> {
        // SAFETY: as for `slots_free`.
        match unsafe { (self.kick)(self.context, now_ns) } {
            0 => Ok(()),
            number => Err(number),
        }
    }
}

impl Completions for Driver {
    /// The error number of the driver.
    type Error = i32;

    fn slots_free(&self) -> u32 {
        TxRing::slots_free(self)
    }

    fn reap(
        &mut self,
        now_ns: u64,
        budget_packets: u32,
        freed: &mut dyn FnMut(taut_path::Packet),
    ) -> Result<bool, i32> {
        // No driver holds more than all frames: the loop ends even if the driver always returns
        // some.
        let mut left = budget_packets.min(self.held.len() as u32);
        while left > 0 {
            let requested = left.min(REAP_FRAMES as u32);
            let frames = self.reaped.as_mut_ptr();
            // SAFETY: as for `slots_free`; there is room for the requested number.
            let count = unsafe { (self.reap)(self.context, frames, requested, now_ns) };
            let Ok(count) = u32::try_from(count) else {
                return Err(count);
            };
            // The driver wrote beyond the requested number, so the content is undefined.
            if count > requested {
                return Err(count as i32);
            }
            for &frame in &self.reaped[..count as usize] {
                let held = self.held.get_mut(frame as usize).and_then(Option::take);
                // The queue reports a frame that was not sent as unknown.
                freed(held.unwrap_or_else(|| taut_path::Packet::new(Frame::new(frame), 0)));
            }
            if count < requested {
                return Ok(false);
            }
            left -= count;
        }
        Ok(true)
    }

    fn completions_valid(&self) -> bool {
        match self.completions_valid {
            // SAFETY: as for `slots_free`.
            Some(are_valid) => unsafe { are_valid(self.context) },
            None => true,
        }
    }
}
