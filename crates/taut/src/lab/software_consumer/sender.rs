//! The thread that sends: as much as it may, until the time is over.

use taut_linux::sched::monotonic_ns;
use taut_measure::trace::Tape;
use taut_path::qdisc::Fifo;
use taut_path::queue::Sender;
use taut_path::{DropReason, Frame, Packet, PacketSink, Stop};

use super::rest::rest_until;
use super::ring::{Measured, RingTx};
use super::seat::Seat;
use crate::interrupt;

/// The half of the queue that it owns.
pub type SendingHalf = Sender<RingTx, Fifo, Option<Tape>>;

/// The packet that waits for room.
pub const DISCIPLINE_PACKETS: u32 = 1;

/// What the sender does.
pub struct Flood {
    /// What a packet costs the sender, in ns.
    pub packet_ns: u64,
    /// What a packet counts for.
    pub units: u32,
    pub measured: Measured,
    /// It stands still at times: see [`rest_until`].
    pub rests: bool,
}

/// What it saw.
#[derive(Debug, Default)]
pub struct Sent {
    pub packets: u64,
    /// Packets that the limit or the ring never let through.
    pub dropped_packets: u64,
    pub rounds: Rounds,
}

/// Sends until the measured time is over, or somebody wants the process to end.
pub fn send(half: &mut SendingHalf, flood: &Flood, seat: &Seat) -> Sent {
    let mut ends = Ends::default();
    let mut sent = Sent::default();
    let mut now_ns = monotonic_ns();
    while now_ns < flood.measured.to_ns && interrupt::noted().is_none() {
        if half.backlog().packets == 0 {
            if flood.rests {
                now_ns = rest(now_ns, flood.measured.to_ns, seat);
            }
            now_ns = spin_until(now_ns + flood.packet_ns);
            // Frames have no bytes here: any number will do.
            let packet = Packet::new(Frame::new(0), flood.units);
            half.enqueue(packet, now_ns, &mut ends);
        }
        match half.run(now_ns, &mut ends) {
            // Whoever has nothing ready is not refused, and makes the next packet first.
            Stop::Limit | Stop::RingFull if half.backlog().packets > 0 => {
                let mut was_away = false;
                while now_ns < flood.measured.to_ns && half.must_wait() {
                    seat.sleep(Some(flood.measured.to_ns), || false);
                    was_away = true;
                    now_ns = monotonic_ns();
                }
                if was_away {
                    let finished = half.ring().finished();
                    sent.rounds.returned(now_ns, finished, flood.measured);
                }
            }
            Stop::Closed => break,
            _ => now_ns = monotonic_ns(),
        }
    }
    half.flush(now_ns, &mut ends);
    sent.packets = half.ring().submitted();
    sent.dropped_packets = ends.dropped_packets;
    sent
}

/// Stands still if it is time for that, and says what time it is then.
fn rest(mut now_ns: u64, end_ns: u64, seat: &Seat) -> u64 {
    if let Some(until_ns) = rest_until(now_ns, end_ns) {
        while now_ns < until_ns && interrupt::noted().is_none() {
            seat.sleep(Some(until_ns), || false);
            now_ns = monotonic_ns();
        }
    }
    now_ns
}

/// Works until `at_ns`, and says what time it is then.
pub fn spin_until(at_ns: u64) -> u64 {
    loop {
        let now_ns = monotonic_ns();
        if now_ns >= at_ns {
            return now_ns;
        }
        std::hint::spin_loop();
    }
}

/// Where packets end: they are numbers only.
#[derive(Debug, Default)]
pub struct Ends {
    pub dropped_packets: u64,
}

impl PacketSink for Ends {
    fn freed(&mut self, _: Packet) {}

    fn dropped(&mut self, _: Packet, _: DropReason) {
        self.dropped_packets += 1;
    }
}

/// The first and the last return of the sender in the measured time, and what was finished by then: whole
/// rounds say exactly what a limit gives.
#[derive(Debug, Default)]
pub struct Rounds {
    first: Option<(u64, u64)>,
    last: (u64, u64),
}

impl Rounds {
    fn returned(&mut self, now_ns: u64, finished: u64, measured: Measured) {
        if (measured.from_ns..measured.to_ns).contains(&now_ns) {
            self.last = (now_ns, finished);
            self.first.get_or_insert(self.last);
        }
    }

    /// Packets a second over whole rounds; `None` if they are less than half of `length_ns`.
    pub fn packets_per_s(&self, length_ns: u64) -> Option<f64> {
        let (first_ns, before) = self.first?;
        let (last_ns, finished) = self.last;
        let whole_ns = last_ns - first_ns;
        let packets = (finished - before) as f64;
        (whole_ns > length_ns / 2).then(|| packets * 1e9 / whole_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_rounds_are_counted_and_too_few_of_them_are_none() {
        let measured = Measured {
            from_ns: 1_000,
            to_ns: 2_000,
        };
        let mut rounds = Rounds::default();
        for (at_ns, finished) in [(900, 1), (1_100, 10), (1_400, 40), (1_700, 70), (2_100, 99)] {
            rounds.returned(at_ns, finished, measured);
        }
        assert_eq!(rounds.packets_per_s(1_000), Some(1e8));
        assert_eq!(rounds.packets_per_s(1_300), None);
        assert_eq!(Rounds::default().packets_per_s(0), None);
    }
}
