//! A host's one core, and what waits for it.

use std::collections::VecDeque;

use taut_path::Packet;

use crate::cpu::Core;

/// What things cost on a host's one core, in ns, and how long its applications take to react. All
/// 0: a host that takes no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HostCost {
    /// Each interrupt, before it reaps.
    pub interrupt_ns: u64,
    /// Each packet that is reaped, before the queue starts again.
    pub reap_ns: u64,
    /// Each packet that is sent, before the discipline has it; a super-packet is one.
    pub packet_ns: u64,
    /// Each segment that arrives, before TCP has it.
    pub segment_ns: u64,
    /// From the moment when an application finds something to read, or room to write, to when it
    /// does. The core is free in that time.
    pub reaction_ns: u64,
}

/// Something that takes the core.
#[derive(Debug)]
pub(super) enum Task {
    /// Reap what the NIC has finished.
    Interrupt,
    /// What was reaped is dealt with; `true`: run the queue again.
    Reaped(bool),
    /// Hand a packet to the discipline.
    Send(Packet),
    /// Take the first of the frames that arrived.
    Receive,
    /// See to the timers of an endpoint.
    Timer(u32),
    /// Let an application act.
    App(u32),
    /// Let a blind sender try.
    Blind(u32),
    /// Run the deferred list of the small queues.
    Deferred,
    /// An application lets go of its socket.
    LetGo(u32),
}

/// A core that does one task after the other, each to its end. What comes of a task is done before
/// what was asked meanwhile.
#[derive(Debug, Default)]
pub(super) struct Worker {
    core: Core,
    is_busy: bool,
    /// What it is doing, and when that is done, in ns.
    doing: Option<(u64, Task)>,
    /// What waits, with its cost in ns.
    waiting: VecDeque<(u64, Task)>,
    /// How many of `waiting`, the first, came of the task that was done last.
    followers: usize,
    /// When it was last asked to be woken.
    watched_ns: Option<u64>,
}

impl Worker {
    /// Whether a task of `cost_ns` must wait for the core. If so, it was queued; if not, do it now.
    #[inline(always)]
    pub fn must_wait(&mut self, cost_ns: u64, task: Task) -> bool {
        let must_wait = cost_ns > 0 || self.is_busy;
        if must_wait {
            self.wait(cost_ns, task);
        }
        must_wait
    }

    // Apart, so that a host that takes no time pays for no more than the question.
    #[cold]
    fn wait(&mut self, cost_ns: u64, task: Task) {
        self.is_busy = true;
        self.waiting.push_back((cost_ns, task));
    }

    /// Queues what comes of the task that is being done, before everything else.
    pub fn follow(&mut self, cost_ns: u64, task: Task) {
        self.is_busy = true;
        self.waiting.insert(self.followers, (cost_ns, task));
        self.followers += 1;
    }

    /// The task that is done by `now_ns`.
    pub fn take_done(&mut self, now_ns: u64) -> Option<Task> {
        self.watched_ns = None;
        let (_, task) = self.doing.take_if(|(done_ns, _)| *done_ns <= now_ns)?;
        self.is_busy = !self.waiting.is_empty();
        Some(task)
    }

    /// Begins the next task if the core is free. Returns when to come back for it, if that is not
    /// known already.
    pub fn is_due_anew(&mut self, now_ns: u64) -> Option<u64> {
        if self.doing.is_none() {
            let (cost_ns, task) = self.waiting.pop_front()?;
            self.followers = 0;
            self.doing = Some((self.core.work(now_ns, cost_ns), task));
        }
        let due_ns = self.doing.as_ref().map(|&(done_ns, _)| done_ns);
        if due_ns == self.watched_ns {
            return None;
        }
        self.watched_ns = due_ns;
        due_ns
    }

    /// How long the core worked, in ns, with what it is doing.
    pub fn busy_ns(&self) -> u64 {
        self.core.busy_ns
    }
}
