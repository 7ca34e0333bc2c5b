//! Sends 20,000 frames through a ring under a byte limit, in two new network namespaces. Needs
//! root.

use std::{error::Error, io, process, thread, time::Duration};

#[allow(unused_imports, reason = "one of the two drivers is used")]
use taut_linux::{Frames, af_packet::AfPacket, af_xdp::AfXdp};
use taut_linux::{NetNs, Port, ensure_privilege, link, sched::monotonic_ns};
use taut_path::{AnyLimit, Queue, Stop, queue::CompleteError};

const FRAMES: u64 = 20_000;

fn main() -> Result<(), Box<dyn Error>> {
    if let Err(error) = ensure_privilege() {
        eprintln!("ring_sender: {error}");
        process::exit(77);
    }
    let (near, far) = (NetNs::new()?, NetNs::new()?);
    link::add_veth_pair(&near, "near", &far, "far")?;
    link::set_up(&far, "far")?;
    link::set_up(&near, "near")?;

    // The other driver: AfPacket::open(&near, "near", &Default::default())?
    let (ring, mut frames) = AfXdp::open(&near, "near", &Default::default())?;
    let mut queue = Queue::builder_for(ring)
        .qdisc("fq_codel".parse()?)
        .limit("taut".parse::<AnyLimit>()?)
        .build(monotonic_ns())?;

    let mut frame = [0; 1514];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5]);
    let mut queued = 0;
    while queued < FRAMES || queue.backlog().packets > 0 || queue.in_flight() > 0 {
        while queued < FRAMES && queue.backlog().packets < 100 {
            let Ok(packet) = frames.packet(&frame) else {
                break;
            };
            queue.enqueue(packet, monotonic_ns(), &mut frames);
            queued += 1;
        }
        let stop = queue.run(monotonic_ns(), &mut frames);
        let needs_reopen = match (stop, queue.complete(monotonic_ns(), &mut frames)) {
            // No completion for a second.
            (_, Ok(completed)) if completed.stalled.is_some() => true,
            // The ring of a device that is down keeps its packets.
            (Stop::Failed(error), _) | (_, Err(CompleteError::Driver(error))) => {
                wait_after(&error);
                link::is_absent(&error)
            }
            (_, completed) => completed.map(|_| false)?,
        };
        if needs_reopen {
            queue.reset(monotonic_ns());
            while let Err(error) = queue.device_mut().reopen() {
                wait_after(&error); // until the device is present and up again
            }
        }
    }
    let (device, sent) = (queue.device(), queue.completer_counters().completed_packets);
    let (driver, mode, truth) = (
        device.driver(),
        device.mode(),
        device.completion_status().name(),
    );
    println!("{sent} frames over {driver} ({mode}); completions: {truth}");
    Ok(())
}

fn wait_after(error: &io::Error) {
    eprintln!("ring_sender: {error}");
    thread::sleep(Duration::from_millis(100));
}
