//! Messages while packets are sent.

use taut_linux::{Port, interrupt};
use taut_path::driver::CompletionStatus;
use taut_path::limit::{Limit, Unit};
use taut_relay::run_control::{Event, RunControl};
use taut_relay::{Direction, Source};
use taut_report::message::ChangingLine;
use taut_report::number::scaled;
use taut_report::say;

/// Interval of updates of the line on a terminal, in ns.
const INTERVAL_NS: u64 = 250_000_000;

/// Prints the events of a run and, on a terminal, its progress.
pub struct Talk {
    /// The status of the completions in the last message.
    reported: CompletionStatus,
    line: ChangingLine,
    next_update_ns: u64,
    is_down: bool,
}

impl Talk {
    pub fn new() -> Self {
        Self {
            reported: CompletionStatus::default(),
            line: ChangingLine::new(),
            next_update_ns: 0,
            is_down: false,
        }
    }

    fn update<S: Source>(&mut self, now_ns: u64, direction: &Direction<S>) {
        if now_ns < self.next_update_ns || !self.line.is_live() || self.is_down {
            return;
        }
        self.next_update_ns = now_ns + INTERVAL_NS;
        let (device, packets) = (direction.port().device(), direction.account().returned().0);
        let unit = match direction.queue().limit().unit() {
            Unit::Packets => "p",
            Unit::Bytes => "",
        };
        let limit = direction.limit();
        let limit = limit.map(|limit| format!("{}{unit}", scaled(limit.into())));
        let limit = limit.unwrap_or_else(|| "off".into());
        let sent = scaled(packets as f64);
        self.line
            .show(&format!("{device}: {sent} packets sent, limit {limit}"));
    }
}

impl RunControl for Talk {
    /// Reports a change of the status of the completions.
    fn is_over<S: Source>(&mut self, now_ns: u64, directions: &mut [Direction<S>]) -> bool {
        for direction in directions {
            self.update(now_ns, direction);
            let status = direction.port().completion_status();
            let before = std::mem::replace(&mut self.reported, status);
            if before == status {
                continue;
            }
            self.line.clear();
            let device = direction.port().device();
            let name = direction.queue().limit().to_string();
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
        match event {
            Event::Down | Event::Removed { .. } => self.is_down = true,
            Event::Up => self.is_down = false,
            _ => {}
        }
        let message = match event {
            Event::Stopping { packets } if interrupt::noted().is_some() => Some(format!(
                "waiting for {packets} queued packets; a second signal ends immediately"
            )),
            _ => event.message(device),
        };
        if let Some(message) = message {
            self.line.clear();
            say!("taut: {message}");
        }
    }
}
