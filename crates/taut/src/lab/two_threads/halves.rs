//! The two threads of the queue: the owner of the sending half, and the completing thread.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use anyhow::{Context, bail};
use taut_linux::af_packet::{AfPacketCompletions, AfPacketTx};
use taut_linux::sched::monotonic_ns;
use taut_measure::trace::Tape;
use taut_path::qdisc::Fifo;
use taut_path::queue::many::{Intake, Submitter};
use taut_path::queue::{Completer, Sender};
use taut_path::{AnyLimit, DropReason, Packet, PacketSink, Stop};

use super::super::control::Control;
use super::carrier::Frames;
use super::late::Late;
use super::sleeper::{Sleeper, WaitsFor};
use super::standstill::Standstill;
use super::watchdog::{Look, Watchdog};

/// Packets that wait in the discipline: what one doorbell takes.
pub const DISCIPLINE_PACKETS: u32 = 64;

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
        let bytes = u64::from(packet.wire_bytes());
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

/// The half that sends.
pub type SendingHalf = Sender<AfPacketTx, Fifo, Option<Tape>>;

/// The half that completes.
pub type CompletingHalf = Completer<AfPacketCompletions, AnyLimit, Option<Tape>>;

/// Sends until it is stopped; then drops what waits.
pub fn send(
    sender: &mut SendingHalf,
    supply: &mut Supply,
    threads: &Threads,
    sleeper: &Sleeper,
) -> anyhow::Result<()> {
    let mut ends = Ends(threads);
    let mut sent = Ok(());
    while sent.is_ok() && !threads.control.is_stopped() {
        let waits_for = match step(sender, supply, threads) {
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
    sender.flush(monotonic_ns(), &mut ends);
    sent
}

/// Takes in what there is, and sends until something stops it.
fn step(sender: &mut SendingHalf, supply: &mut Supply, threads: &Threads) -> Stop<io::Error> {
    let mut ends = Ends(threads);
    let now_ns = monotonic_ns();
    if let Supply::Submitted(intake) = supply {
        return intake.run(sender, now_ns, &mut ends);
    }
    while sender.backlog().packets < u64::from(DISCIPLINE_PACKETS)
        && let Some(packet) = threads.frames.packet()
    {
        threads.counts.taken_packets.fetch_add(1, Ordering::Relaxed);
        sender.enqueue(packet, now_ns, &mut ends);
    }
    sender.run(now_ns, &mut ends)
}

/// Reaps once each `cadence_ns`, with a look at who sleeps, until the owner is done and the ring is
/// empty.
///
/// # Errors
/// If the device cannot be asked, hands back what it was never given, or stands still.
pub fn complete(
    completer: &mut CompletingHalf,
    threads: &Threads,
    submitter: &Submitter,
    watchdog: &mut Watchdog,
    cadence_ns: u64,
) -> anyhow::Result<()> {
    let mut standstill = Standstill::default();
    loop {
        let owner_is_done = threads.owner_is_done.load(Ordering::Acquire);
        let now_ns = monotonic_ns();
        let round = completer
            .complete(now_ns, &mut Ends(threads))
            .context("complete")?;
        let ring = completer.completions();
        let left_packets = ring.packets_in_ring();
        if owner_is_done && left_packets == 0 {
            return Ok(());
        }
        let moves = round.done.packets > 0 || left_packets == 0;
        if let Some(for_ns) = standstill.look(moves, now_ns) {
            bail!(
                "{} stands still: nothing completed for {} ms, with {left_packets} packets in its \
                 ring",
                ring.device(),
                for_ns / 1_000_000,
            );
        }
        if !threads.control.is_stopped() {
            watchdog.look(&Look {
                packet_ring_is_empty: left_packets == 0,
                submit_ring_packets: submitter.waiting_packets(),
                submitted_packets: threads.counts.taken_packets.load(Ordering::Relaxed),
            });
        }
        let wakeup_ns = completer.next_wakeup().unwrap_or(u64::MAX);
        let next_ns = wakeup_ns.min(now_ns.saturating_add(cadence_ns));
        threads
            .late
            .sleep(next_ns.saturating_sub(monotonic_ns()).max(1));
    }
}
