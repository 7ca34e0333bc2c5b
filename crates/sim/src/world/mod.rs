//! Two hosts, a link between them, and connections across it: the complete environment of a queue.
//!
//! A packet passes socket, discipline, limit, ring, wire and socket. Each segment and each
//! acknowledgement crosses the wire as a separate event. Virtual time starts at 0.
//!
//! Actions of a host reach the other host after the delay of the link at the earliest. The hosts
//! therefore run alternately, each for that time.

mod app;
mod connection;
mod event_queue;
mod frames_in_flight;
mod host;
mod run_window;
mod segments;
mod small_queues;
mod sockets;
mod timer;
mod tx_path;
mod wire_frames;

use std::sync::Arc;

use hdrhistogram::Histogram;
use taut_path::limit::Limit;
use taut_path::queue::CompleterCounters;
use taut_path::tsq;
use taut_path::{AnyLimit, Probe, Qdisc};

use crate::error::TestbedError;
use crate::nic::WireCounters;
use crate::queue::{Fault, QueueFault};
use crate::tcp::TcpConfig;

pub use app::{App, Messages};
pub use connection::{ConnectionConfig, EndpointReport};
use host::Host;
pub use host::WorldConfig;
use run_window::AfterWindow;
use small_queues::HostBudgets;
pub use small_queues::SmallQueues;
pub use wire_frames::WireFrame;

/// The host that connections are opened from; the other is 1.
pub const CLIENT: usize = 0;
/// The host that connections are opened to.
pub const SERVER: usize = 1;

/// The two hosts and the link between them.
pub struct World<P, L = AnyLimit, Q: Qdisc = Box<dyn Qdisc + Send>> {
    hosts: [Host<P, L, Q>; 2],
    now_ns: u64,
    /// Time within which the hosts cannot affect each other, in ns.
    apart_ns: u64,
    last_tcp: Option<Arc<TcpConfig>>,
}

impl<P: Probe, L: Limit, Q: Qdisc> World<P, L, Q> {
    /// Creates two idle hosts; the function returns discipline, limit and probe of each host index.
    ///
    /// # Errors
    /// If the settings of the NIC or the limit are invalid.
    pub fn new(
        config: &WorldConfig,
        mut parts: impl FnMut(usize) -> (Q, L, P),
    ) -> Result<Self, TestbedError> {
        let mut host = |index: usize| Host::new(index, config, parts(index));
        Ok(Self {
            hosts: [host(CLIENT)?, host(SERVER)?],
            now_ns: 0,
            // Without a delay, a frame can arrive at the time of its report.
            apart_ns: config.delay_ns.max(1),
            last_tcp: None,
        })
    }

    /// Applies small queues to the connections that are added from now on. Call it before the first
    /// of them.
    ///
    /// # Errors
    /// If the settings are invalid.
    pub fn use_small_queues(&mut self, config: &SmallQueues) -> Result<(), tsq::FlowBudgetsError> {
        for host in &mut self.hosts {
            host.tx.budgets = Some(Box::new(HostBudgets::new(config)?));
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
        let tcp = config.tcp.in_range();
        // Equal settings share their memory, which many connections would fill the cache with.
        let last = self.last_tcp.take().filter(|last| **last == tcp);
        let tcp = last.unwrap_or_else(|| Arc::new(tcp));
        self.last_tcp = Some(tcp.clone());
        let [first, second] = &mut self.hosts;
        let number = first.connect(config, &tcp, client, self.now_ns, start_ns);
        // Both ends have the same number.
        let _ = second.connect(config, &tcp, server, self.now_ns, start_ns);
        number
    }

    /// Runs until `until_ns`, or until no event is left.
    ///
    /// # Errors
    /// If a queue becomes faulty; the world then makes no further progress.
    pub fn run_until(&mut self, until_ns: u64) -> Result<(), TestbedError> {
        self.run_windows(until_ns, &mut |_, _, _, _, _| {})
    }

    #[inline(always)]
    fn run_windows(
        &mut self,
        until_ns: u64,
        after: AfterWindow<P, L, Q>,
    ) -> Result<(), TestbedError> {
        self.check()?;
        // Events at `until_ns` are processed, too.
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
            self.check()?;
        }
        self.now_ns = self.now_ns.max(until_ns);
        self.check_disciplines()
    }

    fn check_disciplines(&self) -> Result<(), TestbedError> {
        let at_ns = self.now_ns;
        for (queue, host) in self.hosts.iter().enumerate() {
            let (backlog, sender) = (host.tx.queue.backlog(), host.tx.queue.sender_counters());
            // A GSO packet of which chunks were sent counts once for each.
            let found = sender.sent_packets + sender.drops.total() + backlog.packets;
            let packets = sender.enqueued_packets.saturating_sub(found);
            let fault = Fault::LostPackets { packets };
            if packets > 0 {
                return Err(QueueFault {
                    queue,
                    at_ns,
                    fault,
                }
                .into());
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), TestbedError> {
        let faults = self.hosts.iter().filter_map(|host| host.log.fault);
        match faults.min_by_key(|fault| fault.at_ns) {
            Some(fault) => Err(TestbedError::Fault(fault)),
            None => Ok(()),
        }
    }

    /// Returns the probe of a host's queue.
    pub fn probe(&self, host: usize) -> &P {
        self.hosts[host].tx.queue.probe()
    }

    /// Returns the wire counters of a host.
    pub fn wire(&self, host: usize) -> WireCounters {
        self.hosts[host].tx.queue.device().counters(0)
    }

    /// Returns the packets that a host's queue dropped.
    pub fn dropped_packets(&self, host: usize) -> u64 {
        self.hosts[host].tx.queue.sender_counters().drops.total()
    }

    /// Returns the packets that a host's discipline marked.
    pub fn marked_packets(&self, host: usize) -> u64 {
        self.hosts[host].tx.queue.sender_counters().marked_packets
    }

    /// Returns the counters of the completing half of a host's queue.
    pub fn completions(&self, host: usize) -> CompleterCounters {
        self.hosts[host].tx.queue.completer_counters()
    }

    /// Returns the small queue of one end of a connection, if it is limited.
    pub fn small_queue(&self, connection: u32, host: usize) -> Option<tsq::FlowSnapshot> {
        let flow = self.hosts[host].flow(connection)?;
        Some(flow.snapshot())
    }

    /// Returns the packets that a host's NIC completed after it had orphaned them.
    pub fn orphaned_packets(&self, host: usize) -> u64 {
        let budgets = self.hosts[host].tx.budgets.as_deref();
        let orphans = budgets.and_then(|it| it.orphans.as_ref());
        orphans.map_or(0, |orphans| orphans.packets)
    }

    /// Returns the small-queue totals of a host.
    pub fn small_queue_totals(&self, host: usize) -> tsq::Totals {
        let budgets = self.hosts[host].tx.budgets.as_deref();
        budgets.map(|it| it.budgets.totals()).unwrap_or_default()
    }

    /// Returns the report of one end of a connection.
    pub fn report(&self, connection: u32, host: usize) -> EndpointReport {
        self.hosts[host].endpoints[connection as usize].report()
    }

    /// Returns the payload bytes that arrived at a host on all connections, each once, including
    /// those out of order.
    pub fn arrived_bytes(&self, host: usize) -> u64 {
        let endpoints = self.hosts[host].endpoints.iter();
        endpoints.map(|it| it.receiver.arrived_bytes()).sum()
    }

    /// Returns the latencies of the recorded transactions, from the write of the request to the
    /// read of the whole response, in ns.
    pub fn latency_ns(&self) -> Histogram<u64> {
        let [client, server] = &self.hosts;
        let mut latency_ns = client.latency_ns.clone();
        // All histograms have the same bounds, so adding cannot fail.
        let _ = latency_ns.add(&server.latency_ns);
        latency_ns
    }

    /// Returns the number of events so far.
    pub fn events(&self) -> u64 {
        self.hosts.iter().map(|host| host.log.events).sum()
    }
}
