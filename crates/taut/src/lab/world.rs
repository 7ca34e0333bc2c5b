//! The hosts of a row and what joins them. All of it is held by descriptors of this process, so
//! that nothing is left however it ends.

use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context;
use taut_linux::af_packet::{AfPacket, PacketReceiver};
use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::publish::About;
use taut_linux::{NetNs, Tap, TapConfig, sched};
use taut_measure::meter::Meter;
use taut_measure::trace::Tape;
use taut_path::limit::Unit;
use taut_path::queue::Builder;
use taut_path::{AnyLimit, Completions, Limit, Queue, QueueConfig, Split, TxRing, qdisc};
use taut_sim::nic::{DescriptorRule, EmulatedNic, FinishedAt, Framing, InterruptRule, NicConfig};

use super::control::{Control, Watch};
use super::emulated::EmulatedDirection;
use super::kernel_tcp;
use super::options::{DriverKind, RrUnderLoad};
use super::packet_ring::{ReceiveDirection, RingDirection};
use super::router::Direction;
use super::tap_source::{MeteredQueue, TapSource, Watcher};
use crate::rr::experiment::Experiment;
use taut_relay::published::Published;
use taut_scenarios::rr_under_load::Case;

const CLIENT_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const SERVER_ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);
const PREFIX_BITS: u8 = 24;
const CLIENT_MAC: MacAddress = MacAddress::local(1);
const SERVER_MAC: MacAddress = MacAddress::local(2);
const CLIENT_DEVICE: &str = "taut-client";
pub const SERVER_DEVICE: &str = "taut-server";
/// Our end of the wire to the server, where the kernel shapes it.
pub const SHAPED_DEVICE: &str = "taut-shaped";

/// Packets that a TAP may hold until we read them: so many that it never drops what our own
/// discipline should drop, were we kept from running for some milliseconds.
const TAP_QUEUE_PACKETS: u32 = 10_000;

/// The shaper's bucket: two frames, for a timer that is late by one must not lose link time.
const SHAPER_BURST_BYTES: u32 = 2 * 1514;

/// What the shaper may hold: any ring full of frames, for what it refuses would have to be offered
/// again.
const SHAPER_LIMIT_BYTES: u32 = 65_536 * 1514;

/// What a row makes, for people.
pub const fn devices(driver: DriverKind) -> &'static str {
    match driver {
        DriverKind::Emulated => "2 network namespaces with a TAP device each",
        DriverKind::AfPacket => {
            "3 network namespaces: a TAP device in the first, and a veth from the second, with a \
             TBF, to the third"
        }
    }
}

/// Two hosts and what joins them.
pub struct World {
    pub client: NetNs,
    pub server: NetNs,
    /// Where the server listens.
    pub address: Ipv4Addr,
    client_tap: Tap,
    far_end: FarEnd,
}

/// The server's side of the link.
enum FarEnd {
    /// A TAP: the wire between is ours.
    Tap(Tap),
    /// A veth from this namespace, where the kernel shapes it.
    Veth(NetNs),
}

impl World {
    /// Makes the hosts of `case`.
    pub fn new(options: &RrUnderLoad, case: &Case) -> anyhow::Result<Self> {
        let (client, server) = (NetNs::new()?, NetNs::new()?);
        if qdisc::marks_ecn(&options.experiment.qdisc) {
            kernel_tcp::negotiate_ecn(&client)?;
            kernel_tcp::negotiate_ecn(&server)?;
        }
        let emulated = options.driver == DriverKind::Emulated;
        // A packet ring sends frames as they are, so checksums must be finished by then.
        let offloads = (emulated, case.tso);
        let client_tap = Tap::open(&client, CLIENT_DEVICE, tap_config(CLIENT_MAC, offloads))?;
        let far_end = if emulated {
            FarEnd::Tap(Tap::open(
                &server,
                SERVER_DEVICE,
                tap_config(SERVER_MAC, offloads),
            )?)
        } else {
            FarEnd::Veth(veth_to(&server, Some(options.rate_bits_per_s()))?)
        };
        start(&client, CLIENT_DEVICE, CLIENT_ADDRESS).context("set up the client's side")?;
        start(&server, SERVER_DEVICE, SERVER_ADDRESS).context("set up the server's side")?;
        // Known to each other from the start: no address resolution behind a full queue.
        link::add_neighbour(&client, CLIENT_DEVICE, SERVER_ADDRESS, SERVER_MAC)?;
        link::add_neighbour(&server, SERVER_DEVICE, CLIENT_ADDRESS, CLIENT_MAC)?;
        Ok(Self {
            client,
            server,
            address: SERVER_ADDRESS,
            client_tap,
            far_end,
        })
    }

    /// Joins the hosts: from client to server, whose queue is measured, and back. Between TAPs,
    /// both directions have a NIC and a queue of the same kind. The measured queue has a tape of
    /// `most_events`, if they are wanted.
    pub fn directions(
        self,
        options: &RrUnderLoad,
        case: &Case,
        control: &Arc<Control>,
        most_events: Option<usize>,
    ) -> anyhow::Result<Vec<Box<dyn Direction>>> {
        let wiring = Wiring {
            options,
            control,
            limit: &case.limit,
            split: case.split,
            most_events,
        };
        let client_tap = Rc::new(self.client_tap);
        let from_client = TapSource::new(self.client, Rc::clone(&client_tap));
        match self.far_end {
            FarEnd::Tap(server_tap) => {
                let server_tap = Rc::new(server_tap);
                let from_server = TapSource::new(self.server, Rc::clone(&server_tap));
                Ok(vec![
                    wiring.emulated(from_client, server_tap, 0)?,
                    wiring.emulated(from_server, client_tap, 1)?,
                ])
            }
            FarEnd::Veth(ns) => {
                let receiver = PacketReceiver::open(&ns, SHAPED_DEVICE)?;
                Ok(vec![
                    wiring.packet_ring(from_client, &ns)?,
                    Box::new(ReceiveDirection::new(receiver, client_tap)),
                ])
            }
        }
    }
}

fn tap_config(
    mac: MacAddress,
    (checksum_offload, segmentation_offload): (bool, bool),
) -> TapConfig {
    TapConfig {
        checksum_offload,
        segmentation_offload,
        mac: Some(mac),
        tx_queue_packets: TAP_QUEUE_PACKETS,
        ..TapConfig::default()
    }
}

fn start(ns: &NetNs, device: &str, address: Ipv4Addr) -> std::io::Result<()> {
    link::add_address(ns, device, address, PREFIX_BITS)?;
    link::set_up(ns, device)
}

/// Makes a veth to `server` from a namespace of its own, where a TBF shapes what goes out, if there
/// is a rate.
pub fn veth_to(server: &NetNs, rate_bits_per_s: Option<u64>) -> anyhow::Result<NetNs> {
    let ns = NetNs::new()?;
    link::add_veth_pair(&ns, SHAPED_DEVICE, server, SERVER_DEVICE)?;
    link::set_mac(server, SERVER_DEVICE, SERVER_MAC)?;
    let shaper = match rate_bits_per_s {
        Some(rate_bits_per_s) => RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: SHAPER_BURST_BYTES,
            limit_bytes: SHAPER_LIMIT_BYTES,
        },
        None => RootQdisc::NoQueue,
    };
    link::set_root_qdisc(&ns, SHAPED_DEVICE, shaper).context("this kernel has no TBF")?;
    link::set_up(&ns, SHAPED_DEVICE)?;
    Ok(ns)
}

/// What every direction of a row has in common.
struct Wiring<'a> {
    options: &'a RrUnderLoad,
    control: &'a Arc<Control>,
    limit: &'a AnyLimit,
    split: Split,
    most_events: Option<usize>,
}

impl Wiring<'_> {
    /// An emulated NIC from `source` to `to`. Two NICs of one seed would draw the same numbers, so
    /// each direction has its `index`.
    fn emulated(
        &self,
        mut source: TapSource,
        to: Rc<Tap>,
        index: u64,
    ) -> anyhow::Result<Box<dyn Direction>> {
        let device = if index == 0 {
            CLIENT_DEVICE
        } else {
            SERVER_DEVICE
        };
        source.published = self.published(device);
        let nic = EmulatedNic::new(NicConfig {
            rate_bits_per_s: self.options.rate_bits_per_s(),
            framing: Framing::ETHERNET,
            slots: self.options.experiment.ring,
            rule: DescriptorRule::E1000,
            interrupt: InterruptRule::every(self.options.experiment.cadence.0),
            finished_at: FinishedAt::End,
            segments_apart: false,
            seed: self.options.experiment.seed.wrapping_add(index),
        })?;
        let restart_slots = Some(nic.restart_slots());
        let queue = self.queue(Queue::builder_for(nic), restart_slots, index == 0)?;
        Ok(Box::new(EmulatedDirection::new(source, queue, to)))
    }

    /// An AF_PACKET ring from `source` to the shaped device in `ns`.
    fn packet_ring(&self, mut source: TapSource, ns: &NetNs) -> anyhow::Result<Box<dyn Direction>> {
        let Experiment { ring, cadence, .. } = self.options.experiment;
        source.published = self.published(SHAPED_DEVICE);
        let (tx, completions) =
            AfPacket::open_with(ns, SHAPED_DEVICE, ring, source.frames.clone())?;
        let queue = self.queue(Queue::builder(tx, completions), None, true)?;
        Ok(Box::new(RingDirection::new(source, queue, cadence.0)))
    }

    /// Where others see a queue to `device`.
    fn published(&self, device: &str) -> Published {
        Published::new(&About {
            device,
            queue: 0,
            limit: &self.limit.to_string(),
            in_packets: self.limit.unit() == Unit::Packets,
            rate_bits_per_s: Some(self.options.rate_bits_per_s()),
        })
    }

    fn queue<D: TxRing + Completions>(
        &self,
        builder: Builder<D>,
        restart_slots: Option<u32>,
        shown: bool,
    ) -> anyhow::Result<MeteredQueue<D>> {
        let now_ns = sched::monotonic_ns();
        let watch = Watch {
            control: Arc::clone(self.control),
            shown,
        };
        let most_events = self.most_events.filter(|_| shown);
        let watcher: Watcher = (
            Meter::new(watch, now_ns, self.options.row_ns()),
            most_events.map(|most| Tape::new(now_ns, most)),
        );
        let config = QueueConfig {
            restart_slots,
            split: self.split,
            ..QueueConfig::default()
        };
        Ok(builder
            .qdisc(self.options.experiment.qdisc.parse()?)
            .limit(self.limit.clone())
            .probe(watcher)
            .config(config)
            .build(now_ns)?)
    }
}
