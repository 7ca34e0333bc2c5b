//! Messages about the interfaces.

use taut_relay::operator::Event;

/// Returns the message for an event of `interface`, if it has one.
pub fn message(interface: &str, event: &Event<'_>) -> Option<String> {
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
        Event::Mtu(mtu_bytes) => format!("{interface}: MTU changed to {mtu_bytes}"),
        Event::Stalled { age_ns, .. } => format!(
            "{interface}: stalled, no completion for {} ms; reopening its ring",
            age_ns / 1_000_000
        ),
        Event::Failed(error) | Event::NotReopened(error) => error.to_string(),
        Event::Stopping { .. } => return None,
    })
}
