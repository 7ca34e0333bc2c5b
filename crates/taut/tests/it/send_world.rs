//! What the tests of `taut send` share: a link in namespaces of their own, who listens at its far end,
//! and the command.

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

/// How long a test waits for what must happen before it fails: far beyond any busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
pub const DEVICE: &str = "near";
const FAR_DEVICE: &str = "far";
/// Quiet for so long, there is nothing more to come.
const QUIET: Duration = Duration::from_millis(200);

/// Whether live tests can run here. Where they must (`CI=true`), it is a failure if not.
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

/// So many bits a second.
pub fn shaped(rate_bits_per_s: u64) -> RootQdisc {
    RootQdisc::Tbf {
        rate_bits_per_s,
        burst_bytes: 5_000,
        limit_bytes: 64 << 20,
    }
}

/// A link from one namespace to another. Everything runs on one processor while it lives, or the
/// kernel itself may change the order of what passes a veth.
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

    /// Makes the pair, up at both ends.
    pub fn make_link(&mut self, qdisc: RootQdisc) {
        self.add_link(qdisc);
        self.up();
    }

    pub fn up(&self) {
        link::set_up(&self.near, DEVICE).expect("up");
    }

    /// Makes the pair, its near end down.
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

    /// Begins to send.
    pub fn send(&self, arguments: &str) -> Sending {
        Sending::start(&mut self.command(arguments))
    }

    /// What begins to send.
    pub fn command(&self, arguments: &str) -> Command {
        let namespace = self.near.as_fd().as_raw_fd();
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command
            .args(["send", DEVICE, "-j", "-n"])
            .arg(format!("/proc/{}/fd/{namespace}", std::process::id()))
            .args(arguments.split_ascii_whitespace());
        command
    }

    /// Listens at the far end.
    pub fn listen(&self) -> Listener {
        Listener::start(self.far.as_ref().expect("there is one"))
    }

    /// Waits until `condition` holds.
    pub fn until(&self, what: &str, mut condition: impl FnMut() -> bool) {
        let start = Instant::now();
        while !condition() {
            assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits until so many more packets have left the device.
    pub fn wait_for_packets(&self, packets: u64) {
        let sent = || link::statistics(&self.near, DEVICE).map_or(0, |counts| counts.tx_packets);
        let before = sent();
        self.until("packets leave", || sent() >= before + packets);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // The next test may be on the same thread.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// A command that runs, and what it said and was heard.
pub struct Sending(pub Child, String);

/// What became of it.
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

    /// Waits until it says this.
    pub fn hears(&mut self, what: &str) {
        let Self(child, said) = self;
        let talk = child.stderr.as_mut().expect("piped");
        let patience_ns = sched::monotonic_ns() + PATIENCE.as_nanos() as u64;
        let mut bytes = [0; 512];
        while !said.contains(what) {
            let ready = poll::wait(&[talk.as_fd()], Some(patience_ns)).expect("polls");
            assert!(ready.any(), "it never said {what:?}: {said}");
            let length = talk.read(&mut bytes).expect("reads");
            assert!(length > 0, "it ended and never said {what:?}: {said}");
            *said += &String::from_utf8_lossy(&bytes[..length]);
        }
    }

    /// Waits for its end.
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

    /// Every packet has ended, once.
    pub fn assert_adds_up(&self) {
        let ended = self.count("completed_packets") + self.count("in_doubt_packets");
        assert_eq!(
            self.count("submitted_packets"),
            ended + self.dropped(),
            "{self:?}"
        );
        assert_eq!(self.count("unaccounted_packets"), 0, "{self:?}");
    }
}

/// Keeps every frame that comes in.
pub struct Listener {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Heard>,
}

/// What came in.
pub struct Heard {
    pub frames: Vec<Vec<u8>>,
    /// Frames that the listener was too slow for.
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
                // It says once that its own end lost its carrier, or is gone.
                while let Ok(Some(bytes)) = receiver.read(&mut buffer) {
                    last = Instant::now();
                    let (_, frame) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
                    frames.push(frame.to_vec());
                }
            }
            Heard {
                frames,
                missed: receiver.take_dropped().unwrap_or(0),
            }
        });
        Self { stop, thread }
    }

    /// Ends when nothing comes in any more.
    pub fn end(self) -> Heard {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("listens")
    }
}

impl Heard {
    /// The numbers that `taut send` wrote into generated frames.
    pub fn numbers(&self) -> Vec<u64> {
        let number = |frame: &Vec<u8>| frame.get(42..50)?.try_into().ok().map(u64::from_be_bytes);
        self.frames.iter().filter_map(number).collect()
    }

    /// Nothing twice, and in the order in which it was sent.
    pub fn assert_in_order(&self) {
        let numbers = self.numbers();
        let turned = numbers.windows(2).position(|pair| pair[0] >= pair[1]);
        assert_eq!(turned, None, "{:?}", turned.map(|at| &numbers[at..at + 2]));
    }

    /// No more came in than what completed or is in doubt; and all that completed.
    pub fn assert_agrees(&self, sent: &Sent) {
        let heard = self.frames.len() as u64;
        let completed = sent.count("completed_packets");
        assert!(
            heard <= completed + sent.count("in_doubt_packets"),
            "{heard}: {sent:?}"
        );
        assert!(
            completed <= heard + u64::from(self.missed),
            "{heard}: {sent:?}"
        );
    }
}
