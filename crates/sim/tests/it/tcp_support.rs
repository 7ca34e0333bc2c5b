//! A network for the tests of TCP alone, independent of the simulator's own. Its flows share one
//! bottleneck with a queue counted in packets, and have constant delays.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use taut_sim::tcp::{Ack, TcpConfig, TcpReceiver, TcpSender};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// Headers of a data packet: a full packet of the default segment has 1,500 bytes.
pub const HEADER_BYTES: u64 = 52;

#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flow: usize,
    /// Number of packets of this flow that were sent before it.
    pub number: u64,
    pub start: u64,
    pub payload_bytes: u32,
    pub retransmission: bool,
    pub cwr: bool,
    pub marked: bool,
}

pub enum Fate {
    Deliver,
    Drop,
    Mark,
    Delay(u64),
    Twice,
}

#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub rate_bits_per_s: u64,
    /// Propagation delay in both directions together, without queue and transmission.
    pub round_trip_ns: u64,
    /// Size of the queue, without the packet on the wire.
    pub buffer_packets: usize,
    /// Packets are marked if this many are queued.
    pub mark_above: Option<usize>,
    /// Maximum delay of a packet before the queue, without reordering. Without it, the same flow
    /// always loses its packet in flows with synchronous cycles (Floyd and Jacobson's phase
    /// effects).
    pub jitter_ns: u64,
}

enum Event {
    Queue(Packet),
    Departure,
    Arrival(Packet),
    AckArrival(usize, Ack),
    Timer(usize),
}

pub struct Flow {
    pub sender: TcpSender,
    pub receiver: TcpReceiver,
    mss_bytes: u32,
    packets: u64,
    timer_ns: u64,
    last_queued_ns: u64,
    pub acks: u64,
}

type DataFate = Box<dyn FnMut(u64, &Packet) -> Fate>;
type OnArrival = Box<dyn FnMut(u64, &Packet, &TcpReceiver)>;
type AckFate = Box<dyn FnMut(u64, &Ack) -> Fate>;

pub struct Network {
    pub now_ns: u64,
    pub link: Link,
    pub flows: Vec<Flow>,
    /// Fate of a packet before it reaches the queue, and of an acknowledgement.
    pub data_fate: DataFate,
    pub ack_fate: AckFate,
    /// Called for each packet that arrives, with the receiver after it.
    pub on_arrival: OnArrival,
    pub sent_bytes: u64,
    pub drops: u64,
    pub marks: u64,
    events: BinaryHeap<Reverse<(u64, u64, usize)>>,
    bodies: Vec<Option<Event>>,
    free: Vec<usize>,
    count: u64,
    queue: VecDeque<Packet>,
    busy: Option<Packet>,
    random: Xoshiro256PlusPlus,
}

impl Network {
    pub fn new(link: Link, configs: &[TcpConfig]) -> Self {
        let flows = configs.iter().map(|config| Flow {
            sender: TcpSender::new(config),
            receiver: TcpReceiver::new(config),
            mss_bytes: config.mss_bytes,
            packets: 0,
            timer_ns: u64::MAX,
            last_queued_ns: 0,
            acks: 0,
        });
        Self {
            now_ns: 0,
            link,
            flows: flows.collect(),
            data_fate: Box::new(|_, _| Fate::Deliver),
            ack_fate: Box::new(|_, _| Fate::Deliver),
            on_arrival: Box::new(|_, _, _| ()),
            sent_bytes: 0,
            drops: 0,
            marks: 0,
            events: BinaryHeap::new(),
            bodies: Vec::new(),
            free: Vec::new(),
            count: 0,
            queue: VecDeque::new(),
            busy: None,
            random: Xoshiro256PlusPlus::seed_from_u64(1),
        }
    }

    pub fn write(&mut self, flow: usize, bytes: u64) {
        self.flows[flow].sender.write(bytes);
        self.send(flow);
    }

    /// Runs all events up to and including `until_ns`.
    pub fn run_until(&mut self, until_ns: u64) {
        while let Some(&Reverse((at, _, slot))) = self.events.peek() {
            if at > until_ns {
                break;
            }
            self.events.pop();
            self.now_ns = at;
            self.free.push(slot);
            let event = self.bodies[slot].take().expect("an event is handled once");
            self.handle(event);
        }
        self.now_ns = until_ns;
    }

    fn at(&mut self, at_ns: u64, event: Event) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.bodies.push(None);
            self.bodies.len() - 1
        });
        self.bodies[slot] = Some(event);
        self.count += 1;
        self.events.push(Reverse((at_ns, self.count, slot)));
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Queue(packet) => self.enqueue(packet),
            Event::Departure => {
                let packet = self.busy.take().expect("a packet departs once");
                let at = self.now_ns + self.link.round_trip_ns / 2;
                self.at(at, Event::Arrival(packet));
                if let Some(next) = self.queue.pop_front() {
                    self.transmit(next);
                }
            }
            Event::Arrival(packet) => {
                let receiver = &mut self.flows[packet.flow].receiver;
                if packet.cwr {
                    receiver.on_cwr();
                }
                let ack = receiver.on_segment(
                    packet.start,
                    packet.payload_bytes,
                    packet.marked,
                    self.now_ns,
                );
                (self.on_arrival)(self.now_ns, &packet, receiver);
                self.send_ack(packet.flow, ack);
            }
            Event::AckArrival(flow, ack) => {
                self.flows[flow].sender.on_ack(&ack, self.now_ns);
                self.send(flow);
            }
            // An earlier timer was armed, and its processing armed the next.
            Event::Timer(flow) if self.flows[flow].timer_ns != self.now_ns => (),
            Event::Timer(flow) => {
                self.flows[flow].timer_ns = u64::MAX;
                self.flows[flow].sender.on_timer(self.now_ns);
                let ack = self.flows[flow].receiver.on_timer(self.now_ns);
                self.send_ack(flow, ack);
                self.send(flow);
            }
        }
    }

    fn send(&mut self, flow: usize) {
        while let Some(segment) = self.flows[flow].sender.next_segment(self.now_ns) {
            let (mut start, mut cwr) = (segment.start, segment.cwr);
            while start < segment.end() {
                let of_flow = &mut self.flows[flow];
                let bytes = (segment.end() - start).min(u64::from(of_flow.mss_bytes)) as u32;
                let packet = Packet {
                    flow,
                    number: of_flow.packets,
                    start,
                    payload_bytes: bytes,
                    retransmission: segment.retransmission,
                    cwr: std::mem::take(&mut cwr),
                    marked: false,
                };
                of_flow.packets += 1;
                start += u64::from(bytes);
                self.send_packet(packet, segment.ecn_capable);
            }
        }
        self.arm(flow);
    }

    fn send_packet(&mut self, mut packet: Packet, ecn_capable: bool) {
        let mut at = self.now_ns;
        match (self.data_fate)(self.now_ns, &packet) {
            Fate::Deliver => (),
            Fate::Drop => return,
            Fate::Mark => packet.marked = ecn_capable,
            Fate::Delay(ns) => {
                self.at(at + ns, Event::Queue(packet));
                return;
            }
            Fate::Twice => self.at(at, Event::Queue(packet)),
        }
        if self.link.jitter_ns > 0 {
            at += self.random.next_u64() % self.link.jitter_ns;
            let last = &mut self.flows[packet.flow].last_queued_ns;
            at = at.max(*last);
            *last = at;
            self.at(at, Event::Queue(packet));
        } else {
            self.enqueue(packet);
        }
    }

    fn enqueue(&mut self, mut packet: Packet) {
        if self.busy.is_none() {
            self.transmit(packet);
        } else if self.queue.len() < self.link.buffer_packets {
            if self
                .link
                .mark_above
                .is_some_and(|max| self.queue.len() >= max)
            {
                packet.marked = true;
                self.marks += 1;
            }
            self.queue.push_back(packet);
        } else {
            self.drops += 1;
        }
    }

    fn transmit(&mut self, packet: Packet) {
        let bytes = u64::from(packet.payload_bytes) + HEADER_BYTES;
        self.sent_bytes += bytes;
        self.busy = Some(packet);
        let at = self.now_ns + bytes * 8 * SECOND / self.link.rate_bits_per_s;
        self.at(at, Event::Departure);
    }

    fn send_ack(&mut self, flow: usize, ack: Option<Ack>) {
        if let Some(ack) = ack {
            self.flows[flow].acks += 1;
            let at = self.now_ns + self.link.round_trip_ns / 2;
            match (self.ack_fate)(self.now_ns, &ack) {
                Fate::Deliver | Fate::Mark => self.at(at, Event::AckArrival(flow, ack)),
                Fate::Drop => (),
                Fate::Delay(ns) => self.at(at + ns, Event::AckArrival(flow, ack)),
                Fate::Twice => {
                    self.at(at, Event::AckArrival(flow, ack));
                    self.at(at, Event::AckArrival(flow, ack));
                }
            }
        }
        self.arm(flow);
    }

    fn arm(&mut self, flow: usize) {
        let of_flow = &mut self.flows[flow];
        let timers = [
            of_flow.sender.next_timer_ns(),
            of_flow.receiver.next_timer_ns(),
        ];
        if let Some(next) = timers.into_iter().flatten().min()
            && next < of_flow.timer_ns
        {
            let at = next.max(self.now_ns);
            of_flow.timer_ns = at;
            self.at(at, Event::Timer(flow));
        }
    }
}
