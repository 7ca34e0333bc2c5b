//! Small queues of a host: a budget for what each of its sockets has below it.

use std::task::Waker;

use taut_path::limit::Limit;
use taut_path::tsq::{Budgets, BudgetsError, Flow, Settings, Totals};
use taut_path::{Probe, Qdisc};

use super::host::{Event, Host};
use super::worker::Task;

/// How small queues are used. The same at both hosts.
#[derive(Debug, Clone, Copy)]
pub struct SmallQueues {
    /// The global setting.
    pub settings: Settings,
    /// Connections that there will be.
    pub connections: u32,
    /// Time from a flow's place on the deferred list to the run of that list, in ns.
    pub deferred_delay_ns: u64,
    /// Time for which an application that wakes up holds its socket, in ns: what arrives or gets
    /// room meanwhile is dealt with when it lets go.
    pub hold_ns: u64,
    /// Drivers let go of a packet's owner at submission, and its budget comes back then.
    pub orphans: bool,
}

/// One host has one sending thread, hence one deferred list.
const LIST: u32 = 0;

/// The budgets of one host.
pub(super) struct HostBudgets {
    budgets: Budgets,
    /// By connection.
    flows: Vec<Flow>,
    deferred_delay_ns: u64,
    hold_ns: u64,
    /// A run of the deferred list is scheduled.
    run_scheduled: bool,
}

impl HostBudgets {
    pub fn new(config: &SmallQueues) -> Result<Self, BudgetsError> {
        let wakers = [Waker::noop().clone()];
        Ok(Self {
            budgets: Budgets::new(config.connections, config.settings, &wakers)?,
            flows: Vec::new(),
            deferred_delay_ns: config.deferred_delay_ns,
            hold_ns: config.hold_ns,
            run_scheduled: false,
        })
    }

    /// A budget for the next connection.
    ///
    /// # Panics
    /// If there are more connections than were announced.
    pub fn open(&mut self) {
        let connection = self.flows.len() as u32;
        let flow = self.budgets.open(connection, LIST);
        self.flows
            .push(flow.expect("no more connections than announced"));
    }

    pub fn flow(&self, connection: u32) -> &Flow {
        &self.flows[connection as usize]
    }

    pub fn totals(&self) -> Totals {
        self.budgets.totals()
    }

    /// When to run the deferred list, if flows stand on it and no run is scheduled.
    pub fn run_is_due_anew(&mut self, now_ns: u64) -> Option<u64> {
        let due = self.budgets.has_deferred(LIST) && !self.run_scheduled;
        self.run_scheduled |= due;
        due.then(|| now_ns.saturating_add(self.deferred_delay_ns))
    }
}

impl<P: Probe, L: Limit, Q: Qdisc> Host<P, L, Q> {
    /// What holds a connection back, if anything does.
    #[inline]
    pub fn flow(&self, connection: u32) -> Option<&Flow> {
        Some(self.budgets.as_ref()?.flow(connection))
    }

    /// Whether an application that acts takes its socket for a while. It lets go by itself.
    pub fn holds(&mut self, connection: u32, now_ns: u64) -> bool {
        let Some(budgets) = &self.budgets else {
            return false;
        };
        let holds = budgets.hold_ns > 0 && budgets.flow(connection).take_or_note();
        if holds {
            let at_ns = now_ns.saturating_add(budgets.hold_ns);
            self.agenda
                .schedule(now_ns, at_ns, Event::LetGo(connection));
        }
        holds
    }

    /// Lets an endpoint work, unless its socket is held: then it works when that is let go.
    #[inline]
    pub fn pump(&mut self, connection: u32, woken: bool, now_ns: u64) {
        if self.budgets.is_none() {
            return self.work(connection, woken, now_ns);
        }
        self.pump_held_back(connection, woken, now_ns);
    }

    #[cold]
    fn pump_held_back(&mut self, connection: u32, woken: bool, now_ns: u64) {
        if self.flow(connection).is_some_and(Flow::take_or_note) {
            self.work(connection, woken, now_ns);
            self.let_go(connection, now_ns);
        }
    }

    pub fn on_let_go(&mut self, connection: u32, now_ns: u64) {
        if !self.must_wait(0, Task::LetGo(connection), now_ns) {
            self.let_go(connection, now_ns);
        }
    }

    /// Does what was noted while a socket was held, and lets go of it.
    pub fn let_go(&mut self, connection: u32, now_ns: u64) {
        while let Some(flow) = self.flow(connection)
            && !flow.let_go()
        {
            self.work(connection, true, now_ns);
        }
    }

    pub fn on_deferred(&mut self, now_ns: u64) {
        if !self.must_wait(0, Task::Deferred, now_ns) {
            self.run_deferred(now_ns);
        }
    }

    /// Those whose small queues have room again send on.
    pub fn run_deferred(&mut self, now_ns: u64) {
        let Some(budgets) = &mut self.budgets else {
            return;
        };
        budgets.run_scheduled = false;
        // The same table: this one can be run while the host works.
        let table = budgets.budgets.clone();
        table.run_deferred(LIST, |connection| {
            self.work(connection, false, now_ns);
        });
        self.watch(now_ns);
    }
}
