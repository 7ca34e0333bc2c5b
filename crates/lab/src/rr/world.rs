//! The hosts of a row, and the links between them.

use std::rc::Rc;
use std::sync::Arc;

use taut_linux::af_packet::PacketReceiver;
use taut_linux::link::MacAddress;
use taut_linux::{NetNs, Tap, TapConfig};
use taut_path::qdisc;
use taut_scenarios::rr_under_load::Case;

use super::config::{Config, DriverKind};
use super::packet_ring::ReceiveDirection;
use super::router::Route;
use super::tap_source::TapSource;
use super::wiring::Wiring;
use crate::control::Control;
use crate::tcp;
use crate::world::{
    CLIENT_DEVICE, CLIENT_MAC, Hosts, SERVER_DEVICE, SERVER_MAC, SHAPED_DEVICE, shaped_veth,
};

/// Queue length of a TAP. If the packet thread does not run for some milliseconds, the TAP must not
/// drop packets that the discipline should drop.
const TAP_QUEUE_PACKETS: u32 = 10_000;

/// Returns the description of the namespaces and devices of a row.
pub const fn devices(driver: DriverKind) -> &'static str {
    match driver {
        DriverKind::Emulated => "2 network namespaces with a TAP device each",
        DriverKind::AfPacket => {
            "3 network namespaces: a TAP device in the first, and a veth from the second, with a \
             TBF, to the third"
        }
    }
}

/// Two hosts and the links between them.
pub struct RrWorld {
    pub hosts: Hosts,
    client_tap: Tap,
    far_end: FarEnd,
}

/// The server side of the link.
enum FarEnd {
    /// A TAP: the link is emulated.
    Tap(Tap),
    /// A veth from this namespace, shaped by the kernel.
    Veth(NetNs),
}

impl RrWorld {
    /// Creates the hosts of `case`.
    pub fn new(config: &Config, case: &Case) -> anyhow::Result<Self> {
        let hosts = Hosts::new()?;
        if qdisc::marks_ecn(&config.settings.qdisc) {
            tcp::negotiate_ecn(&hosts.client)?;
            tcp::negotiate_ecn(&hosts.server)?;
        }
        let emulated = config.options.driver == DriverKind::Emulated;
        // A packet ring sends frames unchanged, so checksums must be complete.
        let offloads = (emulated, case.tso);
        let tap = |ns, device, mac| Tap::open(ns, device, tap_config(mac, offloads));
        let client_tap = tap(&hosts.client, CLIENT_DEVICE, CLIENT_MAC)?;
        let far_end = if emulated {
            FarEnd::Tap(tap(&hosts.server, SERVER_DEVICE, SERVER_MAC)?)
        } else {
            let rate_bits_per_s = config.settings.rate.0;
            FarEnd::Veth(shaped_veth(&hosts.server, Some(rate_bits_per_s))?)
        };
        hosts.start()?;
        Ok(Self {
            hosts,
            client_tap,
            far_end,
        })
    }

    /// Connects the hosts in both directions; the queue from client to server is measured. Between
    /// TAPs, both directions have a NIC and a queue of the same type. The measured queue records at
    /// most `max_events`, if they are requested.
    pub fn directions(
        self,
        config: &Config,
        case: &Case,
        control: &Arc<Control>,
        max_events: Option<usize>,
    ) -> anyhow::Result<Vec<Box<dyn Route>>> {
        let wiring = Wiring {
            config,
            control,
            limit: &case.limit,
            late_segmentation: case.late_segmentation,
            max_events,
        };
        let client_tap = Rc::new(self.client_tap);
        let from_client = TapSource::new(self.hosts.client, Rc::clone(&client_tap));
        match self.far_end {
            FarEnd::Tap(server_tap) => {
                let server_tap = Rc::new(server_tap);
                let from_server = TapSource::new(self.hosts.server, Rc::clone(&server_tap));
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
