//! What is said of the interfaces.

use taut_relay::operator::Event;

/// What is said of something that happened to `interface`, if anything is.
pub fn sentence(interface: &str, event: &Event<'_>) -> Option<String> {
    Some(match event {
        Event::Up => format!("{interface} is up"),
        Event::Down => format!("{interface} is down; waiting until it is up"),
        Event::Removed => format!("{interface} is gone; waiting until it is back"),
        Event::Returned => format!("{interface} is back"),
        Event::Mtu(mtu_bytes) => format!("{interface} has an MTU of {mtu_bytes} now"),
        Event::Stalled { age_ns, .. } => format!(
            "{interface}: nothing came back for {} ms; its ring is made anew",
            age_ns / 1_000_000
        ),
        Event::Failed(error) | Event::NotReopened(error) => error.to_string(),
        Event::Stopping { .. } => return None,
    })
}
