//! Faults of AF_XDP: every accepted frame ends once.

use std::collections::BTreeSet;
use std::io;

use taut_linux::af_packet::PacketReceiver;
use taut_linux::af_xdp::{AfXdp, UmemFrames, XdpConfig, XdpMode};
use taut_linux::link::{self, LinkMonitor, LinkState, RootQdisc};
use taut_linux::observe::Sysfs;
use taut_linux::{Frames, NetNs, Port, errno, sched};
use taut_path::driver::CompletionStatus;
use taut_path::tunables::{Setting, Tunable};
use taut_path::{AnyLimit, Queue, Stop};

use crate::common::{allowed, until};

const FRAMES: u32 = 4096;
const FILL_FRAMES: u32 = 64;
const LENGTH: usize = 1_000;

const CONFIG: XdpConfig = XdpConfig {
    queue: 0,
    slots: 256,
    frames: FRAMES,
    frame_bytes: 2048,
    fill_frames: FILL_FRAMES,
    mode: XdpMode::Copy,
};

/// A veth into a bridge, whose other port has a shaper before the far side: behind that shaper,
/// completions are valid.
struct Bridged {
    near: NetNs,
    far: NetNs,
    receiver: PacketReceiver,
}

impl Bridged {
    fn new(rate_bits_per_s: u64) -> Self {
        let (near, far) = (NetNs::new().expect("ns"), NetNs::new().expect("ns"));
        link::add_bridge(&near, "bridge").expect("bridge");
        link::add_veth_pair(&near, "out", &far, "far").expect("veth");
        let wire = Self {
            receiver: PacketReceiver::open(&far, "far").expect("receives"),
            near,
            far,
        };
        wire.add_near();
        for device in ["bridge", "out"] {
            link::set_up(&wire.near, device).expect("up");
        }
        link::add_to_bridge(&wire.near, "bridge", "out").expect("port");
        link::set_up(&wire.far, "far").expect("up");
        wire.wait_until_it_forwards();
        wire.shape(rate_bits_per_s);
        wire
    }

    /// A bridge starts forwarding some time after its ports are up.
    fn wait_until_it_forwards(&self) {
        let mut sender = Sender::new(&self.near, "off");
        let mut arrived = BTreeSet::new();
        until("the bridge forwards", || {
            sender.step(1);
            collect(&self.receiver, &mut arrived);
            !arrived.is_empty()
        });
        sender.finish();
        let sent = sender.numbers - 1;
        until("the last is here", || {
            collect(&self.receiver, &mut arrived);
            arrived.contains(&sent)
        });
    }

    /// The kernel detects a carrier some time later; until then a bridge drops its input.
    fn wait_until_ports_run(&self) {
        for port in ["port", "out"] {
            until("a port runs", || {
                let watch = LinkMonitor::open(&self.near, port).expect("is there");
                watch.state() == LinkState::Running
            });
        }
    }

    /// The device that the socket is bound to.
    fn add_near(&self) {
        link::add_veth_pair(&self.near, "near", &self.near, "port").expect("veth");
        link::add_to_bridge(&self.near, "bridge", "port").expect("port");
        link::set_up(&self.near, "near").expect("up");
        link::set_up(&self.near, "port").expect("up");
    }

    fn shape(&self, rate_bits_per_s: u64) {
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: 5_000,
            limit_bytes: 16 << 20,
        };
        link::set_root_qdisc(&self.near, "out", shaper).expect("shaper");
    }
}

/// A queue over a socket, and counts of its packets.
struct Sender {
    queue: Queue<AfXdp>,
    frames: UmemFrames,
    numbers: u32,
    late: u64,
    errors: Vec<io::Error>,
}

impl Sender {
    fn new(near: &NetNs, limit: &str) -> Self {
        let (ring, frames) = AfXdp::open(near, "near", &CONFIG).expect("opens");
        let queue = Queue::builder_for(ring)
            .limit(limit.parse::<AnyLimit>().expect("limit"))
            .build(sched::monotonic_ns())
            .expect("builds");
        Self {
            queue,
            frames,
            numbers: 0,
            late: 0,
            errors: Vec::new(),
        }
    }

    /// Enqueues `packets` more, and runs the queue.
    fn step(&mut self, packets: u32) {
        let now_ns = sched::monotonic_ns();
        for _ in 0..packets {
            let mut frame = vec![0xab; LENGTH];
            frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
            frame[12..14].copy_from_slice(&0x88b5_u16.to_be_bytes());
            frame[14..18].copy_from_slice(&self.numbers.to_be_bytes());
            let Ok(packet) = self.frames.packet(&frame) else {
                break;
            };
            self.numbers += 1;
            self.queue.enqueue(packet, now_ns, &mut self.frames);
        }
        if let Stop::Failed(error) = self.queue.run(now_ns, &mut self.frames) {
            self.errors.push(error);
        }
        match self.queue.complete(now_ns, &mut self.frames) {
            Ok(completed) => self.late += u64::from(completed.stale_packets),
            Err(error) => self.errors.push(io::Error::other(error.to_string())),
        }
    }

    /// Recovers: resets the queue, and opens a new socket.
    fn reopen(&mut self) -> io::Result<()> {
        self.queue.reset(sched::monotonic_ns());
        self.queue.device_mut().reopen()
    }

    fn completed(&self) -> u64 {
        self.queue.completer_counters().completed_packets
    }

    /// Every enqueued packet ended once.
    fn assert_conserved(&mut self) {
        let drops = self.queue.sender_counters().drops.total();
        assert_eq!(self.queue.backlog().packets, 0);
        assert_eq!(
            self.completed() + self.late + drops,
            u64::from(self.numbers)
        );
        assert_eq!(self.frames.free_frames(), FRAMES - FILL_FRAMES);
        assert_eq!(self.frames.rejected_frames(), 0);
        assert_eq!(self.queue.completer_counters().unknown_completions, 0);
        assert_eq!(self.queue.device().unknown_completions(), 0);
    }

    fn finish(&mut self) {
        until("all is complete", || {
            self.step(0);
            self.queue.in_flight() == 0 && self.queue.backlog().packets == 0
        });
    }
}

/// Adds the numbers of received frames; each can arrive once.
fn collect(receiver: &PacketReceiver, numbers: &mut BTreeSet<u32>) {
    let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
    loop {
        let bytes = match receiver.read(&mut buffer) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break,
            // Reported once when the device goes down.
            Err(error) if errno(&error) == Some(libc::ENETDOWN) => continue,
            Err(error) => panic!("{error}"),
        };
        let frame = &buffer[bytes.saturating_sub(LENGTH)..bytes];
        if bytes < LENGTH || frame[12..14] != 0x88b5_u16.to_be_bytes() {
            continue;
        }
        let number = u32::from_be_bytes(frame[14..18].try_into().expect("four"));
        // Not always in order: two CPUs dequeue from a shaper alternately.
        assert!(numbers.insert(number), "{number} came twice");
    }
}

#[test]
fn limit_behind_a_shaper_keeps_full_rate() {
    if !allowed() {
        return;
    }
    // 10 Mbit/s, 1,000 bytes every 0.8 ms, with a margin for a slow machine.
    let wire = Bridged::new(10_000_000);
    let mut sender = Sender::new(&wire.near, "dql");
    let mut arrived = BTreeSet::new();
    while sender.completed() < 1_000 {
        let missing = 64_u64.saturating_sub(sender.queue.backlog().packets) as u32;
        sender.step(missing);
        collect(&wire.receiver, &mut arrived);
        std::thread::sleep(std::time::Duration::from_micros(500));
    }
    assert_eq!(
        sender.queue.device().completion_status(),
        CompletionStatus::Valid
    );
    let in_flight = sender.queue.in_flight();
    assert!(
        in_flight < 128_000,
        "{in_flight} bytes in flight of a ring of 256,000"
    );
    sender.finish();
    until("all arrive", || {
        collect(&wire.receiver, &mut arrived);
        arrived.len() as u32 == sender.numbers
    });
    sender.assert_conserved();
}

#[test]
fn link_flap_loses_at_most_bytes_in_flight() {
    if !allowed() {
        return;
    }
    let wire = Bridged::new(20_000_000);
    let mut sender = Sender::new(&wire.near, "off");
    let mut arrived = BTreeSet::new();
    for _ in 0..20 {
        sender.step(50);
        collect(&wire.receiver, &mut arrived);
    }
    // The device to which the socket is bound: sends fail, and no frame is lost.
    link::set_down(&wire.near, "near").expect("down");
    until("it is reported", || {
        sender.step(0);
        !sender.errors.is_empty()
    });
    let text = sender.errors[0].to_string();
    assert!(text.starts_with("sendto near: "), "{text}");
    assert_eq!(errno(&sender.errors[0]), Some(libc::ENETDOWN));
    link::set_up(&wire.near, "near").expect("up");
    wire.wait_until_ports_run();
    // The lower device: its queued frames are purged, and completed without a trace.
    let before = sender.completed();
    link::set_down(&wire.near, "out").expect("down");
    link::set_up(&wire.near, "out").expect("up");
    wire.wait_until_ports_run();
    sender.finish();
    let in_doubt = 256;
    let sent = u64::from(sender.numbers);
    until("the rest arrives", || {
        collect(&wire.receiver, &mut arrived);
        arrived.len() as u64 + in_doubt >= sent
    });
    assert!(sender.completed() > before);
    assert!(arrived.len() as u64 <= sender.completed() + sender.late);
    sender.assert_conserved();
}

#[test]
fn recreated_device_is_used_after_removal() {
    if !allowed() {
        return;
    }
    let wire = Bridged::new(20_000_000);
    let mut sender = Sender::new(&wire.near, "taut");
    sender.step(200);
    link::delete(&wire.near, "near").expect("goes");
    until("it is reported", || {
        sender.step(1);
        !sender.errors.is_empty()
    });
    let text = sender.errors[0].to_string();
    assert!(text.starts_with("sendto near: "), "{text}");
    let gone = sender.reopen().expect_err("there is no device");
    assert!(gone.to_string().contains("near"), "{gone}");
    assert_eq!(errno(&gone), Some(libc::ENODEV));
    // Frames of the ring are returned, and the backlog stays.
    sender.step(0);
    assert_eq!(sender.queue.in_flight(), 0);
    let (waiting, before) = (sender.queue.backlog().packets, sender.completed());
    wire.add_near();
    sender.reopen().expect("is there again");
    sender.finish();
    assert_eq!(sender.completed(), before + waiting);
    sender.assert_conserved();
}

#[test]
fn a_namespace_that_is_deleted_ends_no_program() {
    if !allowed() {
        return;
    }
    let (near, far) = (NetNs::new().expect("ns"), NetNs::new().expect("ns"));
    link::add_veth_pair(&near, "near", &far, "far").expect("veth");
    link::set_up(&far, "far").expect("up");
    link::set_up(&near, "near").expect("up");
    let mut sender = Sender::new(&near, "dql");
    sender.step(100);
    drop(far);
    // The kernel removes a namespace asynchronously.
    until("the device is removed", || {
        sender.step(1);
        !sender.errors.is_empty() && sender.reopen().is_err()
    });
    sender.step(0);
    let now_ns = sched::monotonic_ns();
    sender.queue.flush(now_ns, &mut sender.frames);
    sender.assert_conserved();
}

#[test]
fn stall_is_reported_and_the_queue_recovers() {
    if !allowed() {
        return;
    }
    const THRESHOLD_NS: u64 = 300_000_000;
    // One frame a second: a stalled device.
    let wire = Bridged::new(8_000);
    let mut sender = Sender::new(&wire.near, "off");
    let threshold = Setting {
        tunable: Tunable::StallThresholdMs,
        value: 300,
    };
    sender.queue.set(threshold).expect("allowed");
    sender.step(100);
    // Called at each wake-up, so the stall is detected within twice the threshold.
    let stalled = loop {
        let at_ns = sender.queue.next_wakeup().expect("something is in flight");
        let now_ns = sched::monotonic_ns().max(at_ns);
        let completed = sender.queue.complete(now_ns, &mut sender.frames);
        if let Some(stalled) = completed.expect("completes").stalled {
            break stalled;
        }
    };
    assert!(
        (THRESHOLD_NS..=2 * THRESHOLD_NS).contains(&stalled.age_ns),
        "{stalled:?}"
    );
    sender.reopen().expect("a new socket");
    sender.step(0);
    assert!(sender.late > 80, "{} uncertain", sender.late);
    // The device recovers, and sends new frames.
    wire.shape(100_000_000);
    let before = sender.completed();
    sender.step(10);
    sender.finish();
    assert_eq!(sender.completed(), before + 10);
    sender.assert_conserved();
}

#[test]
fn queue_in_use_is_reported_as_busy() {
    if !allowed() {
        return;
    }
    let wire = Bridged::new(20_000_000);
    let _first = Sender::new(&wire.near, "off");
    let error = AfXdp::open(&wire.near, "near", &CONFIG).expect_err("is taken");
    assert_eq!(errno(&error), Some(libc::EBUSY));
    assert!(error.to_string().starts_with("bind near: "), "{error}");
    let nowhere = AfXdp::open(&wire.near, "nowhere", &CONFIG).expect_err("no such device");
    assert!(nowhere.to_string().contains("nowhere"), "{nowhere}");
    let beyond = XdpConfig { queue: 7, ..CONFIG };
    let error = AfXdp::open(&wire.near, "out", &beyond).expect_err("one queue only");
    assert_eq!(errno(&error), Some(libc::EINVAL));
}

#[test]
fn threaded_polling_peer_has_valid_completions() {
    if !allowed() {
        return;
    }
    let (near, far) = (NetNs::new().expect("ns"), NetNs::new().expect("ns"));
    link::add_veth_pair(&near, "near", &far, "far").expect("veth");
    link::set_up(&far, "far").expect("up");
    link::set_up(&near, "near").expect("up");
    let redirect = taut_linux::af_xdp::Redirect::Native;
    let (_ring, mut receiver, peer_frames) =
        AfXdp::open_both(&far, "far", &CONFIG, redirect).expect("opens");
    let sysfs = Sysfs::of_netns(&far).expect("sysfs");
    sysfs.set_threaded_polling("far", true).expect("polls");
    let mut sender = Sender::new(&near, "dql");
    until("it is believed", || {
        sender.step(64);
        receiver
            .receive(256, &mut |packet| {
                peer_frames.release(packet.into_frame()).expect("taken");
            })
            .expect("receives");
        sender.queue.device().completion_status() == CompletionStatus::Valid
    });
    assert!(!sender.queue.snapshot().early_completions);
}
