//! Tests of the order of events.

use std::slice::from_mut;
use std::task::Waker;

use taut_path::limit::Fixed;
use taut_path::qdisc::Fifo;
use taut_path::{Frame, Packet, QueueConfig};

use super::*;
use crate::nic::NicConfig;
use crate::queue::queue_config;

type TestedQueue = Queue<RingOf, Fixed, Fifo>;

/// Time, kind and number of each event: the completed packets of a batch, otherwise the number of
/// previous rate changes.
type Log = Vec<(u64, &'static str, usize)>;

/// An experiment with listed events, which logs their processing.
struct Listed {
    queue: TestedQueue,
    listed: Vec<(u64, BedEvent)>,
    interrupts_ns: Vec<u64>,
    log: Log,
}

impl Listed {
    fn run_until(&mut self, bed: &mut Testbed<()>, end_ns: u64) -> Result<(), TestbedError> {
        loop {
            let own = Schedule {
                arrival_ns: self.next_ns(BedEvent::Arrival),
                resume_ns: self.next_ns(BedEvent::Resume),
                sample_ns: self.next_ns(BedEvent::Sample),
            };
            let interrupts_ns = &mut self.interrupts_ns;
            let interrupts = |nic: &mut SharedNic<()>, until_ns| {
                let at_ns = *interrupts_ns.first().filter(|&&it| it <= until_ns)?;
                interrupts_ns.remove(0);
                nic.send_until(at_ns);
                Some((at_ns, 0))
            };
            let queues = from_mut(&mut self.queue);
            let Some(event) = bed.next(own, queues, end_ns, interrupts)? else {
                return Ok(());
            };
            self.on_event(event, bed);
        }
    }

    fn next_ns(&self, event: BedEvent) -> u64 {
        let next = self.listed.iter().find(|listed| listed.1 == event);
        next.map_or(NEVER_NS, |listed| listed.0)
    }

    fn on_event(&mut self, event: BedEvent, bed: &Testbed<()>) {
        let now_ns = bed.now_ns;
        self.listed.retain(|&listed| listed != (now_ns, event));
        let name = match event {
            BedEvent::Arrival => "arrival",
            BedEvent::Resume => "resume",
            BedEvent::Sample => "sample",
            BedEvent::Batch(_, done) => {
                let packets = done.counts.packets as usize;
                return self.log.push((now_ns, "batch", packets));
            }
        };
        self.log.push((now_ns, name, bed.marks.len()));
    }
}

/// Runs a queue with `packets` of 100 ns each and a budget of one packet per batch, until 10 us.
fn log(setup: Setup, packets: u32, events: &[(u64, BedEvent)], interrupts_ns: &[u64]) -> Log {
    let nic = NicConfig::plain(8_000_000_000, 16);
    let (nic, mut rings) = SharedNic::shared(&nic, 1, (), false).expect("valid");
    let config = QueueConfig {
        reap_budget_packets: 1,
        ..queue_config(None, Waker::noop().clone())
    };
    let queue = Queue::builder_for(rings.remove(0))
        .with_limit(Fixed::bytes(1_000_000))
        .with_qdisc(Fifo::new(16))
        .config(config)
        .build(0);
    let mut bed = Testbed::new(nic, setup);
    let mut listed = Listed {
        queue: queue.expect("valid"),
        listed: events.to_vec(),
        interrupts_ns: interrupts_ns.to_vec(),
        log: Vec::new(),
    };
    for frame in 0..packets {
        let packet = Packet::new(Frame::new(frame), 100);
        listed.queue.enqueue(packet, 0, &mut bed.sink);
    }
    let _ = listed.queue.run(0, &mut bed.sink);
    listed.run_until(&mut bed, 10_000).expect("no fault");
    listed.log
}

#[test]
fn simultaneous_events_have_a_fixed_order() {
    let setup = Setup {
        rates: vec![(1_000, 1_000_000_000)],
        ..Setup::default()
    };
    let events = [BedEvent::Sample, BedEvent::Resume, BedEvent::Arrival];
    let events = events.map(|event| (1_000, event));
    let order = [
        (1_000, "arrival", 1),
        (1_000, "batch", 1),
        (1_000, "resume", 1),
        (1_000, "sample", 1),
    ];
    assert_eq!(log(setup, 1, &events, &[1_000]), order);
}

#[test]
fn budgeted_polls_continue_and_mask_interrupts() {
    let setup = Setup {
        poll_interval_ns: 50,
        ..Setup::default()
    };
    // The batch at 1,100 reaps the last packet.
    let batches = [1_000, 1_050, 1_100].map(|at_ns| (at_ns, "batch", 1));
    let [first, second, third] = batches;
    let after = (1_150, "batch", 0);
    assert_eq!(
        log(setup, 3, &[], &[1_000, 1_020, 1_150]),
        [first, second, third, after]
    );
}

#[test]
fn interrupts_with_a_cost_are_served_in_order() {
    let setup = Setup {
        interrupt_ns: 100,
        ..Setup::default()
    };
    let batches = [(1_100, "batch", 1), (1_200, "batch", 0)];
    assert_eq!(log(setup, 1, &[], &[1_000, 1_010]), batches);
}
