//! The two threads of the queue: the owner of the sending half, and the completing thread.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::Context;
use taut_linux::af_packet::{AfPacketCompletions, AfPacketTx};
use taut_linux::sched::monotonic_ns;
use taut_path::limit::Limit;
use taut_path::queue::many::{Intake, Submitter};
use taut_path::queue::{Reaper, Sender};
use taut_path::{DropReason, Packet, PacketSink, Stop, TxRing};

use super::super::control::Control;
use super::carrier::Frames;
use super::late::Late;
use super::sleeper::{Sleeper, WaitsFor};
use super::watchdog::{Look, Watchdog};

/// Packets that wait in the discipline: what one doorbell takes.
pub const DISCIPLINE_PACKETS: u32 = 64;

/// Without any completion for so long, what is left on the path stays there: far beyond what one
/// packet takes at the slowest rate.
const DRAIN_PATIENCE_NS: u64 = 2_000_000_000;

/// What all threads see.
pub struct Threads {
    pub control: Control,
    pub frames: Frames,
    pub counts: Counts,
    /// The owner sends no more.
    pub owner_is_done: AtomicBool,
    /// How late the completing thread was.
    pub late: Late,
}

/// Packets by where they came in and where they ended.
#[derive(Default)]
pub struct Counts {
    pub taken_packets: AtomicU64,
    pub completed_packets: AtomicU64,
    pub completed_bytes: AtomicU64,
    dropped: [AtomicU64; DropReason::ALL.len()],
}

impl Counts {
    /// Packets dropped, for each reason.
    pub fn dropped(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counts = self
            .dropped
            .iter()
            .map(|count| count.load(Ordering::Relaxed));
        DropReason::ALL
            .iter()
            .map(|reason| reason.name())
            .zip(counts)
    }
}

/// Where packets end; each thread has one.
pub struct Ends<'a>(pub &'a Threads);

impl PacketSink for Ends<'_> {
    fn freed(&mut self, packet: Packet) {
        let counts = &self.0.counts;
        let bytes = u64::from(packet.wire_bytes);
        counts.completed_packets.fetch_add(1, Ordering::Relaxed);
        counts.completed_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.0.frames.give_back(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        let reasons = DropReason::ALL.iter().zip(&self.0.counts.dropped);
        for (_, count) in reasons.filter(|(known, _)| **known == reason) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.0.frames.give_back(packet);
    }
}

/// Where the owner's packets come from.
pub enum Supply {
    /// It makes them itself.
    Own,
    /// Others hand them in.
    Submitted(Intake),
}

/// Sends until it is stopped; then drops what waits.
pub fn send<L: Limit>(
    sender: &mut Sender<L>,
    mut tx: AfPacketTx<impl taut_linux::FrameSource>,
    supply: &mut Supply,
    threads: &Threads,
    sleeper: &Sleeper,
) -> anyhow::Result<()> {
    let mut ends = Ends(threads);
    let mut sent = Ok(());
    while sent.is_ok() && !threads.control.is_stopped() {
        let waits_for = match step(sender, &mut tx, supply, threads) {
            Stop::Limit | Stop::RingFull => sender.must_wait().then_some(WaitsFor::Room),
            Stop::Failed(error) => {
                sent = Err(error).context("send");
                None
            }
            // Idle: whoever makes its own packets makes more.
            _ => match supply {
                Supply::Own => None,
                Supply::Submitted(intake) => intake.must_wait().then_some(WaitsFor::Work),
            },
        };
        if let Some(waits_for) = waits_for {
            sleeper.sleep(waits_for);
        }
    }
    if let Supply::Submitted(intake) = supply {
        intake.close();
    }
    sender.flush(monotonic_ns(), &mut ends, &mut ());
    sent
}

/// Takes in what there is, and sends until something stops it.
fn step<L: Limit, R: TxRing<Error = io::Error>>(
    sender: &mut Sender<L>,
    tx: &mut R,
    supply: &mut Supply,
    threads: &Threads,
) -> Stop<io::Error> {
    let mut ends = Ends(threads);
    let now_ns = monotonic_ns();
    if let Supply::Submitted(intake) = supply {
        return intake.run(sender, tx, now_ns, &mut ends, &mut ());
    }
    while sender.backlog().packets < u64::from(DISCIPLINE_PACKETS)
        && let Some(packet) = threads.frames.packet()
    {
        threads.counts.taken_packets.fetch_add(1, Ordering::Relaxed);
        sender.enqueue(packet, now_ns, &mut ends, &mut ());
    }
    sender.run(tx, now_ns, &mut ends, &mut ())
}

/// Reaps once each `cadence_ns`, with a look at who sleeps, until the owner is done and the ring is
/// empty or nothing moves in it any more.
pub fn complete<L: Limit>(
    reaper: &mut Reaper<L>,
    ring: &mut AfPacketCompletions,
    threads: &Threads,
    submitter: &Submitter,
    watchdog: &mut Watchdog,
    cadence_ns: u64,
) -> anyhow::Result<()> {
    let mut moved_ns = monotonic_ns();
    loop {
        let owner_is_done = threads.owner_is_done.load(Ordering::Acquire);
        let now_ns = monotonic_ns();
        let round = reaper
            .complete(ring, now_ns, &mut Ends(threads), &mut ())
            .context("complete")?;
        if round.done.packets > 0 || !owner_is_done {
            moved_ns = now_ns;
        }
        if owner_is_done && (ring.packets_in_ring() == 0 || now_ns - moved_ns > DRAIN_PATIENCE_NS) {
            return Ok(());
        }
        if !threads.control.is_stopped() {
            watchdog.look(&Look {
                packet_ring_is_empty: ring.packets_in_ring() == 0,
                submit_ring_packets: submitter.waiting_packets(),
                submitted_packets: threads.counts.taken_packets.load(Ordering::Relaxed),
            });
        }
        threads.late.sleep(cadence_ns);
    }
}
