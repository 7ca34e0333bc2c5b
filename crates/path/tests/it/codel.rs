//! CoDel against RFC 8289: when it drops or marks, and when it must not.

use crate::support::{Books, packet};
use taut_path::qdisc::{Codel, CodelConfig, Qdisc};
use taut_path::{DropReason, Ecn};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

/// A queue from which a link takes a packet at regular intervals.
struct Line {
    codel: Codel,
    books: Books,
    now_ns: u64,
    next_frame: u32,
    bytes: u32,
    ecn: Ecn,
    /// Sent packets, with their times.
    sent: Vec<(u64, u32, Ecn)>,
    /// Times of drops and marks.
    signals_ns: Vec<u64>,
}

impl Line {
    fn new(config: CodelConfig) -> Self {
        Self {
            codel: Codel::new(10_000, config),
            books: Books::default(),
            now_ns: 5 * S,
            next_frame: 0,
            bytes: 1514,
            ecn: Ecn::NotCapable,
            sent: Vec::new(),
            signals_ns: Vec::new(),
        }
    }

    fn enqueue(&mut self, packets: u32) {
        for _ in 0..packets {
            let mut packet = packet(self.next_frame, self.bytes);
            packet.set_ecn(self.ecn);
            self.next_frame += 1;
            self.codel.enqueue(packet, self.now_ns, &mut self.books);
        }
    }

    fn signals(&self) -> usize {
        self.books.dropped.len() + self.books.marked.len()
    }

    fn dequeue(&mut self) {
        let before = self.signals();
        if let Some(packet) = self.codel.dequeue(self.now_ns, &mut self.books) {
            let ecn = packet.ecn();
            self.sent
                .push((self.now_ns, packet.into_frame().index(), ecn));
        }
        for _ in before..self.signals() {
            self.signals_ns.push(self.now_ns);
        }
    }

    /// Keeps `backlog_packets` queued and sends one per `step_ns` for `length_ns`.
    fn hold(&mut self, backlog_packets: u32, step_ns: u64, length_ns: u64) {
        let end_ns = self.now_ns + length_ns;
        while self.now_ns < end_ns {
            let missing = u64::from(backlog_packets) - self.codel.backlog().packets;
            self.enqueue(missing as u32);
            self.now_ns += step_ns;
            self.dequeue();
        }
    }

    /// Sends one packet per `step_ns` until none is left.
    fn drain(&mut self, step_ns: u64) {
        while self.codel.backlog().packets > 0 {
            self.now_ns += step_ns;
            self.dequeue();
        }
    }
}

/// The times of the RFC: the first signal one interval after packets began to wait too long, each
/// further one interval / sqrt(count) later, starting with `count`.
fn signal_times(first_ns: f64, interval_ns: f64, count: u32, end_ns: f64) -> Vec<f64> {
    let mut times = vec![first_ns];
    let mut next_ns = first_ns + interval_ns / f64::from(count).sqrt();
    for count in count + 1.. {
        if next_ns >= end_ns {
            break;
        }
        times.push(next_ns);
        next_ns += interval_ns / f64::from(count).sqrt();
    }
    times
}

/// Each signal comes with the first dequeue at or after its time. Each step of the control law can
/// be up to 1 ns early.
fn assert_times(signals_ns: &[u64], expected_ns: &[f64], step_ns: u64) {
    assert_eq!(signals_ns.len(), expected_ns.len());
    for (at, (&signal_ns, &expected_ns)) in signals_ns.iter().zip(expected_ns).enumerate() {
        let late_ns = signal_ns as f64 - expected_ns;
        assert!(
            late_ns > -(at as f64) - 1.0 && late_ns <= step_ns as f64,
            "signal {at}: {late_ns} ns after its time"
        );
    }
}

#[test]
fn drops_follow_the_control_law() {
    let step_ns = 50_000;
    for (target_ns, interval_ns) in [(5 * MS, 100 * MS), (MS, 17 * MS), (700_000, 333 * MS)] {
        let mut line = Line::new(CodelConfig {
            target_ns,
            interval_ns,
            ..CodelConfig::default()
        });
        // 400 packets at one per 50 us always wait 20 ms.
        line.hold(400, step_ns, 3 * S);
        // Sojourn times rise until a packet reaches the target, which starts the interval.
        let above_ns = 5 * S + target_ns.next_multiple_of(step_ns);
        let first_ns = (above_ns + interval_ns).next_multiple_of(step_ns) as f64;
        let end_ns = (5 * S + 3 * S) as f64;
        let expected = signal_times(first_ns, interval_ns as f64, 1, end_ns);
        assert!(expected.len() > 12, "a table worth comparing");
        assert_times(&line.signals_ns, &expected, step_ns);
        let reasons = line.books.dropped.iter().map(|&(_, reason)| reason);
        assert!(
            reasons
                .into_iter()
                .all(|reason| reason == DropReason::WaitedTooLong)
        );
    }
}

#[test]
fn overdue_drops_happen_at_once() {
    let mut line = Line::new(CodelConfig::default());
    line.hold(400, 50_000, 500 * MS);
    let before = line.signals_ns.len() as u32;
    let (law_ns, end_ns) = (100e6, (line.now_ns + 700 * MS) as f64);
    let first_ns = line.signals_ns[0] as f64;
    line.enqueue(1);
    line.now_ns += 700 * MS;
    line.dequeue();
    let expected = signal_times(first_ns, law_ns, 1, end_ns).len() as u32 - before;
    assert!(expected > 5);
    let overdue = line.signals_ns.iter().filter(|&&at| at == line.now_ns);
    assert_eq!(overdue.count() as u32, expected);
}

#[test]
fn packet_below_the_target_ends_dropping() {
    let mut line = Line::new(CodelConfig::default());
    line.hold(400, 50_000, 500 * MS);
    line.drain(1);
    let drops = line.books.dropped.len();
    // 3 ms of sojourn time: below the target permanently.
    line.hold(60, 50_000, 2 * S);
    assert_eq!(line.books.dropped.len(), drops);
}

/// Overload for `first_ns`, a pause, and overload again. Returns the times of the second series of
/// signals.
fn second_round(pause_ns: u64) -> (usize, Vec<u64>) {
    let mut line = Line::new(CodelConfig::default());
    line.hold(400, 50_000, 900 * MS);
    let first = line.signals_ns.len();
    line.drain(1_000);
    line.now_ns += pause_ns;
    let start_ns = line.now_ns;
    line.hold(400, 50_000, 400 * MS);
    let again = line.signals_ns[first..].iter().map(|at| at - start_ns);
    (first, again.collect())
}

#[test]
fn dropping_resumes_at_its_recent_rate() {
    let (first, again) = second_round(MS);
    // Not the first signal, which set the count to 1: only later increments.
    let count = first as u32 - 1;
    assert!(count > 10);
    let expected = signal_times(105e6, 100e6, count, 400e6);
    assert_times(&again, &expected, 50_000);
}

#[test]
fn dropping_restarts_after_a_long_pause() {
    let (_, again) = second_round(1_700 * MS);
    assert_times(&again, &signal_times(105e6, 100e6, 1, 400e6), 50_000);
}

#[test]
fn empty_queue_clears_the_interval() {
    for pause_ns in [0, MS, 100 * S] {
        let mut line = Line::new(CodelConfig::default());
        line.hold(400, 50_000, 104 * MS);
        assert_eq!(line.books.dropped, [], "not yet a whole interval");
        line.drain(1);
        line.now_ns += pause_ns;
        line.hold(400, 50_000, 104 * MS);
        assert_eq!(line.books.dropped, [], "a new interval begins");
        line.hold(400, 50_000, 2 * MS);
        assert_eq!(line.books.dropped.len(), 1);
    }
}

#[test]
fn empty_queue_ends_dropping() {
    let mut line = Line::new(CodelConfig::default());
    line.hold(400, 50_000, 600 * MS);
    line.drain(1);
    let drops = line.books.dropped.len();
    assert!(drops > 5, "it was dropping when the queue ran empty");
    // The first new packets waited long, but for less than an interval.
    line.now_ns += S;
    line.enqueue(100);
    line.now_ns += 50 * MS;
    line.dequeue();
    line.dequeue();
    assert_eq!(line.books.dropped.len(), drops);
}

#[test]
fn queue_of_one_mtu_is_exempt() {
    // One full frame remains behind the one that is sent, and each waits 16 ms.
    let exempt = |bytes| {
        let mut line = Line::new(CodelConfig::default());
        line.bytes = bytes;
        line.hold(2, 8 * MS, 5 * S);
        line.books.dropped.is_empty()
    };
    assert!(exempt(1514));
    assert!(!exempt(1515));
}

#[test]
fn ecn_marks_capable_packets_and_drops_others() {
    let ecn = CodelConfig {
        ecn: true,
        ..CodelConfig::default()
    };
    let run = |config, ecn| {
        let mut line = Line::new(config);
        line.ecn = ecn;
        line.hold(400, 50_000, S);
        line
    };
    let dropping = run(ecn, Ecn::NotCapable);
    assert!(dropping.books.marked.is_empty() && dropping.books.dropped.len() > 10);
    let marking = run(ecn, Ecn::Capable);
    assert_eq!(marking.books.dropped, []);
    assert_eq!(marking.signals_ns, dropping.signals_ns, "at the same times");
    let marked = marking.sent.iter().filter(|sent| sent.2 == Ecn::Marked);
    let marked: Vec<u32> = marked.map(|sent| sent.1).collect();
    assert_eq!(marked, marking.books.marked, "marked packets are sent");
    // Marked before: neither marked again nor dropped.
    let before = run(ecn, Ecn::Marked);
    assert_eq!(before.signals(), 0);
    let off = run(CodelConfig::default(), Ecn::Capable);
    assert_eq!(off.signals_ns, dropping.signals_ns);
    assert!(off.books.marked.is_empty());
}

#[test]
fn threshold_marks_every_late_packet() {
    let mut line = Line::new(CodelConfig {
        ce_threshold_ns: Some(MS),
        ..CodelConfig::default()
    });
    for ecn in [Ecn::Capable, Ecn::NotCapable, Ecn::Capable] {
        line.ecn = ecn;
        line.enqueue(1);
    }
    line.now_ns += MS;
    line.dequeue();
    line.now_ns += 1;
    line.dequeue();
    line.dequeue();
    let ecn: Vec<Ecn> = line.sent.iter().map(|sent| sent.2).collect();
    assert_eq!(ecn, [Ecn::Capable, Ecn::NotCapable, Ecn::Marked]);
    assert_eq!(line.books.marked, [2]);
    assert_eq!(line.books.dropped, []);
}

#[test]
fn full_codel_drops_at_its_tail() {
    let mut codel = Codel::new(3, CodelConfig::default());
    let mut books = Books::default();
    for frame in 0..5 {
        assert_eq!(codel.accepts(&packet(9, 1)), frame < 3);
        codel.enqueue(packet(frame, 60), 0, &mut books);
    }
    let full = [3, 4].map(|frame| (frame, DropReason::QueueFull));
    assert_eq!(books.dropped, full);
    assert_eq!(codel.backlog().bytes, 180);
}
