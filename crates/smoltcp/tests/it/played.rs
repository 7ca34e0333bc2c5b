//! A device that accepts every frame and completes frames on request.

use smoltcp::phy::{Device, DeviceCapabilities, Medium, PacketMeta, RxToken, TxToken};
use smoltcp::time::Instant;
use taut_path::AnyLimit;
use taut_smoltcp::{Builder, Limited};

pub struct Played {
    pub taken: Vec<Vec<u8>>,
    pub metas: Vec<PacketMeta>,
    pub finished: u32,
    pub to_receive: u32,
    pub is_full: bool,
    pub medium: Medium,
    pub burst_packets: Option<usize>,
}

impl Default for Played {
    fn default() -> Self {
        Self {
            taken: vec![],
            metas: vec![],
            finished: 0,
            to_receive: 0,
            is_full: false,
            medium: Medium::Ethernet,
            burst_packets: None,
        }
    }
}

pub struct Take<'a>(&'a mut Played, PacketMeta);
pub struct Ping;

impl RxToken for Ping {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&[0; 60])
    }
}

impl TxToken for Take<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, write: F) -> R {
        let mut frame = vec![0; length];
        let written = write(&mut frame);
        self.0.taken.push(frame);
        self.0.metas.push(self.1);
        written
    }

    fn set_meta(&mut self, meta: PacketMeta) {
        self.1 = meta;
    }
}

impl Device for Played {
    type RxToken<'a> = Ping;
    type TxToken<'a> = Take<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Ping, Take<'_>)> {
        self.to_receive = self.to_receive.checked_sub(1)?;
        Some((Ping, Take(self, PacketMeta::default())))
    }

    fn transmit(&mut self, _: Instant) -> Option<Take<'_>> {
        (!self.is_full).then_some(Take(self, PacketMeta::default()))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = self.medium;
        capabilities.max_transmission_unit = 1514;
        capabilities.max_burst_size = self.burst_packets;
        capabilities
    }
}

/// Two packets in the device, and small values for all other settings.
pub fn builder() -> Builder<Played> {
    of(Played::default()).slots(8)
}

/// As [`builder`], over the given device with its own slots.
pub fn of(device: Played) -> Builder<Played> {
    let two: AnyLimit = "2p".parse().unwrap();
    Limited::builder(device)
        .sent_counter(|device| device.finished)
        .limit(two)
        .backlog_packets(4)
        .response_frames(2)
}

pub fn at(us: i64) -> Instant {
    Instant::from_micros(us)
}

/// Sends one frame.
pub fn send(device: &mut Limited<Played>, frame: &[u8], now: Instant) {
    let token = device.transmit(now).expect("there is room");
    token.consume(frame.len(), |space| space.copy_from_slice(frame));
}

/// Sends until there is no token. Returns the number of frames sent.
pub fn fill(device: &mut Limited<Played>) -> u32 {
    let mut sent = 0;
    while let Some(token) = device.transmit(at(0)) {
        token.consume(100, |frame| frame.fill(sent as u8));
        sent += 1;
    }
    sent
}

/// Completes all frames of the device until there are no more.
pub fn drain(device: &mut Limited<Played>, now: Instant) {
    loop {
        let taken = device.device().taken.len() as u32;
        device.device_mut().finished = taken;
        let _ = device.complete(now);
        if device.device().taken.len() as u32 == taken {
            return;
        }
    }
}
