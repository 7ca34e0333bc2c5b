//! A saturated transmit queue in front of an emulated NIC, in virtual time.

use taut_path::qdisc::Fifo;
use taut_path::{
    AnyLimit, DropReason, Frame, Packet, PacketSink, Queue, QueueConfig, Segmentation, Stop,
};
use taut_sim::nic::{
    DescriptorRule, EmulatedNic, FinishedAt, Framing, InterruptRule, NicConfig, NicEvent,
    WireCounters,
};
use taut_sim::single_queue_bench::Rule;

/// Returns a NIC with a ring of 1,024 one-descriptor slots and this interrupt moderation.
pub fn nic(rate_bits_per_s: u64, interrupt: InterruptRule) -> EmulatedNic {
    with_rule(rate_bits_per_s, interrupt, DescriptorRule::OnePerPacket)
}

pub fn with_rule(
    rate_bits_per_s: u64,
    interrupt: InterruptRule,
    rule: DescriptorRule,
) -> EmulatedNic {
    let config = NicConfig {
        rate_bits_per_s,
        framing: Framing::ETHERNET,
        slots: 1_024,
        rule,
        interrupt,
        finished_at: FinishedAt::End,
        segments_apart: false,
        seed: 1,
    };
    EmulatedNic::new(config).expect("the settings are valid")
}

pub fn packet(frame: u32, bytes: u32) -> Packet {
    Packet::new(Frame::new(frame), bytes)
}

/// Returns 45 segments of 1,448 bytes with one set of headers.
pub fn gso_packet(frame: u32) -> Packet {
    let mut packet = packet(frame, 66 + 45 * 1_448);
    packet.segmentation = Segmentation::new(66, 1_448);
    packet
}

/// Counts the completed packets.
#[derive(Debug, Default)]
pub struct Freed {
    pub packets: u64,
}

impl PacketSink for Freed {
    fn freed(&mut self, packet: Packet) {
        // Oldest first, and each exactly once.
        assert_eq!(u64::from(packet.into_frame().index()), self.packets);
        self.packets += 1;
    }

    fn dropped(&mut self, _packet: Packet, reason: DropReason) {
        panic!("dropped: {}", reason.name());
    }
}

/// An event with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Sent(u64),
    Interrupt(u64),
    Timer(u64),
}

/// A saturating sender.
pub struct Saturated {
    pub queue: Queue<EmulatedNic, AnyLimit, Fifo>,
    pub freed: Freed,
    pub events: Vec<Event>,
    pub record: bool,
    /// The maximum amount in flight, in the limit's units, and the range of the limit since the
    /// last call of `forget`.
    pub peak: u32,
    pub limits: (u32, u32),
    make: fn(u32) -> Packet,
    frames: u32,
}

impl Saturated {
    pub fn new(rule: &Rule, nic: EmulatedNic, make: fn(u32) -> Packet) -> Self {
        let config = QueueConfig {
            restart_slots: Some(nic.restart_slots()),
            coalesce_ns: rule.coalesce_ns,
            // The tests are for whole GSO packets.
            late_segmentation: taut_path::LateSegmentation::Off,
            ..QueueConfig::default()
        };
        let queue = Queue::builder_for(nic)
            .limit(rule.limit.clone())
            .with_qdisc(Fifo::new(1_000))
            .config(config)
            .build(0);
        let mut this = Self {
            queue: queue.expect("the settings are valid"),
            freed: Freed::default(),
            events: Vec::new(),
            record: false,
            peak: 0,
            limits: (u32::MAX, 0),
            make,
            frames: 0,
        };
        this.send(0);
        this
    }

    fn send(&mut self, now_ns: u64) {
        loop {
            while self.queue.backlog().packets < 100 {
                let packet = (self.make)(self.frames);
                self.frames += 1;
                self.queue.enqueue(packet, now_ns, &mut self.freed);
            }
            if self.queue.run(now_ns, &mut self.freed) != Stop::Idle {
                break;
            }
        }
        let now = self.queue.snapshot();
        self.peak = self.peak.max(now.in_flight);
        self.limits.0 = self.limits.0.min(now.limit);
        self.limits.1 = self.limits.1.max(now.limit);
    }

    fn complete(&mut self, at_ns: u64) {
        let batch = self.queue.complete(at_ns, &mut self.freed);
        if batch.expect("the NIC reports what it was given").schedule {
            self.send(at_ns);
        }
    }

    /// Calls the loop at `now_ns`: processes all due events in nominal order.
    pub fn advance(&mut self, now_ns: u64) {
        loop {
            let event_ns = self.queue.device().next_event_ns();
            let timer_ns = self.queue.next_wakeup();
            if let Some(at_ns) = timer_ns
                && at_ns <= now_ns
                && event_ns.is_none_or(|event_ns| at_ns < event_ns)
            {
                self.log(Event::Timer(at_ns));
                self.complete(at_ns);
                continue;
            }
            match self.queue.device_mut().advance(now_ns) {
                None => return,
                Some((at_ns, NicEvent::Frame(_))) => self.log(Event::Sent(at_ns)),
                Some((at_ns, NicEvent::Interrupt(_))) => {
                    self.log(Event::Interrupt(at_ns));
                    self.complete(at_ns);
                }
            }
        }
    }

    fn log(&mut self, event: Event) {
        if self.record {
            self.events.push(event);
        }
    }

    /// Restarts the observation.
    pub fn forget(&mut self) {
        self.peak = 0;
        self.limits = (u32::MAX, 0);
    }

    pub fn wire(&self) -> WireCounters {
        self.queue.device().counters(0)
    }

    pub fn starved(&self) -> u64 {
        self.queue.completer_counters().starved
    }
}
