//! Two hosts, a link between them, and connections across it: everything a queue is part of.
//!
//! A packet goes socket, discipline, limit, ring, wire, socket; each segment and each
//! acknowledgement crosses the wire as an event of its own. Virtual time starts at 0.

mod app;
mod blind;
mod connection;
mod host;
mod segments;
mod small_queues;
mod timers;
mod transactions;
mod worker;

use std::collections::VecDeque;

use taut_path::limit::Limit;
use taut_path::queue::{CompleterCounters, QueueConfigError};
use taut_path::tsq;
use taut_path::{AnyLimit, Probe, Qdisc};

use crate::engine::Engine;
use crate::nic::{EmulatedNic, NicConfig};
use crate::queue::QueueFault;
use crate::tcp::{TcpConfig, TcpSettings};

pub use app::App;
use blind::Blind;
pub use blind::{BlindConfig, BlindReport};
use connection::Endpoint;
pub use connection::{ConnectionConfig, EndpointReport};
use host::Host;
use segments::Arrival;
use small_queues::HostBudgets;
pub use small_queues::SmallQueues;
use timers::{Look, Timers};
pub use transactions::Transactions;
pub use worker::HostCost;
use worker::Task;

/// The host that connections are opened from; the other is 1.
pub const CLIENT: usize = 0;
/// The host that connections are opened to.
pub const SERVER: usize = 1;

/// Lanes of the engine: each host's NIC, the wire into each host, each host's timers, most of
/// which are equally long (delayed acknowledgements here, retransmissions there) and so in order,
/// and each host's core.
const LANES: usize = 8;
const NIC_LANE: usize = 0;
const WIRE_LANE: usize = 2;
const TIMER_LANE: usize = 4;
const CORE_LANE: usize = 6;

/// How the hosts and the link are made. The same on both sides.
#[derive(Debug, Clone, Copy)]
pub struct WorldConfig {
    /// Link rate, ring, interrupts.
    pub nic: NicConfig,
    /// Free slots at which a queue that stopped for a full ring starts again; the NIC's own if
    /// `None`.
    pub restart_slots: Option<u32>,
    /// Time that a bit takes from one end of the link to the other, in ns.
    pub delay_ns: u64,
    /// What things cost the hosts.
    pub cost: HostCost,
    /// Transactions that end before this do not count, in ns.
    pub record_from_ns: u64,
}

/// What happens at some time.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A NIC has something to tell.
    Nic(usize),
    /// The next of the frames under way to a host arrives.
    Arrive(usize),
    /// A timer of an endpoint may be due.
    Timer(u32, usize),
    /// An application starts, or goes on after a pause.
    App(u32, usize),
    /// A blind sender starts, or tries again.
    Blind(u32),
    /// A core is done with something.
    Core(usize),
    /// The deferred list of a host's small queues is run.
    Deferred(usize),
    /// An application lets go of its socket.
    LetGo(u32, usize),
}

/// The two hosts and what is between them.
pub struct World<P, L = AnyLimit> {
    engine: Engine<Event, LANES>,
    hosts: [Host<P, L>; 2],
    /// Frames under way to each host, in order.
    wires: [VecDeque<Arrival>; 2],
    connections: Vec<[Endpoint; 2]>,
    last_tcp: Option<TcpSettings>,
    blind: Vec<Blind>,
    timers: Timers,
    delay_ns: u64,
    reaction_ns: u64,
    transactions: Transactions,
}

impl<P: Probe, L: Limit> World<P, L> {
    /// Two idle hosts, each with the discipline, limit and probe that is made for its index.
    ///
    /// # Errors
    /// If the NIC or the limit cannot be made of its settings.
    pub fn new(
        config: &WorldConfig,
        mut parts: impl FnMut(usize) -> (Box<dyn Qdisc + Send>, L, P),
    ) -> Result<Self, WorldError> {
        let mut host = |index: usize| {
            let (discipline, limit, probe) = parts(index);
            let seed = config.nic.seed.wrapping_add(index as u64);
            Host::new(
                index,
                NicConfig { seed, ..config.nic },
                config.cost,
                config.restart_slots,
                (discipline, limit, probe),
            )
        };
        Ok(Self {
            engine: Engine::new(),
            hosts: [host(CLIENT)?, host(SERVER)?],
            wires: [VecDeque::new(), VecDeque::new()],
            connections: Vec::new(),
            last_tcp: None,
            blind: Vec::new(),
            timers: Timers::default(),
            delay_ns: config.delay_ns,
            reaction_ns: config.cost.reaction_ns,
            transactions: Transactions::new(config.record_from_ns),
        })
    }

    /// Holds back the connections that are added from now on; call it before the first of them.
    ///
    /// # Errors
    /// If the settings cannot be.
    pub fn use_small_queues(&mut self, config: &SmallQueues) -> Result<(), tsq::BudgetsError> {
        for host in &mut self.hosts {
            host.budgets = Some(HostBudgets::new(config)?);
            host.queue.device_mut().orphans = config.orphans;
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
        let number = self.connections.len() as u32;
        self.timers.add();
        let tcp = self.tcp_settings(&config.tcp);
        self.connections
            .push([client, server].map(|app| Endpoint::new(config, &tcp, app)));
        for host in [CLIENT, SERVER] {
            if let Some(budgets) = &mut self.hosts[host].budgets {
                budgets.open();
            }
            self.engine.schedule(start_ns, Event::App(number, host));
        }
        number
    }

    /// The settings of the connection before, if they are the same: one copy for all.
    fn tcp_settings(&mut self, config: &TcpConfig) -> TcpSettings {
        let last = self.last_tcp.take().filter(|last| last.are(config));
        let settings = last.unwrap_or_else(|| TcpSettings::new(config));
        self.last_tcp = Some(settings.clone());
        settings
    }

    /// Hands completions on to both hosts' limits only every `cadence_ns`; 0 hands on each round at
    /// once.
    pub fn set_cadence_ns(&mut self, cadence_ns: u64) {
        for host in &mut self.hosts {
            host.queue.set_cadence_ns(cadence_ns);
        }
    }

    /// Runs until `until_ns`, or until nothing is left to happen.
    ///
    /// # Errors
    /// If a queue goes wrong; the world stands still from then on.
    pub fn run_until(&mut self, until_ns: u64) -> Result<(), WorldError> {
        while let Some((now_ns, event)) = self.engine.next(until_ns) {
            self.check()?;
            match event {
                Event::Nic(host) => self.on_nic(host, now_ns),
                Event::Arrive(host) => self.on_arrival(host, now_ns),
                Event::Timer(connection, host) => self.on_timer(connection, host, now_ns),
                Event::App(connection, host) => self.on_app(connection, host, now_ns),
                Event::Blind(number) => self.on_blind(number, now_ns),
                Event::Core(host) => self.on_core(host, now_ns),
                Event::Deferred(host) => self.on_deferred(host, now_ns),
                Event::LetGo(connection, host) => self.on_let_go(connection, host, now_ns),
            }
        }
        self.check()
    }

    fn check(&self) -> Result<(), WorldError> {
        let [client, server] = &self.hosts;
        match client.fault.or(server.fault) {
            Some(fault) => Err(WorldError::Fault(fault)),
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
    pub fn wire(&self, host: usize) -> crate::nic::WireCounters {
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

    /// How often a host's connections were held back.
    pub fn small_queue_totals(&self, host: usize) -> tsq::Totals {
        let budgets = self.hosts[host].budgets.as_ref();
        budgets.map(HostBudgets::totals).unwrap_or_default()
    }

    /// What one end of a connection did so far.
    pub fn report(&self, connection: u32, host: usize) -> EndpointReport {
        self.connections[connection as usize][host].report()
    }

    /// Payload bytes that arrived at a host on all connections, each once, those out of order
    /// included.
    pub fn arrived_bytes(&self, host: usize) -> u64 {
        self.connections
            .iter()
            .map(|ends| ends[host].arrived_bytes())
            .sum()
    }

    /// The transactions that ended since they count.
    pub fn transactions(&self) -> &Transactions {
        &self.transactions
    }

    /// How long a host's core worked, in ns, with what it is doing.
    pub fn core_busy_ns(&self, host: usize) -> u64 {
        self.hosts[host].worker.busy_ns()
    }

    /// Events so far.
    pub fn events(&self) -> u64 {
        self.engine.processed()
    }

    fn on_nic(&mut self, host: usize, now_ns: u64) {
        let to = 1 - host;
        while let Some((arrival, ends_ns)) = self.hosts[host].advance(now_ns) {
            self.wires[to].push_back(arrival);
            let at_ns = ends_ns.saturating_add(self.delay_ns);
            self.engine
                .schedule_in_lane(WIRE_LANE + to, at_ns, Event::Arrive(to));
        }
        self.watch(host, now_ns);
    }

    /// Schedules what the NIC, the core and the deferred list do next, and wakes who waits for room.
    fn watch(&mut self, host: usize, now_ns: u64) {
        if self.hosts[host].made_room() {
            self.wake_blind(host, now_ns);
        }
        if let Some(at_ns) = self.hosts[host].nic_is_due_anew() {
            self.engine
                .reschedule_lane(NIC_LANE + host, at_ns, Event::Nic(host));
        }
        if let Some(at_ns) = self.hosts[host].worker.is_due_anew(now_ns) {
            self.engine
                .reschedule_lane(CORE_LANE + host, at_ns, Event::Core(host));
        }
        if let Some(budgets) = &mut self.hosts[host].budgets
            && let Some(at_ns) = budgets.run_is_due_anew(now_ns)
        {
            self.engine.schedule(at_ns, Event::Deferred(host));
        }
    }

    fn on_arrival(&mut self, host: usize, now_ns: u64) {
        let cost_ns = self.hosts[host].cost.segment_ns;
        if self.must_wait(host, cost_ns, Task::Receive, now_ns) {
            return;
        }
        self.receive(host, now_ns);
    }

    fn receive(&mut self, host: usize, now_ns: u64) {
        let Some(arrival) = self.wires[host].pop_front() else {
            return;
        };
        if arrival.is_datagram {
            self.blind[arrival.connection as usize]
                .report
                .arrived_packets += 1;
            return;
        }
        self.connections[arrival.connection as usize][host].on_arrival(&arrival, now_ns);
        self.pump(arrival.connection, host, false, now_ns);
    }

    fn on_timer(&mut self, connection: u32, host: usize, now_ns: u64) {
        match self.timers.look(connection, host, now_ns) {
            Look::Due if self.must_wait(host, 0, Task::Timer(connection), now_ns) => {}
            Look::Due => self.time_out(connection, host, now_ns),
            Look::At(at_ns) => self.schedule_look(at_ns, connection, host),
            Look::Nothing => {}
        }
    }

    fn time_out(&mut self, connection: u32, host: usize, now_ns: u64) {
        self.connections[connection as usize][host].on_timer(now_ns);
        self.pump(connection, host, false, now_ns);
    }

    fn on_app(&mut self, connection: u32, host: usize, now_ns: u64) {
        if !self.must_wait(host, 0, Task::App(connection), now_ns) {
            self.act(connection, host, now_ns);
        }
    }

    /// Lets an application act that starts, has paused, or has been woken.
    fn act(&mut self, connection: u32, host: usize, now_ns: u64) {
        self.connections[connection as usize][host].wake_app(now_ns);
        if self.holds(connection, host, now_ns) {
            self.work(connection, host, true, now_ns);
        } else {
            self.pump(connection, host, true, now_ns);
        }
    }

    /// Whether a task must wait for a host's core; if so, it is seen to when the core is free.
    // Always: else a task is made and dropped for each packet of a host that takes no time.
    #[inline(always)]
    fn must_wait(&mut self, host: usize, cost_ns: u64, task: Task, now_ns: u64) -> bool {
        let must_wait = self.hosts[host].worker.must_wait(cost_ns, task);
        if must_wait {
            self.watch(host, now_ns);
        }
        must_wait
    }

    fn on_core(&mut self, host: usize, now_ns: u64) {
        let Some(task) = self.hosts[host].worker.take_done(now_ns) else {
            return;
        };
        match task {
            Task::Interrupt => self.hosts[host].complete(now_ns),
            Task::Reaped(false) => {}
            Task::Reaped(true) => self.hosts[host].run(now_ns),
            Task::Send(packet) => {
                self.hosts[host].enqueue(packet, now_ns);
                self.hosts[host].run(now_ns);
            }
            Task::Receive => self.receive(host, now_ns),
            Task::Timer(connection) => self.time_out(connection, host, now_ns),
            Task::App(connection) => self.act(connection, host, now_ns),
            Task::Blind(number) => self.call_blind(number, now_ns),
            Task::Deferred => self.run_deferred(host, now_ns),
            Task::LetGo(connection) => self.let_go(connection, host, now_ns),
        }
        self.watch(host, now_ns);
    }

    /// Lets an endpoint's application and TCP do what they can now, and sends what they have. An
    /// application that has not `woken` takes its time.
    fn work(&mut self, connection: u32, host: usize, woken: bool, now_ns: u64) {
        let endpoint = &mut self.connections[connection as usize][host];
        let done = if woken || self.reaction_ns == 0 {
            endpoint.run_app(now_ns)
        } else {
            endpoint.rouse_app(now_ns, now_ns.saturating_add(self.reaction_ns))
        };
        if let Some(at_ns) = done.wake_ns {
            self.engine.schedule(at_ns, Event::App(connection, host));
        }
        if let Some(latency_ns) = done.latency_ns {
            self.transactions.ended(latency_ns, now_ns);
        }
        let from = &mut self.hosts[host];
        let (mut sent, mut queued) = (false, false);
        while let Some(segment) = endpoint.next_segment(connection, from.flow(connection), now_ns) {
            queued |= from.send(segment, now_ns);
            sent = true;
        }
        if queued {
            from.run(now_ns);
        }
        if sent {
            self.watch(host, now_ns);
        }
        self.watch_timer(connection, host);
    }

    fn watch_timer(&mut self, connection: u32, host: usize) {
        let due_ns = self.connections[connection as usize][host].next_timer_ns();
        if let Some(at_ns) = self.timers.set(connection, host, due_ns) {
            self.schedule_look(at_ns, connection, host);
        }
    }

    fn schedule_look(&mut self, at_ns: u64, connection: u32, host: usize) {
        self.engine.schedule_in_lane_or_heap(
            TIMER_LANE + host,
            at_ns,
            Event::Timer(connection, host),
        );
    }
}

/// Why a world could not be made, or came to an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorldError {
    /// The NIC cannot be made of its settings.
    Nic(crate::nic::NicConfigError),
    /// The queue or its limit cannot.
    Queue(QueueConfigError),
    /// The queue of a host went wrong.
    Fault(QueueFault),
}

impl std::fmt::Display for WorldError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nic(error) => error.fmt(f),
            Self::Queue(error) => error.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

impl std::error::Error for WorldError {}
