//! Two hosts on one link, for end-to-end tests of a connection.

use taut_path::qdisc::Fifo;
use taut_path::{AnyLimit, LateSegmentation, Probe, Qdisc};
use taut_sim::nic::{DescriptorRule, FinishedAt, Framing, InterruptRule, NicConfig};
use taut_sim::tcp::TcpConfig;
use taut_sim::world::{App, ConnectionConfig, World, WorldConfig};

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000 * MS;

pub use taut_sim::HEADER_BYTES;

/// Returns a link without padding and gaps, and a card that interrupts for each packet.
pub fn config(rate_bits_per_s: u64, delay_ns: u64) -> WorldConfig {
    WorldConfig {
        nic: NicConfig {
            rate_bits_per_s,
            framing: Framing::BARE,
            slots: 256,
            rule: DescriptorRule::OnePerPacket,
            interrupt: InterruptRule::every(0),
            finished_at: FinishedAt::End,
            segments_apart: true,
            seed: 1,
        },
        restart_slots: None,
        delay_ns,
        record_from_ns: 0,
        late_segmentation: LateSegmentation::Off,
    }
}

/// Returns hosts without a limit, each with a long queue and a probe from `probe`.
pub fn plain<P: Probe>(config: &WorldConfig, mut probe: impl FnMut() -> P) -> World<P> {
    with_discipline(config, |_| Box::new(Fifo::new(10_000)), &mut probe)
}

pub fn with_discipline<P: Probe>(
    config: &WorldConfig,
    mut discipline: impl FnMut(usize) -> Box<dyn Qdisc + Send>,
    mut probe: impl FnMut() -> P,
) -> World<P> {
    World::new(config, |host| (discipline(host), AnyLimit::off(), probe()))
        .expect("the settings are valid")
}

pub fn connection(tcp: TcpConfig) -> ConnectionConfig {
    ConnectionConfig {
        tcp,
        header_bytes: HEADER_BYTES,
        priority: 0,
    }
}

/// Returns a saturating sender with a buffer of `buffer_bytes`.
pub fn bulk(buffer_bytes: u32) -> App {
    App::Bulk {
        write_bytes: 1_448,
        buffer_bytes,
    }
}
