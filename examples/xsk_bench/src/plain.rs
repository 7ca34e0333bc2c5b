//! A loop without a queue, as in a library's own examples.

use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};
use taut_linux::frame_ring::TxFrame;
use taut_linux::sched::{self, monotonic_ns};

use crate::options::Options;
use crate::packet::{self, BYTES, Stamp, URGENT_INTERVAL_NS};
use crate::receiver::Receiver;
use crate::report::{flood_row, rate_row};
use crate::world::{self, World};
use crate::xsk::{Result, Shape, Xsk};

/// A socket, and the packets that went in and out.
pub struct Plain<X> {
    rings: X,
    shape: Shape,
    /// Reused for each iteration.
    batch: Vec<TxFrame>,
    pub sent: u64,
    pub completed: u64,
}

impl<X: Xsk> Plain<X> {
    pub fn open(shape: Shape) -> Result<Self> {
        Ok(Self {
            rings: world::open(shape)?,
            shape,
            batch: Vec::new(),
            sent: 0,
            completed: 0,
        })
    }

    /// One iteration: inserts up to `packets` more, rings the doorbell and reads completions.
    #[inline]
    pub fn turn(&mut self, packets: u64, max_completions: u32) {
        let room = self.shape.slots.saturating_sub(self.rings.untaken());
        let frames = u64::from(self.shape.frames);
        let numbers = self.sent..self.sent + packets.min(room.into());
        self.batch.clear();
        self.batch.extend(numbers.map(|number| TxFrame {
            frame: (number % frames) as u32,
            bytes: BYTES,
        }));
        self.sent += self.rings.push(&self.batch) as u64;
        // The next iteration rings it again.
        let _ = self.rings.wake();
        let completed = &mut self.completed;
        self.rings.read(max_completions, |_| *completed += 1);
    }

    pub fn in_flight(&self) -> u64 {
        self.sent - self.completed
    }

    /// Stamps the next `packets`, if their frames are not in the device.
    pub fn stamp(&mut self, packets: u64, urgent_ns: u64) -> u64 {
        let free = u64::from(self.shape.frames).saturating_sub(self.in_flight());
        let packets = packets.min(free);
        for number in self.sent..self.sent + packets {
            let urgent_ns = if number == self.sent { urgent_ns } else { 0 };
            let frame = (number % u64::from(self.shape.frames)) as u32;
            let stamp = Stamp { number, urgent_ns };
            self.rings
                .with_bytes(frame, BYTES, |bytes| packet::write(bytes, stamp));
        }
        packets
    }
}

pub fn run<X: Xsk>(world: &World, options: &Options) -> Result<Map<String, Value>> {
    let mut plain = Plain::<X>::open(options.shape())?;
    match options.rate {
        None => Ok(flood(&mut plain, options.packets)),
        Some(_) => paced(&mut plain, world, options),
    }
}

fn flood<X: Xsk>(plain: &mut Plain<X>, packets: u64) -> Map<String, Value> {
    let start_ns = monotonic_ns();
    while plain.completed < packets {
        plain.turn(packets - plain.sent, plain.shape.slots);
    }
    flood_row(packets, monotonic_ns() - start_ns)
}

/// Keeps the ring full. An urgent packet is the next one that goes into the ring.
fn paced<X: Xsk>(
    plain: &mut Plain<X>,
    world: &World,
    options: &Options,
) -> Result<Map<String, Value>> {
    sched::precise_timers()?;
    let receiver = Receiver::start(world)?;
    let start_ns = monotonic_ns();
    let mut urgent_due_ns = start_ns + URGENT_INTERVAL_NS;
    let (mut urgent_ns, mut ahead) = (0, Vec::new());
    while monotonic_ns() < start_ns + options.seconds * 1_000_000_000 {
        let now_ns = monotonic_ns();
        if urgent_ns == 0 && now_ns >= urgent_due_ns {
            (urgent_ns, urgent_due_ns) = (now_ns, now_ns + URGENT_INTERVAL_NS);
        }
        let slots = u64::from(plain.shape.slots);
        let packets = plain.stamp(slots, urgent_ns);
        let (before, in_flight) = (plain.sent, plain.in_flight());
        plain.turn(packets, plain.shape.slots);
        if plain.sent > before && urgent_ns > 0 {
            ahead.push(in_flight * u64::from(BYTES));
            urgent_ns = 0;
        }
        thread::sleep(Duration::from_micros(50));
    }
    let ns = monotonic_ns() - start_ns;
    Ok(rate_row(&receiver.arrivals(), ns, &ahead))
}
