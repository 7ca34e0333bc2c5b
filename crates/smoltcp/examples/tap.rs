//! smoltcp over a TAP against the kernel's TCP, behind a NIC of 20 Mbit/s whose ring of 16 drops
//! frames while it is full: without a limit, then with one. Needs root or a user namespace, and
//! /dev/net/tun; 77 without. `cargo run --release -p taut-smoltcp --example tap`.

use std::collections::VecDeque;
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsRawFd;
use std::thread;

use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, TunTapInterface, TxToken, wait};
use smoltcp::socket::tcp;
use smoltcp::time::{Duration, Instant};
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};
use taut_linux::{NetNs, ensure_privilege, link};
use taut_smoltcp::Limited;

const RATE_BITS_PER_S: u64 = 20_000_000;
const RING_SLOTS: usize = 16;
const BUFFER_BYTES: usize = 1 << 20;
const RUN: Duration = Duration::from_secs(3);
/// Far longer than the packets in flight at the end need.
const DRAIN: Duration = Duration::from_millis(300);
/// Longer than a run: a reset may be lost in the ring.
const GIVE_UP: std::time::Duration = std::time::Duration::from_secs(4);
const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const PORT: u16 = 7777;
const TUN: &str = "/dev/net/tun";

/// A NIC that passes frames to the TAP at its own rate.
struct SlowNic {
    tap: TunTapInterface,
    ring: VecDeque<Vec<u8>>,
    leaves: Instant,
    sent: u32,
    overruns: u64,
}

impl SlowNic {
    fn new(tap: TunTapInterface) -> Self {
        Self {
            tap,
            ring: VecDeque::new(),
            leaves: Instant::ZERO,
            sent: 0,
            overruns: 0,
        }
    }

    /// Sends the due frames.
    fn send(&mut self, now: Instant) {
        while self.leaves <= now {
            let Some(frame) = self.ring.pop_front() else {
                return;
            };
            if let Some(token) = self.tap.transmit(now) {
                token.consume(frame.len(), |space| space.copy_from_slice(&frame));
            }
            self.sent = self.sent.wrapping_add(1);
            self.begin(self.leaves);
        }
    }

    /// Returns the time until the next frame leaves.
    fn delay(&self, now: Instant) -> Option<Duration> {
        let left = self.leaves.max(now) - now;
        (!self.ring.is_empty()).then_some(left)
    }

    fn begin(&mut self, from: Instant) {
        if let Some(frame) = self.ring.front() {
            let us = frame.len() as u64 * 8_000_000 / RATE_BITS_PER_S;
            self.leaves = from + Duration::from_micros(us);
        }
    }
}

struct Slot<'a>(&'a mut SlowNic, Instant);

impl TxToken for Slot<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let (nic, mut frame) = (self.0, vec![0; length]);
        let written = write(&mut frame);
        if nic.ring.len() == RING_SLOTS {
            nic.overruns += 1;
            return written;
        }
        nic.ring.push_back(frame);
        if nic.ring.len() == 1 {
            nic.begin(self.1);
        }
        written
    }
}

impl Device for SlowNic {
    type RxToken<'a> = <TunTapInterface as Device>::RxToken<'a>;
    type TxToken<'a> = Slot<'a>;

    fn receive(&mut self, timestamp: Instant) -> Option<(Self::RxToken<'_>, Slot<'_>)> {
        let (received, _) = self.tap.receive(timestamp)?;
        Some((received, Slot(self, timestamp)))
    }

    fn transmit(&mut self, timestamp: Instant) -> Option<Slot<'_>> {
        Some(Slot(self, timestamp))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        self.tap.capabilities()
    }
}

/// Sends to the kernel for a while. Returns the megabits a second that it received, and frames
/// lost.
fn transfer<D: Device>(
    mut device: D,
    nic: impl Fn(&mut D) -> &mut SlowNic,
    delay: impl Fn(&D, Instant, Option<Duration>) -> Option<Duration>,
) -> Result<(f64, u64), Box<dyn Error>> {
    let listener = TcpListener::bind((KERNEL, PORT))?;
    let sink = thread::spawn(move || -> std::io::Result<u64> {
        let (mut from, mut bytes, mut space) = (listener.accept()?.0, 0, vec![0; 1 << 16]);
        from.set_read_timeout(Some(GIVE_UP))?;
        loop {
            match from.read(&mut space) {
                Ok(0) | Err(_) => return Ok(bytes), // the sender closed or reset the connection
                Ok(more) => bytes += more as u64,
            }
        }
    });
    let mac = EthernetAddress([2, 0, 0, 0, 0, 2]);
    let begin = Instant::now();
    let mut interface = Interface::new(Config::new(mac.into()), &mut device, begin);
    interface.update_ip_addrs(|addresses| {
        let _ = addresses.push(IpCidr::new(IpAddress::v4(10, 0, 0, 2), 24));
    });
    let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER_BYTES]);
    let mut sockets = SocketSet::new(vec![]);
    let handle = sockets.add(tcp::Socket::new(buffer(), buffer()));
    let socket = sockets.get_mut::<tcp::Socket>(handle);
    socket.connect(interface.context(), (IpAddress::Ipv4(KERNEL), PORT), 40_000)?;
    while Instant::now() - begin < RUN + DRAIN {
        let now = Instant::now();
        nic(&mut device).send(now);
        let socket = sockets.get_mut::<tcp::Socket>(handle);
        if now - begin >= RUN {
            socket.abort();
        } else {
            while socket.can_send() && socket.send_slice(&[7; 4096])? > 0 {}
        }
        interface.poll(now, &mut device, &mut sockets);
        let stack = interface.poll_delay(now, &sockets);
        let delays = [
            nic(&mut device).delay(now),
            delay(&device, now, stack),
            Some(DRAIN),
        ];
        let until = delays.into_iter().flatten().min();
        wait(nic(&mut device).tap.as_raw_fd(), until)?;
    }
    let bytes = sink.join().map_err(|_| "the sink failed")??;
    let mbit = bytes as f64 * 8.0 / RUN.total_micros() as f64;
    Ok((mbit, nic(&mut device).overruns))
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Err(why) = ensure_privilege() {
        eprintln!("tap: {why}");
        std::process::exit(77);
    }
    // A user namespace gives all privileges except access to a device file.
    if let Err(why) = File::options().read(true).write(true).open(TUN) {
        eprintln!("tap: {TUN}: {why}");
        std::process::exit(77);
    }
    let ns = NetNs::new()?;
    ns.enter()?;
    let open = || -> Result<TunTapInterface, Box<dyn Error>> {
        let tap = TunTapInterface::new("tap0", Medium::Ethernet)?;
        link::add_address(&ns, "tap0", KERNEL, 24)?;
        link::set_up(&ns, "tap0")?;
        Ok(tap)
    };
    let (mbit, overruns) = transfer(SlowNic::new(open()?), |nic| nic, |_, _, stack| stack)?;
    println!("no limit:    {mbit:>5.1} Mbit/s, {overruns} frames lost in the ring");
    let slots = RING_SLOTS as u32;
    let device = Limited::builder(SlowNic::new(open()?))
        .slots(slots)
        .sent_counter(|nic| nic.sent)
        .build(Instant::now())?;
    let delay = |device: &Limited<SlowNic>, now, stack| device.poll_delay(now, stack);
    let (mbit, overruns) = transfer(device, Limited::device_mut, delay)?;
    println!("limited:     {mbit:>5.1} Mbit/s, {overruns} frames lost in the ring");
    if overruns > 0 {
        return Err("the limit exceeded the ring".into());
    }
    Ok(())
}
