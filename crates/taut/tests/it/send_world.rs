//! Helpers of the tests of `taut send`: a link between namespaces, a receiver at its far end, and
//! the command.

use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use serde_json::Value;
use taut_linux::af_packet::PacketReceiver;
use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::{NetNs, VirtioNetHeader, poll, privilege, sched};

/// Timeout of a test, long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const DEVICE: &str = "near";
const FAR_DEVICE: &str = "far";
/// Time without frames after which the receiver ends.
const QUIET: Duration = Duration::from_millis(200);

/// Returns `true` if live tests can run here. With `CI=true` they must.
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

/// Returns a shaper of this rate.
pub fn shaped(rate_bits_per_s: u64) -> RootQdisc {
    RootQdisc::Tbf {
        rate_bits_per_s,
        burst_bytes: 5_000,
        limit_bytes: 64 << 20,
    }
}

/// A link between two namespaces. All threads are pinned to one CPU, because the kernel can
/// otherwise reorder the frames of a veth.
pub struct World {
    pub near: NetNs,
    pub far: Option<NetNs>,
    before: CpuSet,
}

impl World {
    pub fn new(qdisc: RootQdisc) -> Self {
        let before = sched_getaffinity(None).expect("processors");
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        sched_setaffinity(None, &here).expect("stays");
        let near = NetNs::new().expect("namespace");
        let mut world = Self {
            near,
            far: None,
            before,
        };
        world.make_link(qdisc);
        world
    }

    /// Creates the pair, up at both ends.
    pub fn make_link(&mut self, qdisc: RootQdisc) {
        self.add_link(qdisc);
        self.up();
    }

    pub fn up(&self) {
        link::set_up(&self.near, DEVICE).expect("up");
    }

    /// Creates the pair, with the near end down.
    pub fn add_link(&mut self, qdisc: RootQdisc) {
        let far = NetNs::new().expect("namespace");
        link::add_veth_pair(&self.near, DEVICE, &far, FAR_DEVICE).expect("pair");
        link::set_mac(&self.near, DEVICE, MacAddress::local(1)).expect("mac");
        link::set_mac(&far, FAR_DEVICE, MacAddress::local(2)).expect("mac");
        link::set_up(&far, FAR_DEVICE).expect("up");
        self.shape(qdisc);
        self.far = Some(far);
    }

    pub fn shape(&self, qdisc: RootQdisc) {
        link::set_root_qdisc(&self.near, DEVICE, qdisc).expect("qdisc");
    }

    /// Starts the command.
    pub fn send(&self, arguments: &str) -> Sending {
        Sending::start(&mut self.command(arguments))
    }

    /// Returns the command.
    pub fn command(&self, arguments: &str) -> Command {
        let namespace = self.near.as_fd().as_raw_fd();
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command
            .args(["send", DEVICE, "-j", "-n"])
            .arg(format!("/proc/{}/fd/{namespace}", std::process::id()))
            .args(arguments.split_ascii_whitespace());
        command
    }

    /// Starts a receiver at the far end.
    pub fn listen(&self) -> Listener {
        Listener::start(self.far.as_ref().expect("there is one"))
    }

    /// Waits until `condition` is true.
    pub fn until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < PATIENCE, "timeout: {what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until the device has sent this many more packets.
    pub fn wait_for_packets(&self, packets: u64) {
        let sent = || link::statistics(&self.near, DEVICE).map_or(0, |counts| counts.tx_packets);
        let before = sent();
        self.until("packets leave", || sent() >= before + packets);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The next test can run on the same thread.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// A running command, and its messages so far.
pub struct Sending(pub Child, String);

/// The result of the command.
#[derive(Debug)]
pub struct Sent {
    pub code: Option<i32>,
    pub document: Value,
    pub talk: String,
}

impl Sending {
    pub fn start(command: &mut Command) -> Self {
        command.stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().expect("starts"), String::new())
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(process, signal).expect("it runs");
    }

    /// Waits for a message that contains `what`.
    pub fn waits_for(&mut self, what: &str) {
        let Self(child, messages) = self;
        let talk = child.stderr.as_mut().expect("piped");
        let patience_ns = sched::monotonic_ns() + PATIENCE.as_nanos() as u64;
        let mut bytes = [0; 512];
        while !messages.contains(what) {
            let ready = poll::wait(&[talk.as_fd()], Some(patience_ns)).expect("polls");
            assert!(ready.contains(&true), "no message {what:?}: {messages}");
            let length = talk.read(&mut bytes).expect("reads");
            assert!(length > 0, "ended without the message {what:?}: {messages}");
            *messages += &String::from_utf8_lossy(&bytes[..length]);
        }
    }

    /// Waits for the end of the command.
    pub fn end(mut self) -> Sent {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.0.try_wait().expect("waits") {
                break status;
            }
            if start.elapsed() > PATIENCE {
                let _ = self.0.kill();
                panic!("it does not end: {}", read(&mut self.0.stderr.take()));
            }
            thread::sleep(Duration::from_millis(5));
        };
        let document = read(&mut self.0.stdout.take());
        let talk = self.1 + &read(&mut self.0.stderr.take());
        println!("{status}\n{talk}{document}");
        Sent {
            code: status.code(),
            document: serde_json::from_str(&document).unwrap_or_default(),
            talk,
        }
    }
}

fn read(from: &mut Option<impl Read>) -> String {
    let mut text = String::new();
    let from = from.as_mut().expect("piped");
    from.read_to_string(&mut text).expect("text");
    text
}

impl Sent {
    pub fn count(&self, name: &str) -> u64 {
        let count = self.document[name].as_u64();
        count.unwrap_or_else(|| panic!("{name} in {self:?}"))
    }

    pub fn dropped(&self) -> u64 {
        let reasons = self.document["dropped_packets"]
            .as_object()
            .expect("by reason");
        reasons.values().filter_map(Value::as_u64).sum()
    }

    /// Checks that every packet is counted once.
    pub fn assert_adds_up(&self) {
        let ended = self.count("completed_packets") + self.count("uncertain_packets");
        assert_eq!(
            self.count("submitted_packets"),
            ended + self.dropped(),
            "{self:?}"
        );
        assert_eq!(self.count("unaccounted_packets"), 0, "{self:?}");
    }
}

/// Stores every received frame.
pub struct Listener {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<ReceivedFrames>,
}

/// The received frames.
pub struct ReceivedFrames {
    pub frames: Vec<Vec<u8>>,
    /// Frames that the kernel dropped because the receiver was too slow.
    pub missed: u32,
}

impl Listener {
    fn start(ns: &NetNs) -> Self {
        let receiver = PacketReceiver::open(ns, FAR_DEVICE).expect("listens");
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut buffer = vec![0; PacketReceiver::READ_LIMIT_BYTES];
            let (mut frames, mut last) = (Vec::new(), Instant::now());
            while !stopped.load(Ordering::Relaxed) || last.elapsed() < QUIET {
                let soon_ns = sched::monotonic_ns() + 5_000_000;
                poll::wait(&[receiver.as_fd()], Some(soon_ns)).expect("polls");
                // The socket reports once that its device lost its carrier or was removed.
                while let Ok(Some(bytes)) = receiver.read(&mut buffer) {
                    last = Instant::now();
                    let (_, frame) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
                    frames.push(frame.to_vec());
                }
            }
            ReceivedFrames {
                frames,
                missed: receiver.take_dropped().unwrap_or(0),
            }
        });
        Self { stop, thread }
    }

    /// Ends when no more frames arrive.
    pub fn end(self) -> ReceivedFrames {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("listens")
    }
}

impl ReceivedFrames {
    /// Returns the sequence numbers of generated frames.
    pub fn numbers(&self) -> Vec<u64> {
        let number = |frame: &Vec<u8>| frame.get(42..50)?.try_into().ok().map(u64::from_be_bytes);
        self.frames.iter().filter_map(number).collect()
    }

    /// Checks that no frame is duplicated or reordered.
    pub fn assert_in_order(&self) {
        let numbers = self.numbers();
        let turned = numbers.windows(2).position(|pair| pair[0] >= pair[1]);
        assert_eq!(turned, None, "{:?}", turned.map(|at| &numbers[at..at + 2]));
    }

    /// Checks that completed frames were received, and no more than completed and uncertain ones.
    pub fn assert_agrees(&self, sent: &Sent) {
        let received = self.frames.len() as u64;
        let completed = sent.count("completed_packets");
        assert!(
            received <= completed + sent.count("uncertain_packets"),
            "{received}: {sent:?}"
        );
        assert!(
            completed <= received + u64::from(self.missed),
            "{received}: {sent:?}"
        );
    }
}
