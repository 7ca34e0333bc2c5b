//! Small queues for many flows over one device, as a TCP stack in user space uses them, in virtual
//! time: 40 bulk flows, one FIFO, and a device that sends a packet each 12 us (1 Gbit/s).
//!
//! ```text
//! cargo run --example small_queues
//! ```
//!
//! With a smaller budget per flow, fewer packets wait below the sockets, where they cannot be
//! overtaken. The device stays busy in both runs.

use std::error::Error;
use std::task::Waker;

use taut_path::driver::testing::mock::{self, MockCompletions, MockTx};
use taut_path::pool::FramePool;
use taut_path::qdisc::Fifo;
use taut_path::tsq::{
    Charges, Flow, FlowBudgets, LIMIT_2012_BYTES, ReleasingSink, SendRequest, Settings, Sizing,
    memory_bytes,
};
use taut_path::{AnyLimit, DropReason, Packet, PacketSink, Queue, Stop};

const FLOWS: u32 = 40;
const PACKET_BYTES: usize = 1_514;
const PACKET_NS: u64 = 12_000;
const PACKETS: u64 = 20_000;
/// One sending thread, hence one deferred list.
const LIST: u32 = 0;

/// The sink of the program: returns frames to their pool, and counts the packets of each flow.
struct Delivered {
    pool: FramePool,
    packets: Vec<u32>,
}

impl PacketSink for Delivered {
    fn freed(&mut self, packet: Packet) {
        self.packets[packet.flow as usize] += 1;
        self.pool.freed(packet);
    }

    fn dropped(&mut self, packet: Packet, reason: DropReason) {
        self.pool.dropped(packet, reason);
    }
}

/// Everything below the sockets.
struct Stack {
    queue: Queue<(MockTx, MockCompletions), AnyLimit, Fifo>,
    charges: Charges,
    delivered: Delivered,
    now_ns: u64,
}

impl Stack {
    /// A flow with unlimited data sends until its budget is used up.
    fn send(&mut self, tag: u32, flow: &Flow) -> Result<(), Box<dyn Error>> {
        let packet_bytes = memory_bytes(PACKET_BYTES as u32, None);
        let request = SendRequest {
            packet_bytes,
            rate_bytes_per_s: 0,
        };
        while flow.may_send(request) {
            let packet = self.delivered.pool.packet(&[0; PACKET_BYTES])?;
            let mut packet = packet.with_charge(packet_bytes);
            packet.flow = tag;
            self.charges.charge(flow, &packet);
            let mut sink = ReleasingSink::new(&self.charges, &mut self.delivered);
            self.queue.enqueue(packet, self.now_ns, &mut sink);
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), Box<dyn Error>> {
        let mut sink = ReleasingSink::new(&self.charges, &mut self.delivered);
        match self.queue.run(self.now_ns, &mut sink) {
            Stop::Failed(error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn complete(&mut self) -> Result<(), Box<dyn Error>> {
        let mut sink = ReleasingSink::new(&self.charges, &mut self.delivered);
        // The caller runs the queue after each batch, so the request to run it is redundant.
        let _ = self.queue.complete(self.now_ns, &mut sink)?;
        Ok(())
    }
}

/// Sends [`PACKETS`] packets with this limit for each flow, and prints a row.
fn measure(limit_bytes: u32) -> Result<(), Box<dyn Error>> {
    let settings = Settings {
        sizing: Sizing::Fixed,
        limit_bytes,
    };
    let owners = std::slice::from_ref(Waker::noop());
    let budgets = FlowBudgets::new(FLOWS, settings, owners)?;
    let pool = FramePool::new(4_096, PACKET_BYTES as u32);
    let (tx, completions, device) = mock::ring(256);
    let mut stack = Stack {
        queue: Queue::builder(tx, completions)
            .with_qdisc(Fifo::new(4_096))
            .limit(AnyLimit::dql())
            .build(0)?,
        charges: budgets.charges(pool.frames()),
        delivered: Delivered {
            pool,
            packets: vec![0; FLOWS as usize],
        },
        now_ns: 0,
    };
    let flows = (0..FLOWS)
        .map(|tag| budgets.open(tag, LIST))
        .collect::<Result<Vec<_>, _>>()?;
    for (tag, flow) in (0..).zip(&flows) {
        stack.send(tag, flow)?;
    }
    stack.run()?;
    let (mut max_packets, mut sent) = (0, 0);
    while sent < PACKETS {
        stack.now_ns += PACKET_NS;
        sent += device.complete(1) as u64;
        stack.complete()?;
        let mut result = Ok(());
        budgets.run_deferred(LIST, |tag| {
            if result.is_ok() {
                result = stack.send(tag, &flows[tag as usize]);
            }
        });
        result?;
        stack.run()?;
        max_packets = budgets.packets().max(max_packets);
    }
    let delivered = &stack.delivered.packets;
    println!(
        "{limit_bytes:>7} {max_packets:>7} {:>8.1} {:>5.1} {:>5} to {}",
        (max_packets * PACKET_NS) as f64 / 1e6,
        sent as f64 * PACKET_NS as f64 * 100.0 / stack.now_ns as f64,
        delivered.iter().min().ok_or("no flow")?,
        delivered.iter().max().ok_or("no flow")?,
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("  limit   below  wait ms  link  packets of a flow");
    measure(LIMIT_2012_BYTES)?;
    measure(4 * memory_bytes(PACKET_BYTES as u32, None))?;
    Ok(())
}
