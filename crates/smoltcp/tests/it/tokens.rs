//! Tokens, answers and wakes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Wake, Waker};

use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::{Duration, Instant};
use taut_path::AnyLimit;
use taut_smoltcp::{Builder, Limited};

/// A device that takes what it is given and finishes what it is told to.
#[derive(Default)]
struct Played {
    taken: Vec<Vec<u8>>,
    finished: u32,
    to_receive: u32,
    is_full: bool,
}

struct Take<'a>(&'a mut Played);
struct Ping;

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
        written
    }
}

impl Device for Played {
    type RxToken<'a> = Ping;
    type TxToken<'a> = Take<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Ping, Take<'_>)> {
        self.to_receive = self.to_receive.checked_sub(1)?;
        Some((Ping, Take(self)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Take<'_>> {
        (!self.is_full).then_some(Take(self))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = 1514;
        capabilities
    }
}

fn builder() -> Builder<Played> {
    let two: AnyLimit = "2p".parse().unwrap();
    Limited::builder(Played::default())
        .sent(|device| device.finished)
        .limit(two)
        .slots(8)
        .backlog_packets(4)
        .answers(2)
}

fn at(us: i64) -> Instant {
    Instant::from_micros(us)
}

/// Sends until there is no token; returns how many went.
fn fill(device: &mut Limited<Played>) -> u32 {
    let mut sent = 0;
    while let Some(token) = device.transmit(at(0)) {
        token.consume(100, |frame| frame.fill(sent as u8));
        sent += 1;
    }
    sent
}

#[test]
fn the_device_holds_what_the_limit_says_and_the_rest_waits() {
    let mut device = builder().build(at(0)).unwrap();
    let sent = fill(&mut device);
    let held = device.device().taken.len();
    assert_eq!(device.backlog().packets, 4);
    assert_eq!(sent as usize, held + 4);
    assert!(held <= 3, "two, and the one that goes over: {held}");
    assert!(device.is_refused());
    assert_eq!(device.stats().refused_tokens, 1);
}

#[test]
fn frames_come_out_in_order_and_unchanged() {
    let mut device = builder().build(at(0)).unwrap();
    let sent = fill(&mut device);
    for done in 1..=sent {
        device.device_mut().finished = done;
        let _ = device.complete(at(i64::from(done)));
    }
    let taken = &device.device().taken;
    assert_eq!(taken.len(), sent as usize);
    for (number, frame) in taken.iter().enumerate() {
        assert_eq!(frame, &vec![number as u8; 100]);
    }
    assert_eq!(device.snapshot().in_flight, 0);
}

#[test]
fn a_token_that_is_dropped_gives_its_room_back() {
    let mut device = builder().build(at(0)).unwrap();
    for _ in 0..1000 {
        drop(device.transmit(at(0)).expect("there is room"));
    }
    assert!(fill(&mut device) > 4);
}

#[test]
fn what_is_received_is_answered_also_without_room() {
    let mut device = builder().slots(2).build(at(0)).unwrap();
    fill(&mut device);
    device.device_mut().to_receive = 3;
    for _ in 0..3 {
        let (received, answer) = device.receive(at(1)).expect("never refused");
        let length = received.consume(<[u8]>::len);
        assert_eq!(answer.consume(length, |frame| frame.len()), 60);
    }
    // Two frames are kept for answers.
    assert_eq!(device.backlog().packets, 6);
    assert_eq!(device.stats().dropped_answers, 1);
}

#[derive(Default)]
struct Counted(AtomicU32);

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_refused_stack_waits_for_a_completion_and_is_woken_once() {
    let counted = Arc::new(Counted::default());
    let waker = Waker::from(counted.clone());
    let mut device = builder().waker(waker).build(at(0)).unwrap();
    let at_once = Some(Duration::ZERO);
    assert_eq!(device.poll_delay(at(0), at_once), at_once);
    fill(&mut device);
    let waits = device.poll_delay(at(0), at_once);
    assert!(
        waits.is_none_or(|delay| delay > Duration::from_millis(10)),
        "{waits:?}"
    );
    assert!(!device.complete(at(1)), "nothing was sent");
    let before = counted.0.load(Ordering::Relaxed);
    device.device_mut().finished = 2;
    assert!(device.complete(at(2)));
    assert!(!device.complete(at(2)), "told once");
    assert!(counted.0.load(Ordering::Relaxed) > before);
    assert_eq!(device.poll_delay(at(2), at_once), at_once);
}

#[test]
fn a_device_without_tokens_keeps_its_order_and_loses_nothing() {
    let mut device = builder().build(at(0)).unwrap();
    device.device_mut().is_full = true;
    let sent = fill(&mut device);
    assert_eq!(device.device().taken.len(), 0);
    device.device_mut().is_full = false;
    for done in 0..=sent {
        device.device_mut().finished = done;
        let _ = device.complete(at(1));
    }
    assert_eq!(device.device().taken.len(), sent as usize);
}

#[test]
fn without_a_count_of_what_was_sent_no_limit_holds() {
    let mut device = Limited::builder(Played::default()).build(at(0)).unwrap();
    for _ in 0..1000 {
        device.transmit(at(0)).unwrap().consume(100, |_| ());
    }
    assert_eq!(device.device().taken.len(), 1000);
    assert_eq!(device.backlog().packets, 0);
}

#[test]
fn a_reset_gives_up_what_the_device_held() {
    let mut device = builder().build(at(0)).unwrap();
    let sent = fill(&mut device);
    device.reset(at(1));
    for done in 1..=sent {
        device.device_mut().finished = done;
        let _ = device.complete(at(2));
    }
    assert_eq!(device.device().taken.len(), sent as usize);
    assert_eq!(device.snapshot().in_flight, 0);
}

#[test]
fn a_count_of_nonsense_finishes_no_more_than_there_is() {
    let mut device = builder().build(at(0)).unwrap();
    fill(&mut device);
    device.device_mut().finished = u32::MAX;
    let _ = device.complete(at(1));
    let _ = device.complete(at(1));
    assert!(device.device().taken.len() <= 6);
}

#[test]
fn bad_settings_are_told() {
    let error = builder().backlog_packets(0).build(at(0)).err().unwrap();
    assert!(error.to_string().contains("backlog_packets"), "{error}");
    assert!(builder().slots(0).build(at(0)).is_err());
}

#[test]
fn a_clock_at_its_end_is_no_panic() {
    let end = at(i64::MAX);
    let mut device = builder().build(at(-1)).unwrap();
    device
        .transmit(end)
        .expect("there is room")
        .consume(100, |_| ());
    let _ = device.poll_delay(end, None);
    assert_eq!(device.device().taken.len(), 1);
}
