//! Shared parts of the live tests. Each test creates its own namespaces.

pub mod packets;

use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use taut_linux::link::{self, MacAddress};
use taut_linux::{NetNs, Tap, TapConfig, VirtioNetHeader, WriteOutcome, poll, privilege, sched};

/// Test timeout, far longer than on any busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const LEFT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const RIGHT: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
pub const LEFT_MAC: MacAddress = MacAddress::local(1);
pub const RIGHT_MAC: MacAddress = MacAddress::local(2);

/// Returns `true` if live tests can run here. With `CI=true`, it fails instead of returning
/// `false`.
pub fn allowed() -> bool {
    match privilege() {
        Ok(_) => true,
        Err(missing) if std::env::var("CI").as_deref() == Ok("true") => panic!("{missing}"),
        Err(missing) => {
            eprintln!("skipped: {missing}");
            false
        }
    }
}

/// Waits until `condition` holds.
pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "timed out: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Configures a device: address, neighbour, up.
pub fn settle(ns: &NetNs, device: &str, own: Ipv4Addr, other: Ipv4Addr, other_mac: MacAddress) {
    link::add_address(ns, device, own, 24).expect("address");
    link::set_up(ns, device).expect("up");
    link::add_neighbour(ns, device, other, other_mac).expect("neighbour");
}

/// Two namespaces, each with a TAP; the holder of the TAPs is the wire between them.
pub struct Taps {
    pub left_ns: NetNs,
    pub right_ns: NetNs,
    pub left: Arc<Tap>,
    pub right: Arc<Tap>,
}

impl Taps {
    pub fn new(config: TapConfig) -> Self {
        let left_ns = NetNs::new().expect("namespace");
        let right_ns = NetNs::new().expect("namespace");
        let open = |ns: &NetNs, name, mac| {
            Arc::new(
                Tap::open(
                    ns,
                    name,
                    TapConfig {
                        mac: Some(mac),
                        ..config
                    },
                )
                .expect("tap"),
            )
        };
        let left = open(&left_ns, "left", LEFT_MAC);
        let right = open(&right_ns, "right", RIGHT_MAC);
        settle(&left_ns, "left", LEFT, RIGHT, RIGHT_MAC);
        settle(&right_ns, "right", RIGHT, LEFT, LEFT_MAC);
        Self {
            left_ns,
            right_ns,
            left,
            right,
        }
    }

    /// Forwards frames in both directions until it is dropped.
    pub fn forward(&self) -> Wire {
        Wire::new(Arc::clone(&self.left), Arc::clone(&self.right))
    }
}

/// Frames that passed over a wire from left to right.
#[derive(Default)]
pub struct WireCounts {
    pub frames: AtomicU64,
    pub longest_bytes: AtomicU64,
    /// Frames longer than one segment, and those of them whose header describes their segmentation.
    pub gso_packets: AtomicU64,
    pub with_segmentation: AtomicU64,
    pub refused: AtomicU64,
}

impl WireCounts {
    fn note(&self, buffer: &[u8]) {
        let (header, frame) = VirtioNetHeader::split(buffer).expect("header");
        self.frames.fetch_add(1, Ordering::Relaxed);
        self.longest_bytes
            .fetch_max(frame.len() as u64, Ordering::Relaxed);
        if frame.len() > 1514 {
            self.gso_packets.fetch_add(1, Ordering::Relaxed);
            let cut = header.segmentation(frame).is_some_and(|cut| {
                cut.payload_bytes.get() <= 1460 && (54..=114).contains(&cut.header_bytes)
            });
            self.with_segmentation
                .fetch_add(u64::from(cut), Ordering::Relaxed);
        }
    }
}

/// A thread that copies frames between two TAPs.
pub struct Wire {
    pub counts: Arc<WireCounts>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Wire {
    fn new(left: Arc<Tap>, right: Arc<Tap>) -> Self {
        let counts = Arc::new(WireCounts::default());
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let (counts, stop) = (Arc::clone(&counts), Arc::clone(&stop));
            move || {
                let mut buffer = vec![0; left.read_limit_bytes()];
                while !stop.load(Ordering::Relaxed) {
                    let soon_ns = sched::monotonic_ns() + 5_000_000;
                    poll::wait(&[left.as_fd(), right.as_fd()], Some(soon_ns)).expect("poll");
                    for (from, to) in [(&left, &right), (&right, &left)] {
                        while let Some(bytes) = from.read(&mut buffer).expect("read") {
                            if Arc::ptr_eq(from, &left) {
                                counts.note(&buffer[..bytes]);
                            }
                            if to.write(&buffer[..bytes]).expect("write") != WriteOutcome::Accepted
                            {
                                counts.refused.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                }
            }
        });
        Self {
            counts,
            stop,
            thread: Some(thread),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        if !std::thread::panicking() {
            ended.expect("thread").expect("the wire must not fail");
        }
    }
}

/// Ends the threads that check it, even after a failed assertion, because a scope waits for them.
pub struct StopOnDrop<'a>(pub &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
