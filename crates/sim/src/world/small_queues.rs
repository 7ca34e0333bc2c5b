//! Small queues of a host: a budget for what each of its sockets has below it.

use std::task::Waker;

use taut_path::Probe;
use taut_path::limit::Limit;
use taut_path::tsq::{Budgets, BudgetsError, Flow, Settings, Totals};

use super::worker::Task;
use super::{Event, World};

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

impl<P: Probe, L: Limit> World<P, L> {
    /// Whether an application that acts takes its socket for a while. It lets go by itself.
    pub(super) fn holds(&mut self, connection: u32, host: usize, now_ns: u64) -> bool {
        let Some(budgets) = &self.hosts[host].budgets else {
            return false;
        };
        let holds = budgets.hold_ns > 0 && budgets.flow(connection).take_or_note();
        if holds {
            let at_ns = now_ns.saturating_add(budgets.hold_ns);
            self.engine.schedule(at_ns, Event::LetGo(connection, host));
        }
        holds
    }

    /// Lets an endpoint work, unless its socket is held: then it works when that is let go.
    pub(super) fn pump(&mut self, connection: u32, host: usize, woken: bool, now_ns: u64) {
        let Some(flow) = self.hosts[host].flow(connection) else {
            return self.work(connection, host, woken, now_ns);
        };
        if flow.take_or_note() {
            self.work(connection, host, woken, now_ns);
            self.let_go(connection, host, now_ns);
        }
    }

    pub(super) fn on_let_go(&mut self, connection: u32, host: usize, now_ns: u64) {
        if !self.must_wait(host, 0, Task::LetGo(connection), now_ns) {
            self.let_go(connection, host, now_ns);
        }
    }

    /// Does what was noted while a socket was held, and lets go of it.
    pub(super) fn let_go(&mut self, connection: u32, host: usize, now_ns: u64) {
        while let Some(flow) = self.hosts[host].flow(connection)
            && !flow.let_go()
        {
            self.work(connection, host, true, now_ns);
        }
    }

    pub(super) fn on_deferred(&mut self, host: usize, now_ns: u64) {
        if !self.must_wait(host, 0, Task::Deferred, now_ns) {
            self.run_deferred(host, now_ns);
        }
    }

    /// Those whose small queues have room again send on.
    pub(super) fn run_deferred(&mut self, host: usize, now_ns: u64) {
        let Some(budgets) = &mut self.hosts[host].budgets else {
            return;
        };
        budgets.run_scheduled = false;
        // The same table: this one can be run while the world works.
        let table = budgets.budgets.clone();
        table.run_deferred(LIST, |connection| {
            self.work(connection, host, false, now_ns);
        });
        self.watch(host, now_ns);
    }
}
