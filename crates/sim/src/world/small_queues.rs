//! Small queues of a host: a budget for the data below each of its sockets.

use std::collections::VecDeque;

use taut_path::Packet;
use taut_path::tsq::{Charges, Flow, FlowBudgets, FlowBudgetsError, Settings};

use crate::nic::EmulatedNic;

/// Settings of small queues, the same at both hosts.
#[derive(Debug, Clone, Copy)]
pub struct SmallQueues {
    /// The global setting.
    pub settings: Settings,
    /// Maximum number of connections.
    pub connections: u32,
    /// Time from adding a flow to the deferred list to the run of that list, in ns.
    pub deferred_delay_ns: u64,
    /// Time for which an application that wakes up locks its socket, in ns. Arrivals and
    /// completions during that time are processed at the unlock.
    pub hold_ns: u64,
    /// The driver orphans each packet at submission: its charge is released then.
    pub orphans: bool,
}

/// The budgets of one host.
pub(super) struct HostBudgets {
    pub budgets: FlowBudgets,
    pub charges: Charges,
    /// Flows, indexed by connection.
    flows: Vec<Flow>,
    deferred_delay_ns: u64,
    /// Time for which an application that wakes up locks its socket, in ns.
    pub hold_ns: u64,
    /// A run of the deferred list is scheduled.
    run_scheduled: bool,
    /// Present if the driver orphans packets.
    pub orphans: Option<Orphans>,
}

impl HostBudgets {
    pub fn new(config: &SmallQueues) -> Result<Self, FlowBudgetsError> {
        let budgets = FlowBudgets::new(config.connections, config.settings)?;
        Ok(Self {
            charges: budgets.charges(0),
            budgets,
            flows: Vec::new(),
            deferred_delay_ns: config.deferred_delay_ns,
            hold_ns: config.hold_ns,
            run_scheduled: false,
            orphans: config.orphans.then(Orphans::default),
        })
    }

    /// Adds the budget of the next connection.
    ///
    /// # Panics
    /// If there are more connections than configured.
    pub fn open(&mut self) {
        let connection = self.flows.len() as u32;
        let flow = self.budgets.open(connection);
        self.flows
            .push(flow.expect("no more connections than configured"));
    }

    pub fn flow(&self, connection: u32) -> &Flow {
        &self.flows[connection as usize]
    }

    /// Charges a packet to the flow of `connection`.
    pub fn charge(&mut self, connection: u32, packet: &Packet) {
        let frame = packet.frame().index();
        if frame >= self.charges.frames() {
            self.charges.grow((frame + 1).next_power_of_two());
        }
        self.charges
            .charge(&self.flows[connection as usize], packet);
    }

    /// Releases the charges of submitted packets if the driver orphans them.
    pub fn submitted(&mut self, nic: &EmulatedNic) {
        if let Some(orphans) = &mut self.orphans {
            orphans.submitted(nic, &self.charges);
        }
    }

    /// Returns the time for a run of the deferred list, if it has flows and no run is scheduled.
    pub fn next_run_ns(&mut self, now_ns: u64) -> Option<u64> {
        let due = self.budgets.has_deferred() && !self.run_scheduled;
        self.run_scheduled |= due;
        due.then(|| now_ns.saturating_add(self.deferred_delay_ns))
    }

    /// Starts a run of the deferred list. The returned handle can be used while the host works.
    pub fn begin_run(&mut self) -> FlowBudgets {
        self.run_scheduled = false;
        self.budgets.clone()
    }
}

/// Releases the charge of each packet when it is submitted, as some drivers do, so that small
/// queues limit nothing.
#[derive(Default)]
pub(super) struct Orphans {
    /// Whether the charge of each packet in the ring was released, oldest first.
    released: VecDeque<bool>,
    /// Packets that the NIC completed after their charge was released.
    pub packets: u64,
}

impl Orphans {
    /// Releases the charges of the packets submitted since the last call.
    pub fn submitted(&mut self, nic: &EmulatedNic, charges: &Charges) {
        for packet in nic.packets(0).skip(self.released.len()) {
            // The charge of a packet that is sent in chunks belongs to the last of them.
            let is_end = packet.chunk().is_none_or(|chunk| chunk.is_last);
            self.released
                .push_back(is_end && charges.release(packet.frame()));
        }
    }

    /// Counts the packets completed since the last call.
    pub fn completed(&mut self, nic: &EmulatedNic) {
        let gone = self.released.len() - nic.packets_in_rings();
        let orphaned = self.released.drain(..gone).filter(|&it| it);
        self.packets += orphaned.count() as u64;
    }
}
