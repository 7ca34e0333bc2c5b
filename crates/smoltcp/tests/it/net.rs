//! Two smoltcp stacks and a slow link in virtual time. The sender's NIC has a small ring and drops
//! frames while it is full, as in smoltcp#949.

use std::collections::VecDeque;

use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};
use taut_smoltcp::Limited;

pub const RATE_BITS_PER_S: u64 = 20_000_000;
pub const DELAY_US: i64 = 20_000;
pub const RING_SLOTS: usize = 16;
const STEP_US: i64 = 100;
const MTU: usize = 1514;

/// A NIC that drops frames while its ring is full.
#[derive(Default)]
pub struct Nic {
    ring: VecDeque<Vec<u8>>,
    /// When the first frame of the ring has left, in ns.
    leaves_ns: u64,
    received: VecDeque<(i64, Vec<u8>)>,
    pub sent: u32,
    pub overruns: u64,
}

impl Nic {
    /// Transmits the due frames.
    pub fn send(&mut self, now_us: i64, peer: &mut Nic) {
        let now_ns = now_us as u64 * 1000;
        while self.leaves_ns <= now_ns {
            let Some(frame) = self.ring.pop_front() else {
                return;
            };
            self.sent = self.sent.wrapping_add(1);
            peer.received.push_back((now_us + DELAY_US, frame));
            self.begin(self.leaves_ns);
        }
    }

    fn begin(&mut self, from_ns: u64) {
        if let Some(frame) = self.ring.front() {
            self.leaves_ns = from_ns + frame.len() as u64 * 8_000_000_000 / RATE_BITS_PER_S;
        }
    }

    fn queue(&mut self, frame: Vec<u8>, now_us: i64) {
        if self.ring.len() == RING_SLOTS {
            self.overruns += 1;
            return;
        }
        self.ring.push_back(frame);
        if self.ring.len() == 1 {
            self.begin(now_us as u64 * 1000);
        }
    }

    pub fn frames_in_ring(&self) -> usize {
        self.ring.len()
    }
}

pub struct Received(Vec<u8>);

impl RxToken for Received {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

pub struct Send<'a>(&'a mut Nic, i64);

impl TxToken for Send<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; length];
        let written = write(&mut frame);
        self.0.queue(frame, self.1);
        written
    }
}

impl Device for Nic {
    type RxToken<'a> = Received;
    type TxToken<'a> = Send<'a>;

    fn receive(&mut self, timestamp: Instant) -> Option<(Received, Send<'_>)> {
        let now_us = timestamp.total_micros();
        let due = self
            .received
            .front()
            .is_some_and(|(at_us, _)| *at_us <= now_us);
        let (_, frame) = due.then(|| self.received.pop_front())??;
        Some((Received(frame), Send(self, now_us)))
    }

    fn transmit(&mut self, timestamp: Instant) -> Option<Send<'_>> {
        Some(Send(self, timestamp.total_micros()))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = MTU;
        capabilities
    }
}

/// A NIC, or one with a limit in front.
pub trait HasNic: Device {
    fn nic(&mut self) -> &mut Nic;
}

impl HasNic for Nic {
    fn nic(&mut self) -> &mut Nic {
        self
    }
}

impl HasNic for Limited<Nic> {
    fn nic(&mut self) -> &mut Nic {
        self.device_mut()
    }
}

/// The NIC with a limit and default settings.
pub fn limited() -> Limited<Nic> {
    Limited::builder(Nic::default())
        .slots(RING_SLOTS as u32)
        .sent_counter(|nic| nic.sent)
        .build(Instant::ZERO)
        .unwrap()
}

/// A stack with TCP sockets of `buffer_bytes`.
pub struct Stack<D> {
    pub device: D,
    interface: Interface,
    pub sockets: SocketSet<'static>,
}

impl<D: HasNic> Stack<D> {
    pub fn new(mut device: D, number: u8) -> Self {
        let mac = EthernetAddress([2, 0, 0, 0, 0, number]);
        let mut interface = Interface::new(Config::new(mac.into()), &mut device, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(IpAddress::v4(10, 0, 0, number), 24));
        });
        Self {
            device,
            interface,
            sockets: SocketSet::new(vec![]),
        }
    }

    pub fn socket(&mut self, buffer_bytes: usize) -> SocketHandle {
        let buffer = || tcp::SocketBuffer::new(vec![0; buffer_bytes]);
        self.sockets.add(tcp::Socket::new(buffer(), buffer()))
    }

    pub fn connect(&mut self, handle: SocketHandle, to: u8, port: u16) {
        let socket = self.sockets.get_mut::<tcp::Socket>(handle);
        let remote = (IpAddress::v4(10, 0, 0, to), port);
        socket
            .connect(self.interface.context(), remote, 40_000 + port)
            .unwrap();
    }

    pub fn poll(&mut self, now_us: i64) {
        let now = Instant::from_micros(now_us);
        self.interface
            .poll(now, &mut self.device, &mut self.sockets);
    }
}

/// The result of one connection.
pub struct Transfer {
    pub mbit_per_s: f64,
    pub overruns: u64,
    pub most_in_ring: usize,
}

/// Sends over a connection for `seconds`, with `buffer_bytes` in the sockets at both ends.
pub fn transfer<D: HasNic>(device: D, buffer_bytes: usize, seconds: i64) -> Transfer {
    let (mut near, mut far) = (Stack::new(device, 1), Stack::new(Nic::default(), 2));
    let (client, server) = (near.socket(buffer_bytes), far.socket(buffer_bytes));
    far.sockets
        .get_mut::<tcp::Socket>(server)
        .listen(80)
        .unwrap();
    near.connect(client, 2, 80);
    let (mut arrived, mut most_in_ring) = (0, 0);
    for step in 0..seconds * 1_000_000 / STEP_US {
        let now_us = step * STEP_US;
        let socket = near.sockets.get_mut::<tcp::Socket>(client);
        while socket.can_send() && socket.send_slice(&[7; 4096]).unwrap() > 0 {}
        near.poll(now_us);
        far.poll(now_us);
        let socket = far.sockets.get_mut::<tcp::Socket>(server);
        while socket.can_recv() {
            arrived += socket.recv(|bytes| (bytes.len(), bytes.len())).unwrap();
        }
        most_in_ring = most_in_ring.max(near.device.nic().frames_in_ring());
        near.device.nic().send(now_us, &mut far.device);
        far.device.send(now_us, near.device.nic());
    }
    Transfer {
        mbit_per_s: arrived as f64 * 8.0 / seconds as f64 / 1e6,
        overruns: near.device.nic().overruns,
        most_in_ring,
    }
}
