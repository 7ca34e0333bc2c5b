//! Faults, and the check that every packet is accounted for.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use taut_linux::frame_ring::{RawRings, TxFrame};
use taut_linux::link;

use crate::options::{Fault, Options};
use crate::packet::BYTES;
use crate::plain::Plain;
use crate::receiver::{Arrivals, Receiver};
use crate::recover::Recovering;
use crate::report::{percentile, row};
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
/// A limit that has not returned by then does not.
const LIMIT_PATIENCE: Duration = Duration::from_secs(30);
/// A plain loop without a completion for this time hangs.
const PLAIN_PATIENCE: Duration = Duration::from_secs(4);
/// The limit must return to this ratio of its median before a stop of the process.
const MAX_LIMIT_RATIO: f64 = 1.25;
/// Longer than the stop of the process.
const STOP_TIME: Duration = Duration::from_millis(1_100);

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

/// The times at which a fault begins and ends.
struct Injector<'a> {
    fault: Fault,
    world: &'a World,
    rate: u64,
    began: Option<Instant>,
    has_ended: bool,
}

impl<'a> Injector<'a> {
    fn new(fault: Fault, world: &'a World, options: &Options) -> Self {
        let rate = options.device_rate().unwrap_or(0);
        Self {
            fault,
            world,
            rate,
            began: None,
            has_ended: false,
        }
    }

    /// Begins or ends the fault, after `ended` packets of the run have ended.
    fn poll(&mut self, ended: u64) -> Result<()> {
        match self.began {
            None if ended >= PACKETS * BEGIN_PERCENT / 100 => {
                self.begin()?;
                self.began = Some(Instant::now());
            }
            Some(began) if !self.has_ended && began.elapsed() >= FAULT_TIME => {
                self.has_ended = true;
                self.end()?;
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&self) -> Result<()> {
        let world = self.world;
        match self.fault {
            Fault::Completions => UNREAD.store(true, Ordering::Relaxed),
            Fault::Held => world.set_rate(STOPPED_BITS_PER_S)?,
            Fault::Removed => link::delete(&world.near, NEAR)?,
            Fault::PeerDown => link::set_down(&world.far, FAR)?,
            Fault::Stopped => {
                let own = std::process::id();
                let script = format!("kill -STOP {own}; sleep 1; kill -CONT {own}");
                Command::new("sh").args(["-c", &script]).spawn()?;
            }
        }
        Ok(())
    }

    fn end(&self) -> Result<()> {
        let world = self.world;
        match self.fault {
            Fault::Held => {
                world.set_rate(self.rate)?;
                world.wake_shaper()?;
            }
            Fault::Removed => {
                world.add_device()?;
                world.wait_for_links()?;
            }
            Fault::PeerDown => link::set_up(&world.far, FAR)?,
            Fault::Completions | Fault::Stopped => {}
        }
        Ok(())
    }
}

/// Runs the plain loop. It passes if it ends and all packets arrive.
pub fn plain<X: Xsk>(
    fault: Fault,
    world: &World,
    options: &Options,
) -> Result<(Map<String, Value>, bool)> {
    let receiver = Receiver::start(world)?;
    let mut injector = Injector::new(fault, world, options);
    let mut plain = Plain::<Faulty<X>>::open(SHAPE)?;
    let mut progress = (Instant::now(), 0);
    while plain.completed < PACKETS && progress.0.elapsed() < PLAIN_PATIENCE {
        injector.poll(plain.completed)?;
        let stamped = plain.stamp(STEP_PACKETS.min(PACKETS - plain.sent), 0);
        plain.turn(stamped, SLOTS);
        if plain.completed > progress.1 {
            progress = (Instant::now(), plain.completed);
        }
        thread::sleep(Duration::from_micros(200));
    }
    let arrivals = settled(&receiver);
    let hangs = plain.completed < PACKETS;
    let lost = plain
        .completed
        .saturating_sub(arrivals.numbers.len() as u64);
    let row = json!({
        "fault": format!("{fault:?}"), "packets": PACKETS, "sent": plain.completed,
        "arrived": arrivals.numbers.len(), "hangs": hangs,
        "unaccounted": plain.in_flight().max(lost),
    });
    Ok((row_with(row, !hangs && lost == 0), !hangs && lost == 0))
}

/// The limit before the process was stopped, and the time until it was back.
#[derive(Default)]
struct LimitHistory {
    before: Vec<u64>,
    back_after: Option<Duration>,
}

impl LimitHistory {
    fn record(&mut self, began: Option<Instant>, limit: u64) {
        let Some(began) = began else {
            return self.before.push(limit);
        };
        let elapsed = began.elapsed();
        // A limit of few packets moves in steps of one.
        let allowed = percentile(&self.before, 50) as f64 * MAX_LIMIT_RATIO + f64::from(BYTES);
        if self.back_after.is_none() && elapsed >= STOP_TIME && limit as f64 <= allowed {
            self.back_after = Some(elapsed);
        }
    }
}

/// Runs the queue with a limit, and checks that each packet was sent, dropped, or is uncertain.
pub fn limited<X: Xsk>(
    fault: Fault,
    world: &World,
    options: &Options,
) -> Result<(Map<String, Value>, bool)> {
    let receiver = Receiver::start(world)?;
    let mut injector = Injector::new(fault, world, options);
    let mut sender = Recovering::<Faulty<X>>::open(world, SHAPE, &options.limit)?;
    let (start, mut limits) = (Instant::now(), LimitHistory::default());
    let mut goal = u64::MAX;
    while !sender.is_done(goal) && start.elapsed() < PATIENCE {
        injector.poll(sender.ended())?;
        limits.record(injector.began, sender.limit());
        // Packets are sent until the fault is over, and some more.
        let is_back = fault != Fault::Stopped || limits.back_after.is_some();
        let is_over = is_back || start.elapsed() > LIMIT_PATIENCE;
        if injector.has_ended && is_over && goal == u64::MAX {
            goal = PACKETS.max(sender.enqueued() + LAST_PACKETS);
        }
        sender.step(goal.min(sender.enqueued() + STEP_PACKETS))?;
        thread::sleep(Duration::from_micros(200));
    }
    let is_done = sender.is_done(goal);
    let arrivals = settled(&receiver);
    let mut row = sender.row(&arrivals);
    let mut errors = sender.errors(&arrivals);
    let mut require = |is_met: bool, text: &str| {
        if !is_met {
            errors.push(text.to_owned());
        }
    };
    require(is_done, "the run did not end");
    let has_stalls = matches!(fault, Fault::Completions | Fault::Held);
    let in_time = !has_stalls || sender.reported_in_time();
    require(in_time, "no stall was reported in time");
    let continues =
        !sender.has_given_up() && arrivals.last >= sender.enqueued().saturating_sub(LAST_PACKETS);
    require(
        fault == Fault::Completions || continues,
        "no packet arrived after the fault",
    );
    require(
        fault != Fault::Stopped || limits.back_after.is_some(),
        "the limit did not return to its ratio",
    );
    if fault == Fault::Stopped {
        let back_ms = limits.back_after.map(|back| back.as_millis() as u64);
        row.insert("limit_back_ms".to_owned(), back_ms.into());
    }
    row.insert("fault".to_owned(), format!("{fault:?}").into());
    row.insert("errors".to_owned(), errors.clone().into());
    let is_good = errors.is_empty();
    Ok((row_with(Value::Object(row), is_good), is_good))
}

fn row_with(value: Value, is_good: bool) -> Map<String, Value> {
    let mut row = row(value);
    row.insert("accounted".to_owned(), is_good.into());
    row
}

/// Waits until no packet has arrived for a moment.
fn settled(receiver: &Receiver) -> Arrivals {
    let mut before = receiver.arrivals();
    loop {
        thread::sleep(Duration::from_millis(500));
        let now = receiver.arrivals();
        if now.numbers.len() == before.numbers.len() {
            return now;
        }
        before = now;
    }
}
