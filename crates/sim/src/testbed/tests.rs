//! What happens when.

use std::slice::from_mut;
use std::task::Waker;

use taut_path::limit::Fixed;
use taut_path::qdisc::Fifo;
use taut_path::{Frame, Packet, QueueConfig};

use super::*;
use crate::nic::NicConfig;
use crate::queue::queue_config;

type TestedQueue = Queue<RingOf, Fixed, Fifo>;

/// What was done, and when; a round with what it told of, and anything with the changes of the rate
/// before it.
type Log = Vec<(u64, &'static str, usize)>;

/// Does what is listed, and writes down what happens.
struct Listed {
    queue: TestedQueue,
    own: Vec<(u64, Own)>,
    interrupts_ns: Vec<u64>,
    log: Log,
}

impl Experiment for Listed {
    type Queue = TestedQueue;
    type Watch = ();

    fn queues(&mut self) -> &mut [TestedQueue] {
        from_mut(&mut self.queue)
    }

    fn next_ns(&self, own: Own) -> u64 {
        let next = self.own.iter().find(|listed| listed.1 == own);
        next.map_or(NEVER_NS, |listed| listed.0)
    }

    fn act(&mut self, own: Own, bed: &mut Testbed<()>, now_ns: u64) -> Result<(), QueueFault> {
        self.own.retain(|&listed| listed != (now_ns, own));
        let name = match own {
            Own::Offer => "offer",
            Own::GoOn => "go on",
            Own::Look => "look",
        };
        self.log.push((now_ns, name, bed.marks.len()));
        Ok(())
    }

    fn told(
        &mut self,
        _bed: &mut Testbed<()>,
        _at: usize,
        done: Completed,
        now_ns: u64,
    ) -> Result<(), QueueFault> {
        self.log
            .push((now_ns, "told", done.counts.packets as usize));
        Ok(())
    }

    fn next_interrupt(&mut self, nic: &mut MultiNic<()>, until_ns: u64) -> Option<(u64, usize)> {
        let at_ns = *self.interrupts_ns.first().filter(|&&it| it <= until_ns)?;
        self.interrupts_ns.remove(0);
        nic.send_until(at_ns);
        Some((at_ns, 0))
    }
}

/// Runs a queue with `packets` of 100 ns each, of which a round takes one, until 10 us.
fn log(setup: Setup, packets: u32, own: &[(u64, Own)], interrupts_ns: &[u64]) -> Log {
    let nic = NicConfig::plain(8_000_000_000, 16);
    let (nic, mut rings) = MultiNic::watched(&nic, 1, (), false).expect("valid");
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
        own: own.to_vec(),
        interrupts_ns: interrupts_ns.to_vec(),
        log: Vec::new(),
    };
    for frame in 0..packets {
        let packet = Packet::new(Frame::new(frame), 100);
        listed.queue.enqueue(packet, 0, &mut bed.sink);
    }
    let _ = listed.queue.run(0, &mut bed.sink);
    bed.run_until(&mut listed, 10_000)
        .expect("nothing is wrong");
    listed.log
}

#[test]
fn at_one_time_the_rate_is_first_then_what_is_offered_then_the_device_then_senders_then_looks() {
    let setup = Setup {
        rates: vec![(1_000, 1_000_000_000)],
        ..Setup::default()
    };
    let own = [Own::Look, Own::GoOn, Own::Offer].map(|own| (1_000, own));
    let order = [
        (1_000, "offer", 1),
        (1_000, "told", 1),
        (1_000, "go on", 1),
        (1_000, "look", 1),
    ];
    assert_eq!(log(setup, 1, &own, &[1_000]), order);
}

#[test]
fn a_round_that_stopped_at_its_budget_goes_on_and_masks_interrupts_until_it_is_through() {
    let setup = Setup {
        round_ns: 50,
        ..Setup::default()
    };
    // The round at 1,100 finds the last.
    let rounds = [1_000, 1_050, 1_100].map(|at_ns| (at_ns, "told", 1));
    let [first, second, third] = rounds;
    let after = (1_150, "told", 0);
    assert_eq!(
        log(setup, 3, &[], &[1_000, 1_020, 1_150]),
        [first, second, third, after]
    );
}

#[test]
fn interrupts_that_cost_are_served_one_after_the_other() {
    let setup = Setup {
        interrupt_ns: 100,
        ..Setup::default()
    };
    let told = [(1_100, "told", 1), (1_200, "told", 0)];
    assert_eq!(log(setup, 1, &[], &[1_000, 1_010]), told);
}
