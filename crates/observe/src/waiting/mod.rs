//! Where bytes wait on their way out of this host: socket, discipline, limit, ring.

mod advice;
mod stages;
mod target;

use std::thread::sleep;
use std::time::Duration;

use taut_linux::observe::{Socket, offload, qdiscs};

pub use stages::{OvertakenBy, Stage};
use target::Target;

use crate::gather::Host;
use crate::row::link_time_ns;

/// The stages of the transmit path of a device, with the bytes in each.
#[derive(Debug)]
pub struct WaitingBytes {
    /// Name of the target for people.
    pub title: String,
    /// Name of the device.
    pub device: String,
    /// Rate at which the device sends.
    pub rate_bits_per_s: u64,
    /// From the sockets to the ring.
    pub stages: Vec<Stage>,
    /// What to do about the bytes that nothing can overtake.
    pub advice: String,
    /// What could not be read.
    pub unseen: Vec<String>,
}

/// Finds `target` (a device, a process or a port), measures its rate for `time_ns`, and reads every
/// stage of its path. Without a namespace, as for a copy of `/sys`, only the device can be read.
///
/// # Errors
/// A sentence for the user: there is no such target, or it cannot be read.
pub fn locate(target: &str, host: &Host, time_ns: u64) -> Result<WaitingBytes, String> {
    let sysfs = &host.sysfs;
    let target = Target::find(target, host)?;
    let before = target.sent_bytes(sysfs)?;
    sleep(Duration::from_nanos(time_ns));
    let sent_bytes = target.sent_bytes(sysfs)?.saturating_sub(before);
    let bits = u128::from(sent_bytes) * 8 * 1_000_000_000 / u128::from(time_ns.max(1));
    let rate_bits_per_s = u64::try_from(bits).unwrap_or(u64::MAX);
    let text = |error: std::io::Error| error.to_string();
    let device = sysfs.device(&target.device).map_err(text)?;
    let mut unseen = target.unseen.clone();
    unseen.extend(device.problems.iter().cloned());
    let (mut sockets, mut stages, mut slots) = (Vec::new(), Vec::new(), None);
    if let Some(namespace) = &host.namespace {
        sockets = target.sockets(namespace)?;
        stages = stages::sockets(&sockets);
        let disciplines = qdiscs(namespace, &target.device).map_err(text)?;
        stages.extend(stages::disciplines(&disciplines));
        let offload = offload(namespace, &target.device).ok();
        slots = offload.and_then(|it| it.tx_ring_slots);
    } else {
        unseen.push("sockets and disciplines, which /sys does not have".to_owned());
    }
    stages.extend(stages::queues(&device, slots, &mut unseen));
    unseen.push(
        "packets that the kernel forwards or sends without a socket, but for the discipline and \
         the ring"
            .to_owned(),
    );
    unseen.extend(beyond(&sockets));
    Ok(WaitingBytes {
        advice: advice::advice(&stages, &target.device, rate_bits_per_s),
        title: target.title,
        device: target.device,
        rate_bits_per_s,
        stages,
        unseen,
    })
}

impl WaitingBytes {
    /// Returns how long the device needs for `bytes` at its current rate; `None` if it is idle.
    pub fn time_ns(&self, bytes: u64) -> Option<u64> {
        link_time_ns(bytes, self.rate_bits_per_s)
    }
}

/// Returns what the round trips show of the queues beyond this host.
fn beyond(sockets: &[Socket]) -> Option<String> {
    let busy = sockets.iter().filter(|it| it.queued_bytes > 0);
    let waits = busy.filter_map(|it| {
        let (now, min) = (it.rtt_us?, it.min_rtt_us?);
        Some((now.saturating_sub(min), now, min))
    });
    let (_, now, min) = waits.max()?;
    Some(format!(
        "beyond this host: the round trip of a busy connection is {:.1} ms (minimum {:.1} ms). The \
         remainder of the delay is in queues of the network",
        now as f64 / 1000.0,
        min as f64 / 1000.0
    ))
}
