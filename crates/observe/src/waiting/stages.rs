//! The sockets of a host and the queues of its device, as stages.

use taut_linux::observe::{Device, NoLimitReason, Socket, excess_bytes};

use super::stage::{OvertakenBy, Stage};

/// Returns what the sockets hold.
pub fn sockets(sockets: &[Socket]) -> Vec<Stage> {
    let sum = |value: &dyn Fn(&Socket) -> Option<u64>| {
        sockets
            .iter()
            .filter_map(value)
            .fold(0, u64::saturating_add)
    };
    let number = sockets.len();
    let note = format!("{number} socket{}", if number == 1 { "" } else { "s" });
    let sent = |it: &Socket| {
        it.unsent_bytes
            .map(|unsent| it.queued_bytes.saturating_sub(unsent))
    };
    let stage = |name: &str, bytes, note: String| {
        Stage::new(name, Some(bytes), OvertakenBy::OtherFlows, note)
    };
    vec![
        stage("socket, not sent", sum(&|it| it.unsent_bytes), note),
        stage(
            "sent, not acknowledged",
            sum(&sent),
            "here and on the way".to_owned(),
        ),
        Stage {
            in_memory: true,
            within: true,
            ..stage(
                "of it below the socket",
                sum(&|it| it.below_bytes),
                "in memory".to_owned(),
            )
        },
    ]
}

/// Returns what the device holds, and adds what cannot be read to `unseen`.
pub fn queues(device: &Device, slots: Option<u32>, unseen: &mut Vec<String>) -> Vec<Stage> {
    let ring = slots.map_or(String::new(), |slots| format!(", ring of {slots} slots"));
    let why = device.no_limit_reason();
    if let Some(why) = why {
        let has_no_ring = why.is_structural() && why != NoLimitReason::Wifi;
        if !has_no_ring {
            unseen.push(format!("the contents of the ring: {}", why.text()));
        }
        let (bytes, note) = (has_no_ring.then_some(0), format!("{}{ring}", why.text()));
        return vec![Stage::new("device", bytes, OvertakenBy::Nothing, note)];
    }
    let in_use = device.queues.iter().filter_map(|queue| {
        let limits = queue.limits?;
        Some((queue.number, limits.in_flight?, limits.limit?))
    });
    let busy = in_use.filter(|(_, in_flight, _)| *in_flight > 0 || device.queues.len() == 1);
    let stage = |(number, in_flight, limit): (u32, u64, u64)| {
        let name = format!("device, queue {number}");
        let (bytes, note) = match excess_bytes(in_flight) {
            None => (Some(in_flight), format!("limit {limit}{ring}")),
            Some(excess) => (None, format!("{excess} bytes more completed than queued")),
        };
        Stage::new(name, bytes, OvertakenBy::Nothing, note)
    };
    busy.map(stage).collect()
}
