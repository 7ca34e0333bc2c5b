//! Finds threads that sleep although what they wait for has come: lost wake-ups.
//!
//! It judges by counts, not by a clock: how often the completing thread looked, and how many packets
//! passed while somebody slept. So a busy machine makes it slower and not wrong.

use std::sync::Arc;
use std::task::Wake;

use super::sleeper::{Sleep, Sleeper, WaitsFor};

/// Looks, one each cadence, after which a sleep beside what it waits for is a lost one. Whoever was
/// kept from running between its write and its call has had its turn by then.
const LOST_AFTER_LOOKS: u32 = 4_000;

/// What the watchdog sees each time.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    /// The device has everything behind it.
    pub packet_ring_is_empty: bool,
    /// Packets in the ring of the submitters.
    pub submit_ring_packets: usize,
    /// Packets that submitters have handed in so far.
    pub submitted_packets: u64,
}

/// One sleep, and since when.
struct Watched {
    sleeper: Arc<Sleeper>,
    sleep: Option<Sleep>,
    /// Packets that had been submitted when the sleep was first seen.
    submitted_packets: u64,
    looks: u32,
}

impl Watched {
    fn new(sleeper: Arc<Sleeper>) -> Self {
        Self {
            sleeper,
            sleep: None,
            submitted_packets: 0,
            looks: 0,
        }
    }

    /// Says whether `in_vain` told of one and the same sleep for so long, or `passed` at once.
    fn is_lost(
        &mut self,
        look: &Look,
        in_vain: impl FnOnce(Sleep) -> bool,
        most_packets: u64,
    ) -> bool {
        let sleep = self.sleeper.unwoken();
        if sleep != self.sleep {
            self.sleep = sleep;
            self.submitted_packets = look.submitted_packets;
            self.looks = 0;
        }
        let Some(sleep) = sleep else {
            return false;
        };
        self.looks = if in_vain(sleep) { self.looks + 1 } else { 0 };
        let passed = sleep.waits_for == WaitsFor::SubmitRoom
            && look.submitted_packets - self.submitted_packets > most_packets;
        if self.looks < LOST_AFTER_LOOKS && !passed {
            return false;
        }
        self.sleep = None;
        true
    }
}

/// Wake-ups that never came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    pub of_owner: u64,
    pub of_submitters: u64,
}

/// Watches the owner and the submitters.
pub struct Watchdog {
    owner: Watched,
    submitters: Vec<Watched>,
    /// Packets that cannot have been handed in while a submitter slept: each that is taken out of
    /// the ring wakes the one that has slept longest.
    most_packets: u64,
    lost: Lost,
}

impl Watchdog {
    /// For an owner that takes at most `most_packets` out of the submitters' ring at a time, and
    /// leaves as many in it.
    pub fn new(owner: Arc<Sleeper>, submitters: Vec<Arc<Sleeper>>, most_packets: u32) -> Self {
        let submitters: Vec<_> = submitters.into_iter().map(Watched::new).collect();
        // Once through both for each submitter that may stand before it, with a wide margin.
        let most_packets = 8 * u64::from(most_packets) * (submitters.len() as u64 + 1);
        Self {
            owner: Watched::new(owner),
            submitters,
            most_packets,
            lost: Lost::default(),
        }
    }

    /// Looks once; whoever is lost is counted and woken.
    pub fn look(&mut self, look: &Look) {
        let owner_sleeps_for = self.owner.sleeper.unwoken().map(|sleep| sleep.waits_for);
        let owner_in_vain = |sleep: Sleep| match sleep.waits_for {
            WaitsFor::Room => look.packet_ring_is_empty,
            WaitsFor::Work => look.submit_ring_packets > 0,
            WaitsFor::SubmitRoom => false,
        };
        if self.owner.is_lost(look, owner_in_vain, self.most_packets) {
            self.lost.of_owner += 1;
            self.owner.sleeper.wake_by_ref();
        }
        // All is empty and both sides sleep: nobody will ever wake them.
        let nobody_works =
            owner_sleeps_for == Some(WaitsFor::Work) && look.submit_ring_packets == 0;
        for submitter in &mut self.submitters {
            if submitter.is_lost(look, |_| nobody_works, self.most_packets) {
                self.lost.of_submitters += 1;
                submitter.sleeper.wake_by_ref();
            }
        }
    }

    /// What was lost so far.
    pub fn lost(&self) -> Lost {
        self.lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Look = Look {
        packet_ring_is_empty: false,
        submit_ring_packets: 0,
        submitted_packets: 0,
    };

    /// A thread that is asleep for `waits_for`; joined when it is woken.
    fn asleep(waits_for: WaitsFor) -> (Arc<Sleeper>, std::thread::JoinHandle<()>) {
        let sleeper = Arc::new(Sleeper::default());
        let thread = std::thread::spawn({
            let sleeper = sleeper.clone();
            move || sleeper.sleep(waits_for)
        });
        while sleeper.unwoken().is_none() {
            std::thread::yield_now();
        }
        (sleeper, thread)
    }

    #[test]
    fn an_owner_that_waits_for_room_beside_an_empty_ring_is_lost_and_woken() {
        let (owner, thread) = asleep(WaitsFor::Room);
        let mut watchdog = Watchdog::new(owner, Vec::new(), 10);
        let empty = Look {
            packet_ring_is_empty: true,
            ..QUIET
        };
        for _ in 1..LOST_AFTER_LOOKS {
            watchdog.look(&empty);
        }
        // A completion in between: it was only late.
        watchdog.look(&QUIET);
        assert_eq!(watchdog.lost(), Lost::default());
        for _ in 0..LOST_AFTER_LOOKS {
            watchdog.look(&empty);
        }
        assert_eq!(watchdog.lost().of_owner, 1);
        thread.join().expect("was woken");
    }

    #[test]
    fn an_owner_that_waits_for_work_is_lost_only_beside_packets() {
        let (owner, thread) = asleep(WaitsFor::Work);
        let mut watchdog = Watchdog::new(owner, Vec::new(), 10);
        for _ in 0..2 * LOST_AFTER_LOOKS {
            watchdog.look(&Look {
                packet_ring_is_empty: true,
                ..QUIET
            });
        }
        assert_eq!(watchdog.lost(), Lost::default());
        for _ in 0..LOST_AFTER_LOOKS {
            watchdog.look(&Look {
                submit_ring_packets: 1,
                ..QUIET
            });
        }
        assert_eq!(watchdog.lost().of_owner, 1);
        thread.join().expect("was woken");
    }

    #[test]
    fn a_submitter_is_lost_when_too_much_passed_while_it_slept() {
        let (submitter, thread) = asleep(WaitsFor::SubmitRoom);
        let mut watchdog = Watchdog::new(Arc::default(), vec![submitter], 10);
        let passed = |submitted_packets| Look {
            submit_ring_packets: 5,
            submitted_packets,
            ..QUIET
        };
        watchdog.look(&passed(1_000));
        watchdog.look(&passed(1_160));
        assert_eq!(watchdog.lost(), Lost::default());
        watchdog.look(&passed(1_161));
        assert_eq!(watchdog.lost().of_submitters, 1);
        thread.join().expect("was woken");
    }

    #[test]
    fn a_submitter_is_lost_when_the_owner_has_nothing_left_to_do() {
        let (owner, owner_thread) = asleep(WaitsFor::Work);
        let (submitter, thread) = asleep(WaitsFor::SubmitRoom);
        let mut watchdog = Watchdog::new(owner.clone(), vec![submitter], 10);
        for _ in 0..LOST_AFTER_LOOKS {
            watchdog.look(&QUIET);
        }
        assert_eq!(watchdog.lost().of_submitters, 1);
        assert_eq!(watchdog.lost().of_owner, 0);
        thread.join().expect("was woken");
        owner.wake_by_ref();
        owner_thread.join().expect("was woken");
    }
}
