//! A model of the kernel, interleaved with the program in any order.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::monitor::DeliveryTally;
use super::*;

const DEVICE: &str = "veth0";
const INDEX: u32 = 7;
const UP: u32 = RUNNING;

fn notification(flags: u32) -> Notification<'static> {
    Notification {
        index: INDEX,
        name: Some(DEVICE.as_bytes()),
        flags,
        mtu_bytes: None,
        is_removed: false,
        is_moved: false,
    }
}

/// A packet: the epoch of the queue in which it was sent, and whether it left the device.
#[derive(Debug, Clone, Copy)]
struct Sent {
    epoch: u32,
    left: bool,
}

/// The kernel's position between two states of a link that it reports.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Phase {
    Up,
    /// The flag is cleared, and queued packets are purged.
    GoingDown,
    Down,
    /// The flag is set, but sent packets are lost because no discipline is attached yet.
    ComingUp,
}

/// A model of the kernel.
#[derive(Debug)]
struct Kernel {
    phase: Phase,
    notifications: VecDeque<u32>,
    in_device: VecDeque<Sent>,
    done: VecDeque<Sent>,
}

impl Kernel {
    fn flags(&self) -> u16 {
        match self.phase {
            Phase::Up | Phase::ComingUp => UP as u16,
            Phase::GoingDown | Phase::Down => 0,
        }
    }

    /// Moves to the next phase.
    fn step(&mut self) {
        self.phase = match self.phase {
            Phase::Up => Phase::GoingDown,
            Phase::GoingDown => {
                self.purge(usize::MAX);
                self.notifications.push_back(0);
                Phase::Down
            }
            Phase::Down => Phase::ComingUp,
            Phase::ComingUp => {
                self.purge(usize::MAX);
                self.notifications.push_back(UP);
                Phase::Up
            }
        };
    }

    /// Completes the packets that it purges.
    fn purge(&mut self, packets: usize) {
        let packets = packets.min(self.in_device.len());
        self.done.extend(self.in_device.drain(..packets));
    }

    /// Sends the oldest packet, or purges it if it cannot leave.
    fn finish(&mut self) {
        match self.phase {
            Phase::Up => self.done.extend(
                self.in_device
                    .pop_front()
                    .map(|sent| Sent { left: true, ..sent }),
            ),
            _ => self.purge(1),
        }
    }
}

/// The program, which works as `taut send` does.
struct Program {
    tracker: LinkTracker,
    tally: DeliveryTally,
    epoch: u32,
    reaped: Vec<Sent>,
    certain: Vec<Sent>,
}

impl Program {
    fn reap(&mut self, kernel: &mut Kernel) {
        for sent in kernel.done.drain(..) {
            if sent.epoch == self.epoch {
                self.tally.reaped(1);
                self.reaped.push(sent);
            } else {
                self.tally.stale(1);
            }
        }
    }

    /// The kernel can continue between the two halves of a poll.
    fn look(&mut self, kernel: &mut Kernel, between: &[Step]) {
        self.tracker.flags(Some(kernel.flags()));
        for step in between {
            step.of_kernel(kernel, self.epoch);
        }
        for flags in kernel.notifications.drain(..) {
            self.tracker.apply(notification(flags));
        }
        let look = self.tracker.take();
        self.tally.confirm(look.was_down);
        let reaped = std::mem::take(&mut self.reaped);
        if look.was_down {
            self.epoch += 1;
        } else {
            self.certain.extend(reaped);
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Step {
    Send,
    Finish,
    Purge,
    Phase,
    Reap,
}

impl Step {
    fn of_kernel(self, kernel: &mut Kernel, epoch: u32) {
        match self {
            Self::Send => kernel.in_device.push_back(Sent { epoch, left: false }),
            Self::Finish => kernel.finish(),
            Self::Purge if kernel.phase != Phase::Up => kernel.purge(2),
            Self::Phase => kernel.step(),
            Self::Purge | Self::Reap => {}
        }
    }
}

#[derive(Debug, Clone)]
enum Turn {
    Step(Step),
    Look(Vec<Step>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Send),
        4 => Just(Step::Finish),
        1 => Just(Step::Purge),
        2 => Just(Step::Phase),
        4 => Just(Step::Reap),
    ]
}

fn turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        5 => step().prop_map(Turn::Step),
        1 => prop::collection::vec(step(), 0..5).prop_map(Turn::Look),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn completed_packets_were_sent_and_all_are_counted(
        turns in prop::collection::vec(turn(), 0..120),
    ) {
        let mut kernel = Kernel {
            phase: Phase::Up,
            notifications: VecDeque::new(),
            in_device: VecDeque::new(),
            done: VecDeque::new(),
        };
        let mut program = Program {
            tracker: LinkTracker::new(DEVICE),
            tally: DeliveryTally::default(),
            epoch: 0,
            reaped: Vec::new(),
            certain: Vec::new(),
        };
        program.tracker.apply(notification(UP));
        let _ = program.tracker.take();
        let mut sent = 0;
        let is_send = |step: &&Step| matches!(step, Step::Send);
        for turn in &turns {
            match turn {
                Turn::Step(Step::Reap) => program.reap(&mut kernel),
                Turn::Step(step) => {
                    sent += u64::from(is_send(&step));
                    step.of_kernel(&mut kernel, program.epoch);
                }
                Turn::Look(between) => {
                    sent += between.iter().filter(is_send).count() as u64;
                    program.look(&mut kernel, between);
                }
            }
            prop_assert!(program.certain.iter().all(|sent| sent.left));
        }
        // Finally, the link comes up and all packets are completed.
        while kernel.phase != Phase::Up {
            kernel.step();
        }
        program.look(&mut kernel, &[]);
        while !kernel.in_device.is_empty() {
            kernel.finish();
        }
        program.reap(&mut kernel);
        program.look(&mut kernel, &[]);
        let tally = program.tally;
        prop_assert_eq!((tally.completed + tally.uncertain, tally.unconfirmed), (sent, 0));
        prop_assert!(program.certain.iter().all(|sent| sent.left));
    }

    #[test]
    fn any_bytes_are_read_without_panic(
        kind in 10..20u16,
        payload in prop::collection::vec(any::<u8>(), 0..128),
    ) {
        let mut tracker = LinkTracker::new(DEVICE);
        tracker.apply(notification(UP));
        if let Some(notification) = Notification::parse(kind, &payload) {
            tracker.apply(notification);
        }
        let _ = tracker.take();
    }
}

#[test]
fn unchanged_link_is_never_down() {
    let mut tracker = LinkTracker::new(DEVICE);
    tracker.apply(notification(UP));
    let _ = tracker.take();
    for _ in 0..3 {
        tracker.flags(Some(UP as u16));
        let quiet = LinkStatus {
            state: LinkState::Running,
            was_down: false,
        };
        assert_eq!(tracker.take(), quiet);
    }
}

#[test]
fn down_and_up_between_polls_is_detected() {
    let mut tracker = LinkTracker::new(DEVICE);
    tracker.apply(notification(UP));
    let _ = tracker.take();
    for flags in [0, UP] {
        tracker.apply(notification(flags));
    }
    let look = tracker.take();
    assert_eq!((look.state, look.was_down), (LinkState::Running, true));
    assert!(!tracker.take().was_down, "once");
}

#[test]
fn recreated_device_has_another_index() {
    let mut tracker = LinkTracker::new(DEVICE);
    tracker.apply(notification(UP));
    let _ = tracker.take();
    tracker.apply(Notification {
        is_removed: true,
        ..notification(0)
    });
    assert_eq!(tracker.take().state, LinkState::Removed);
    tracker.apply(Notification {
        index: 9,
        ..notification(UP)
    });
    let look = tracker.take();
    assert_eq!((look.state, look.was_down), (LinkState::Running, true));
    assert_eq!((tracker.index, tracker.replacements), (9, 2));
    tracker.apply(notification(0));
    assert_eq!(tracker.state, LinkState::Running, "of another device");
}

#[test]
fn renamed_device_is_followed_by_index() {
    let mut tracker = LinkTracker::new(DEVICE);
    tracker.apply(notification(UP));
    let _ = tracker.take();
    let renamed = |is_removed| Notification {
        name: Some(b"wan0"),
        is_removed,
        ..notification(UP)
    };
    tracker.apply(renamed(false));
    assert!(!tracker.take().was_down);
    assert_eq!(tracker.name, "wan0");
    let other = |index, name| Notification {
        index,
        name: Some(name),
        ..notification(0)
    };
    // Another device has the former name.
    tracker.apply(other(9, DEVICE.as_bytes()));
    assert_eq!((tracker.index, tracker.state), (INDEX, LinkState::Running));
    tracker.apply(renamed(true));
    tracker.excluded = 9;
    for (index, name) in [(8, DEVICE.as_bytes()), (9, b"wan0")] {
        tracker.apply(other(index, name));
        assert_eq!(tracker.state, LinkState::Removed, "{index}");
    }
    tracker.apply(other(10, b"wan0"));
    assert_eq!((tracker.index, tracker.state), (10, LinkState::Down));
}

#[test]
fn same_index_after_removal_is_a_replacement() {
    let mut tracker = LinkTracker::new(DEVICE);
    tracker.apply(notification(UP));
    tracker.apply(Notification {
        is_removed: true,
        is_moved: true,
        ..notification(0)
    });
    assert!(tracker.is_moved);
    tracker.apply(notification(UP));
    assert_eq!((tracker.index, tracker.replacements), (INDEX, 2));
}

#[test]
fn other_devices_are_ignored() {
    let mut tracker = LinkTracker::new(DEVICE);
    tracker.apply(notification(UP));
    let _ = tracker.take();
    tracker.apply(Notification {
        index: 8,
        name: Some(b"veth00"),
        flags: 0,
        mtu_bytes: Some(576),
        is_removed: true,
        is_moved: false,
    });
    assert!(!tracker.take().was_down);
    assert_eq!(tracker.mtu_bytes, 0);
}

#[test]
fn mtu_is_that_of_the_last_notification() {
    let mut tracker = LinkTracker::new(DEVICE);
    for mtu_bytes in [Some(1500), None, Some(9000)] {
        tracker.apply(Notification {
            mtu_bytes,
            ..notification(UP)
        });
        let _ = tracker.take();
        assert_eq!(tracker.mtu_bytes, mtu_bytes.unwrap_or(1500));
    }
}

#[test]
fn absent_device_is_removed_by_its_notification() {
    let mut tracker = LinkTracker::new(DEVICE);
    tracker.apply(notification(UP));
    // A read of the flags, and a query, before the notification.
    for _ in 0..2 {
        tracker.flags(None);
        assert_eq!((tracker.index, tracker.state), (INDEX, LinkState::Down));
    }
    tracker.apply(Notification {
        is_removed: true,
        is_moved: true,
        ..notification(0)
    });
    assert_eq!((tracker.index, tracker.state), (0, LinkState::Removed));
    assert!(tracker.is_moved);
}

#[test]
fn flags_alone_find_no_link_running() {
    let mut tracker = LinkTracker::new(DEVICE);
    tracker.apply(notification(UP));
    tracker.flags(Some(0));
    tracker.flags(Some(UP as u16));
    assert_eq!(tracker.state, LinkState::Down);
    tracker.apply(notification(UP));
    assert_eq!(tracker.state, LinkState::Running);
}
