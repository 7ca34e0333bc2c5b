//! Faults, and the check that every packet is accounted for.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use taut_linux::frame_ring::{RawRings, TxFrame};
use taut_linux::link;

use crate::options::Fault;
use crate::plain::Plain;
use crate::receiver::Receiver;
use crate::recover::Recovering;
use crate::world::{FAR, NEAR, World};
use crate::xsk::{Result, Shape, Xsk};

/// Packets of a run: 2.4 s at the rate of the device.
const PACKETS: u64 = 4_000;
/// Packets of an iteration, faster than the device and slower than the receiver.
const STEP_PACKETS: u64 = 8;
/// Slots of the ring.
const SLOTS: u32 = 64;
const SHAPE: Shape = Shape {
    slots: SLOTS,
    frames: 2 * SLOTS,
};
/// The fault begins after 2.2 s, when this many packets of a hundred were completed: the limit of a
/// younger queue still grows by leaps.
const BEGIN_PERCENT: u64 = 90;
/// The shaper sends nothing: a frame takes 25 minutes.
const STOPPED_BITS_PER_S: u64 = 8;
/// How long the device is stopped, down or absent.
const FAULT_TIME: Duration = Duration::from_secs(2);
/// Packets after the fault.
const LAST_PACKETS: u64 = 500;
/// A run that has not ended by then hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// A plain loop without a completion for this time hangs.
const PLAIN_PATIENCE: Duration = Duration::from_secs(4);
/// Pause between two iterations.
const PAUSE: Duration = Duration::from_micros(200);

/// Set while completions are not read.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// A socket whose completions might not be read.
pub struct Faulty<X>(X);

impl<X: RawRings> RawRings for Faulty<X> {
    type Error = X::Error;

    fn push(&mut self, frames: &[TxFrame]) -> usize {
        self.0.push(frames)
    }

    fn wake(&mut self) -> std::result::Result<(), X::Error> {
        self.0.wake()
    }

    fn untaken(&mut self) -> u32 {
        self.0.untaken()
    }

    fn unread(&mut self) -> u32 {
        self.0.unread()
    }

    fn read(&mut self, max: u32, completed: impl FnMut(u32)) {
        if !UNREAD.load(Ordering::Relaxed) {
            self.0.read(max, completed);
        }
    }

    fn with_bytes(&mut self, frame: u32, bytes: u32, work: impl FnOnce(&mut [u8])) {
        self.0.with_bytes(frame, bytes, work);
    }
}

impl<X: Xsk> Xsk for Faulty<X> {
    const NAME: &'static str = X::NAME;

    fn open(device: &str, shape: Shape) -> std::result::Result<Self, String> {
        X::open(device, shape).map(Self)
    }
}

/// The time at which a fault begins, and whether it has ended.
struct Injector<'a> {
    fault: Fault,
    world: &'a World,
    began: Option<Instant>,
    has_ended: bool,
}

impl<'a> Injector<'a> {
    fn new(fault: Fault, world: &'a World) -> Self {
        Self {
            fault,
            world,
            began: None,
            has_ended: false,
        }
    }

    /// Begins or ends the fault, after `ended` packets of the run have ended.
    fn poll(&mut self, ended: u64) -> Result<()> {
        match self.began {
            None if ended >= PACKETS * BEGIN_PERCENT / 100 => {
                self.set(true)?;
                self.began = Some(Instant::now());
            }
            Some(began) if !self.has_ended && began.elapsed() >= FAULT_TIME => {
                self.has_ended = true;
                self.set(false)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn set(&self, is_present: bool) -> Result<()> {
        let world = self.world;
        match (self.fault, is_present) {
            (Fault::Completions, true) => UNREAD.store(true, Ordering::Relaxed),
            (Fault::Held, true) => world.set_rate(STOPPED_BITS_PER_S)?,
            (Fault::Held, false) => {
                world.set_rate(world.rate.unwrap_or(0))?;
                world.wake_shaper()?;
            }
            (Fault::Removed, true) => link::delete(&world.near, NEAR)?,
            (Fault::Removed, false) => {
                world.add_device()?;
                world.wait_for_links()?;
            }
            (Fault::PeerDown, true) => link::set_down(&world.far, FAR)?,
            (Fault::PeerDown, false) => link::set_up(&world.far, FAR)?,
            (Fault::Stopped, true) => {
                let own = std::process::id();
                let script = format!("kill -STOP {own}; sleep 1; kill -CONT {own}");
                Command::new("sh").args(["-c", &script]).spawn()?;
            }
            (Fault::Completions | Fault::Stopped, false) => {}
        }
        Ok(())
    }
}

/// Runs the plain loop. It passes if it ends and all packets arrive.
pub fn plain<X: Xsk>(fault: Fault, world: &World) -> Result<Value> {
    let receiver = Receiver::start(world)?;
    let mut injector = Injector::new(fault, world);
    let mut plain = Plain::<Faulty<X>>::open(SHAPE)?;
    let mut progress = (Instant::now(), 0);
    while plain.completed < PACKETS && progress.0.elapsed() < PLAIN_PATIENCE {
        injector.poll(plain.completed)?;
        let stamped = plain.stamp(STEP_PACKETS.min(PACKETS - plain.sent), 0);
        plain.turn(stamped);
        if plain.completed > progress.1 {
            progress = (Instant::now(), plain.completed);
        }
        thread::sleep(PAUSE);
    }
    let arrived = receiver.settled().numbers.len() as u64;
    let hangs = plain.completed < PACKETS;
    let lost = plain.completed.saturating_sub(arrived);
    Ok(json!({
        "fault": format!("{fault:?}"), "packets": PACKETS, "sent": plain.completed,
        "arrived": arrived, "hangs": hangs, "unaccounted": plain.in_flight().max(lost),
        "accounted": !hangs && lost == 0,
    }))
}

/// Runs the queue with a limit, and checks that each packet was sent, dropped, or is uncertain.
pub fn limited<X: Xsk>(fault: Fault, world: &World, limit: &str) -> Result<Value> {
    let receiver = Receiver::start(world)?;
    let mut injector = Injector::new(fault, world);
    let mut sender = Recovering::<Faulty<X>>::open(world, SHAPE, limit)?;
    let (start, mut goal) = (Instant::now(), u64::MAX);
    while !sender.is_done(goal) && start.elapsed() < PATIENCE {
        injector.poll(sender.ended())?;
        // Packets are sent until the fault is over, and some more.
        if injector.has_ended && goal == u64::MAX {
            goal = PACKETS.max(sender.enqueued() + LAST_PACKETS);
        }
        sender.step(goal.min(sender.enqueued() + STEP_PACKETS))?;
        thread::sleep(PAUSE);
    }
    let is_done = sender.is_done(goal);
    let arrivals = receiver.settled();
    let has_stalls = matches!(fault, Fault::Completions | Fault::Held);
    let continues =
        !sender.has_given_up() && arrivals.last >= sender.enqueued().saturating_sub(LAST_PACKETS);
    let mut errors = sender.errors(&arrivals);
    let faults = [
        (!is_done, "the run did not end"),
        (has_stalls && sender.stalls == 0, "no stall was reported"),
        (
            fault != Fault::Completions && !continues,
            "no packet arrived after the fault",
        ),
    ];
    errors.extend(faults.iter().filter(|it| it.0).map(|it| it.1));
    let mut row = sender.row(&arrivals);
    row["fault"] = format!("{fault:?}").into();
    row["accounted"] = errors.is_empty().into();
    row["errors"] = errors.into();
    Ok(row)
}
