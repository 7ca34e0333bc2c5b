//! Messages while packets are sent.

use taut_linux::{Port, interrupt};
use taut_path::driver::CompletionStatus;
use taut_relay::Direction;
use taut_relay::parts::Parts;
use taut_relay::run_control::{Event, RunControl};
use taut_report::say;

/// Prints the events of a run.
#[derive(Default)]
pub struct Talk {
    /// The status of the completions in the last message.
    reported: CompletionStatus,
}

impl<K: Parts> RunControl<K> for Talk {
    /// Reports a change of the status of the completions.
    fn is_over(&mut self, _now_ns: u64, directions: &mut [Direction<K>]) -> bool {
        for direction in directions {
            let status = direction.port().completion_status();
            let before = std::mem::replace(&mut self.reported, status);
            if before == status {
                continue;
            }
            let device = direction.port().device();
            let name = direction.rule().to_string();
            let is_off = match name.as_str() {
                "off" => String::new(),
                name => format!("; the limit {name} is disabled"),
            };
            match (before, status) {
                (_, CompletionStatus::Early) => say!(
                    "taut: {device} reports early completions: packets are complete when the \
                     doorbell returns (a plain veth, a bridge){is_off}"
                ),
                (CompletionStatus::Early, CompletionStatus::Valid) => say!(
                    "taut: {device} reports valid completions now: the limit {name} is enabled"
                ),
                _ => {}
            }
        }
        false
    }

    fn event(&mut self, device: &str, event: Event<'_>) {
        if let Some(message) = message(device, event) {
            say!("taut: {message}");
        }
    }
}

fn message(device: &str, event: Event<'_>) -> Option<String> {
    Some(match event {
        Event::Up => format!("{device} is up: sending continues"),
        Event::Down => {
            format!("{device} is down, or has no carrier; waiting. Packets in flight are uncertain")
        }
        Event::Removed { is_moved } => {
            let what = match is_moved {
                true => "device moved to another network namespace",
                false => "device removed",
            };
            format!("{device}: {what}; packets in flight are uncertain")
        }
        Event::Renamed(former_name) => {
            format!("{former_name}: renamed to {device}; sending continues")
        }
        Event::Stalled { age_ns, packets } => format!(
            "{device}: stalled, the oldest of {packets} packets in flight is {} ms old; they are \
             uncertain, and the ring is reopened",
            age_ns / 1_000_000
        ),
        Event::Failed(error) => format!("{error}; retrying"),
        Event::Stopping { packets } if interrupt::noted().is_some() => {
            format!("waiting for {packets} queued packets; a second signal ends immediately")
        }
        Event::Stopping { .. } | Event::Returned | Event::Mtu(_) => return None,
    })
}
