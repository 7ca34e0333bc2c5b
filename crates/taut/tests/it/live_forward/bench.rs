//! Two hosts, a middlebox between them, and a forwarder in it.

use std::cell::RefCell;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use taut_linux::af_packet::{PacketReceiver, PacketSender};
use taut_linux::link::{self, MacAddress};
use taut_linux::{NetNs, VirtioNetHeader, complete_checksum, poll, privilege, sched};

/// Timeout of a test, long enough for a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub const LEFT_ADDRESS: &str = "10.5.0.1";
pub const RIGHT_ADDRESS: &str = "10.5.0.2";
const LEFT_MAC: MacAddress = MacAddress::local(1);
const RIGHT_MAC: MacAddress = MacAddress::local(2);

/// A host of the bench.
#[derive(Clone, Copy, PartialEq)]
pub struct End(usize);
pub const LEFT: End = End(0);
pub const RIGHT: End = End(1);

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

pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "timed out: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

pub struct Bench {
    pub left: NetNs,
    pub between: NetNs,
    pub right: NetNs,
    senders: RefCell<[Option<PacketSender>; 2]>,
}

impl Bench {
    pub fn new() -> Self {
        let ns = || NetNs::new().expect("namespace");
        let bench = Self {
            left: ns(),
            between: ns(),
            right: ns(),
            senders: RefCell::default(),
        };
        link::add_veth_pair(&bench.left, "l0", &bench.between, "a0").expect("pair");
        link::set_mac(&bench.left, "l0", LEFT_MAC).expect("mac");
        host(&bench.left, "l0", LEFT_ADDRESS, (RIGHT_ADDRESS, RIGHT_MAC));
        link::set_up(&bench.between, "a0").expect("up");
        bench.add_right_link();
        bench
    }

    pub fn add_right_link(&self) {
        link::add_veth_pair(&self.between, "b0", &self.right, "r0").expect("pair");
        link::set_mac(&self.right, "r0", RIGHT_MAC).expect("mac");
        host(&self.right, "r0", RIGHT_ADDRESS, (LEFT_ADDRESS, LEFT_MAC));
        link::set_up(&self.between, "b0").expect("up");
    }

    pub fn remove_right_link(&self) {
        link::delete(&self.between, "b0").expect("removes");
    }

    fn device(&self, end: End) -> (&NetNs, &'static str) {
        [(&self.left, "l0"), (&self.right, "r0")][end.0]
    }

    /// Sends one frame from a host.
    pub fn send(&self, from: End, header: VirtioNetHeader, frame: &[u8]) {
        let mut senders = self.senders.borrow_mut();
        let sender = senders[from.0].get_or_insert_with(|| {
            let (ns, device) = self.device(from);
            PacketSender::open(ns, device).expect("sender")
        });
        let bytes = [&header.to_bytes()[..], frame].concat();
        sender.send(&bytes).expect("sends");
    }

    /// Receives at a host.
    pub fn receiver(&self, at: End) -> Listening {
        let (ns, device) = self.device(at);
        self.receiver_at(ns, device)
    }

    /// Receives on any device.
    pub fn receiver_at(&self, ns: &NetNs, device: &str) -> Listening {
        let receiver = PacketReceiver::open(ns, device).expect("receiver");
        receiver.set_promiscuous().expect("promiscuous");
        Listening {
            receiver,
            buffer: RefCell::new(vec![0; PacketReceiver::READ_LIMIT_BYTES]),
        }
    }

    /// Waits until the far side has received no frame for a while.
    pub fn settle(&self) {
        let count = || {
            let at = |ns, device| link::statistics(ns, device).expect("counts").rx_packets;
            (at(&self.between, "a0"), at(&self.right, "r0"))
        };
        let (mut before, mut same) = (count(), 0);
        until("no more frames arrive", || {
            thread::sleep(Duration::from_millis(20));
            let now = count();
            same = if now == before { same + 1 } else { 0 };
            before = now;
            same >= 15
        });
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_taut"));
        command.arg("forward").stdin(Stdio::null());
        // A no-break space stands for a space within an argument.
        let words = arguments.split(' ').filter(|word| !word.is_empty());
        command.args(words.map(|word| word.replace('\u{a0}', " ")));
        command
    }

    /// Runs the command in the middlebox until it ends.
    pub fn run(&self, arguments: &str) -> Output {
        let mut command = self.command(arguments);
        let output = self.between.run(move || command.output());
        output.expect("enters").expect("runs")
    }

    /// Starts a forwarder between the hosts, and waits until it forwards.
    pub fn start(&self, arguments: &str) -> Forwarder {
        self.start_between("a0", "b0", arguments)
    }

    /// Starts a forwarder between two devices of the middlebox.
    pub fn start_between(&self, one: &str, other: &str, arguments: &str) -> Forwarder {
        let mut command = self.command(&format!("{one} {other} -j {arguments}"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = self.between.run(move || command.spawn());
        let mut child = child.expect("enters").expect("starts");
        let talk = child.stderr.take().expect("piped");
        let (send, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(talk).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let forwarder = Forwarder {
            child: RefCell::new(Some(child)),
            lines,
            messages: RefCell::default(),
        };
        forwarder.waits_for(&format!("forwarding between {one} and {other}"));
        forwarder
    }
}

fn host(ns: &NetNs, device: &str, own: &str, other: (&str, MacAddress)) {
    let address = |text: &str| text.parse().expect("an address");
    link::add_address(ns, device, address(own), 24).expect("address");
    link::set_up(ns, device).expect("up");
    link::add_neighbour(ns, device, address(other.0), other.1).expect("neighbour");
}

/// A running forwarder, killed on drop.
pub struct Forwarder {
    child: RefCell<Option<Child>>,
    lines: Receiver<String>,
    messages: RefCell<String>,
}

impl Forwarder {
    /// Waits for a message that contains `what`.
    pub fn waits_for(&self, what: &str) {
        loop {
            let Ok(line) = self.lines.recv_timeout(PATIENCE) else {
                panic!("it never messages {what:?}: {}", self.messages.borrow());
            };
            *self.messages.borrow_mut() += &format!("{line}\n");
            if line.contains(what) {
                return;
            }
        }
    }

    /// Returns all messages so far.
    pub fn talk(&self) -> String {
        let mut messages = self.messages.borrow_mut();
        self.lines
            .try_iter()
            .for_each(|line| *messages += &format!("{line}\n"));
        messages.clone()
    }

    pub fn id(&self) -> u32 {
        self.child.borrow().as_ref().expect("runs").id()
    }

    /// Returns `/proc/PID/status` of the process.
    pub fn status(&self) -> String {
        let id = self.id();
        std::fs::read_to_string(format!("/proc/{id}/status")).expect("there")
    }

    /// Sends a signal.
    pub fn signal(&self, signal: &str) {
        let child = self.child.borrow();
        let id = child.as_ref().expect("runs").id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill").success());
    }

    /// Ends the process with a signal.
    pub fn kill(&self, signal: &str) -> Output {
        self.signal(signal);
        let child = self.child.borrow_mut().take().expect("runs");
        child.wait_with_output().expect("ends")
    }

    /// Ends the process as Ctrl-C does, and returns its document.
    pub fn end(&self) -> Value {
        let output = self.kill("-INT");
        let talk: Vec<String> = self.lines.try_iter().collect();
        assert_eq!(output.status.code(), Some(0), "{talk:?}");
        serde_json::from_slice(&output.stdout).expect("one JSON document")
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.borrow_mut().take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Receives at a host.
pub struct Listening {
    receiver: PacketReceiver,
    buffer: RefCell<Vec<u8>>,
}

impl Listening {
    fn read(&self) -> Option<Vec<u8>> {
        let mut buffer = self.buffer.borrow_mut();
        let read = match self.receiver.read(&mut buffer) {
            // The socket reports once that its device went down.
            Err(_) => self.receiver.read(&mut buffer),
            read => read,
        };
        let bytes = read.ok()??;
        let (header, frame) = VirtioNetHeader::split(&buffer[..bytes]).expect("header");
        let mut frame = frame.to_vec();
        assert!(!header.is_segmented());
        complete_checksum(&mut frame, header).expect("finishes");
        Some(frame)
    }

    /// Returns the next frame with this prefix.
    pub fn next(&self, start: &[u8]) -> Vec<u8> {
        let patience_ns = sched::monotonic_ns() + PATIENCE.as_nanos() as u64;
        loop {
            if let Some(frame) = self.read() {
                if frame.starts_with(start) {
                    return frame;
                }
                continue;
            }
            let ready = poll::wait(&[self.receiver.as_fd()], Some(patience_ns)).expect("poll");
            assert!(
                ready.contains(&true),
                "nothing came that begins with {start:x?}"
            );
        }
    }

    /// Waits for this many copies of a frame.
    pub fn count(&self, like: &[u8], frames: u64) -> u64 {
        for _ in 0..frames {
            assert_eq!(self.next(&like[..12]), like);
        }
        frames
    }

    /// Returns the number of received copies of a frame.
    pub fn all(&self, like: &[u8]) -> u64 {
        std::iter::from_fn(|| self.read())
            .filter(|frame| frame == like)
            .count() as u64
    }
}

/// Returns a frame to `group`, from a sender with a number.
pub fn frame(group: [u8; 6], number: u8, rest: &[u8]) -> Vec<u8> {
    [&group[..], &[2, 0, 0, 0, 1, number], rest].concat()
}

/// Returns a count of one direction.
pub fn of(document: &Value, direction: usize, name: &str) -> u64 {
    let count = document["directions"][direction][name].as_u64();
    count.unwrap_or_else(|| panic!("{name} in {document}"))
}

/// Returns a count of both directions.
pub fn total(document: &Value, name: &str) -> u64 {
    of(document, 0, name) + of(document, 1, name)
}

/// Returns a GSO packet of datagrams of `each` bytes, with a partial checksum.
pub fn udp_gso_packet(each: u16, payload: usize) -> (VirtioNetHeader, Vec<u8>) {
    let mut bytes = frame([2, 0, 0, 0, 0, 98], 7, &[0x08, 0x00, 0x45, 0]);
    let total = (28 + payload) as u16;
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 1, 0x40, 0, 64, 17, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
    let words = [0x0102u32, 0x0304, 0x0506, 0x0708, 17, u32::from(total) - 20];
    let sum: u32 = words.into_iter().sum();
    bytes.extend([0x30, 0x39, 0, 7]);
    bytes.extend((total - 20).to_be_bytes());
    bytes.extend(((sum & 0xffff) as u16 + (sum >> 16) as u16).to_be_bytes());
    bytes.extend((0..payload).map(|at| (at / 3) as u8));
    let header = VirtioNetHeader {
        flags: 1,
        gso_type: 5,
        header_bytes: 42,
        segment_payload_bytes: each,
        checksum_start: 34,
        checksum_offset: 6,
    };
    (header, bytes)
}
