//! Two hosts, a link between them, and connections across it: everything a queue is part of.
//!
//! A packet goes socket, discipline, limit, ring, wire, socket; each segment and each
//! acknowledgement crosses the wire as an event of its own. Virtual time starts at 0.
//!
//! What a host does reaches the other after the delay of the link, and not before: so each host
//! runs alone for as long, then the other for the same time.

mod app;
mod config;
mod connection;
mod event;
mod event_queue;
mod frames_in_flight;
mod held_back;
mod host;
mod orphaning;
mod seen;
mod segments;
mod small_queues;
mod sockets;
mod timer;
mod transactions;
mod turns;
mod way_down;

use taut_path::limit::Limit;
use taut_path::queue::CompleterCounters;
use taut_path::tsq;
use taut_path::{AnyLimit, LateSegmentation, Probe, Qdisc};

use crate::error::TestbedError;
use crate::nic::{EmulatedNic, WireCounters};
use crate::tcp::TcpSettings;

pub use app::App;
pub use config::WorldConfig;
use connection::Endpoint;
pub use connection::{ConnectionConfig, EndpointReport};
use host::Host;
pub use seen::WireFrame;
use small_queues::HostBudgets;
pub use small_queues::SmallQueues;
pub use transactions::Transactions;
use turns::AfterWindow;

/// The host that connections are opened from; the other is 1.
pub const CLIENT: usize = 0;
/// The host that connections are opened to.
pub const SERVER: usize = 1;

/// The two hosts and what is between them.
pub struct World<P, L = AnyLimit, Q: Qdisc = Box<dyn Qdisc + Send>> {
    hosts: [Host<P, L, Q>; 2],
    now_ns: u64,
    /// For so long, in ns, nothing that one host does can matter to the other.
    apart_ns: u64,
    last_tcp: Option<TcpSettings>,
    transactions: Transactions,
}

impl<P: Probe, L: Limit> World<P, L> {
    /// Two idle hosts, each with the discipline, limit and probe that is made for its index.
    ///
    /// # Errors
    /// If the NIC or the limit cannot be made of its settings.
    pub fn new(
        config: &WorldConfig,
        parts: impl FnMut(usize) -> (Box<dyn Qdisc + Send>, L, P),
    ) -> Result<Self, TestbedError> {
        Self::with_disciplines(config, parts)
    }
}

impl<P: Probe, L: Limit, Q: Qdisc> World<P, L, Q> {
    /// The same with disciplines of a type that is known: without a call through a pointer for each
    /// packet.
    ///
    /// # Errors
    /// As for [`new`](World::new).
    pub(crate) fn with_disciplines(
        config: &WorldConfig,
        parts: impl FnMut(usize) -> (Q, L, P),
    ) -> Result<Self, TestbedError> {
        Self::with_split(config, LateSegmentation::Off, parts)
    }

    /// The same with queues that cut super-packets.
    ///
    /// # Errors
    /// As for [`new`](World::new).
    pub fn with_split(
        config: &WorldConfig,
        split: LateSegmentation,
        mut parts: impl FnMut(usize) -> (Q, L, P),
    ) -> Result<Self, TestbedError> {
        let mut host = |index: usize| Host::new(index, config, split, parts(index));
        Ok(Self {
            hosts: [host(CLIENT)?, host(SERVER)?],
            now_ns: 0,
            // Without a delay a frame may arrive at the time at which it was told.
            apart_ns: config.delay_ns.max(1),
            last_tcp: None,
            transactions: Transactions::new(),
        })
    }

    /// Holds back the connections that are added from now on; call it before the first of them.
    ///
    /// # Errors
    /// If the settings cannot be.
    pub fn use_small_queues(&mut self, config: &SmallQueues) -> Result<(), tsq::BudgetsError> {
        for host in &mut self.hosts {
            host.hold_back(HostBudgets::new(config)?, config.orphans);
        }
        Ok(())
    }

    /// Adds an established connection and its two applications, which start at `start_ns`. Returns
    /// its number.
    pub fn connect(
        &mut self,
        config: &ConnectionConfig,
        client: App,
        server: App,
        start_ns: u64,
    ) -> u32 {
        let tcp = TcpSettings::as_last(&mut self.last_tcp, &config.tcp);
        let [first, second] = &mut self.hosts;
        let number = first.connect(config, &tcp, client, self.now_ns, start_ns);
        // Both ends have the same.
        let _ = second.connect(config, &tcp, server, self.now_ns, start_ns);
        number
    }

    /// Hands completions on to both hosts' limits only every `cadence_ns`; 0 hands on each round at
    /// once.
    pub fn set_cadence_ns(&mut self, cadence_ns: u64) {
        for host in &mut self.hosts {
            host.queue.set_coalesce_ns(cadence_ns);
        }
    }

    /// Runs until `until_ns`, or until nothing is left to happen.
    ///
    /// # Errors
    /// If a queue goes wrong; the world stands still from then on.
    pub fn run_until(&mut self, until_ns: u64) -> Result<(), TestbedError> {
        self.run_windows(until_ns, |_, _, _, _, _| {})
    }

    #[inline(always)]
    fn run_windows(
        &mut self,
        until_ns: u64,
        mut after: impl AfterWindow<P, L, Q>,
    ) -> Result<(), TestbedError> {
        self.check()?;
        // What is due at `until_ns` is done, too.
        let stop_ns = until_ns.saturating_add(1);
        loop {
            let [client, server] = &mut self.hosts;
            let first_ns = client.next_ns().min(server.next_ns());
            if first_ns >= stop_ns {
                break;
            }
            let end_ns = first_ns.saturating_add(self.apart_ns).min(stop_ns);
            let before = server.arrivals.len();
            client.run_before(end_ns, &mut server.arrivals);
            after(first_ns, client, CLIENT, &server.arrivals, before);
            let before = client.arrivals.len();
            server.run_before(end_ns, &mut client.arrivals);
            after(first_ns, server, SERVER, &client.arrivals, before);
            self.transactions.take(&mut client.ended.latencies_ns);
            self.transactions.take(&mut server.ended.latencies_ns);
            self.check()?;
        }
        self.now_ns = self.now_ns.max(until_ns);
        Ok(())
    }

    fn check(&self) -> Result<(), TestbedError> {
        let faults = self.hosts.iter().filter_map(|host| host.log.fault);
        match faults.min_by_key(|fault| fault.at_ns) {
            Some(fault) => Err(TestbedError::Fault(fault)),
            None => Ok(()),
        }
    }

    /// The probe of a host's queue.
    pub fn probe(&self, host: usize) -> &P {
        self.hosts[host].queue.probe()
    }

    /// A host's NIC.
    pub fn nic(&self, host: usize) -> &EmulatedNic {
        &self.hosts[host].queue.device().driver
    }

    /// What a host's wire carried.
    pub fn wire(&self, host: usize) -> WireCounters {
        self.nic(host).counters()
    }

    /// Packets that a host's queue dropped.
    pub fn dropped_packets(&self, host: usize) -> u64 {
        self.hosts[host].queue.sender_counters().drops.total()
    }

    /// Packets that a host's discipline marked.
    pub fn marked_packets(&self, host: usize) -> u64 {
        self.hosts[host].queue.sender_counters().marked_packets
    }

    /// What the completing half of a host's queue did.
    pub fn completions(&self, host: usize) -> CompleterCounters {
        self.hosts[host].queue.completer_counters()
    }

    /// What one end of a connection has below its socket, if it is held back.
    pub fn small_queue(&self, connection: u32, host: usize) -> Option<tsq::FlowSnapshot> {
        let flow = self.hosts[host].flow(connection)?;
        Some(flow.snapshot())
    }

    /// Packets that a host's NIC completed after it had orphaned them.
    pub fn orphaned_packets(&self, host: usize) -> u64 {
        self.hosts[host].queue.device().orphaned_packets()
    }

    /// How often a host's connections were held back.
    pub fn small_queue_totals(&self, host: usize) -> tsq::Totals {
        let budgets = self.hosts[host].budgets.as_deref();
        budgets.map(HostBudgets::totals).unwrap_or_default()
    }

    /// What one end of a connection did so far.
    pub fn report(&self, connection: u32, host: usize) -> EndpointReport {
        self.hosts[host].endpoints[connection as usize].report()
    }

    /// Payload bytes that arrived at a host on all connections, each once, those out of order
    /// included.
    pub fn arrived_bytes(&self, host: usize) -> u64 {
        let endpoints = self.hosts[host].endpoints.iter();
        endpoints.map(Endpoint::arrived_bytes).sum()
    }

    /// The transactions that ended since they count.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.hosts.iter().map(|host| host.log.events).sum()
    }
}
