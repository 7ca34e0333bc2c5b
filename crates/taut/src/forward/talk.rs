//! Messages about the interfaces.

use taut_relay::run_control::Event;

/// An Ethernet header.
const HEADER_BYTES: u32 = 14;

/// Returns the message for an event of `interface`, if it has one. Longer frames than
/// `max_frame_bytes` cannot be received.
pub fn message(interface: &str, event: &Event<'_>, max_frame_bytes: u32) -> Option<String> {
    Some(match event {
        Event::Up => format!("{interface} is up"),
        Event::Down => format!("{interface} is down; waiting"),
        Event::Removed { is_moved: false } => {
            format!("{interface}: interface removed; waiting for one of this name")
        }
        Event::Removed { is_moved: true } => format!(
            "{interface}: interface moved to another network namespace; waiting for one of this \
             name"
        ),
        Event::Renamed(former_name) => {
            format!("{former_name}: renamed to {interface}; forwarding continues")
        }
        Event::Returned => format!("{interface}: interface added again"),
        Event::Mtu(mtu_bytes) if mtu_bytes.saturating_add(HEADER_BYTES) > max_frame_bytes => {
            format!(
                "{interface}: MTU is now {mtu_bytes} bytes; frames above {max_frame_bytes} bytes \
                 are dropped (too_long): use --driver af_packet"
            )
        }
        Event::Mtu(mtu_bytes) => format!("{interface}: MTU is now {mtu_bytes} bytes"),
        Event::Stalled { age_ns, .. } => format!(
            "{interface}: stalled, no completion for {} ms; reopening its ring",
            age_ns / 1_000_000
        ),
        Event::Failed(error) => error.to_string(),
        Event::Stopping { .. } => return None,
    })
}
