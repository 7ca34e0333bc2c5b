//! Messages while packets are sent.

use std::fmt;

use taut_linux::link::LinkState;
use taut_linux::{Frames, Port, interrupt};
use taut_path::Limit;
use taut_path::driver::CompletionStatus;
use taut_relay::Direction;
use taut_relay::run_control::Event;
use taut_relay::transmit::{Observer, Sending};
use taut_report::message::ChangingLines;
use taut_report::say;

use super::live::{Line, Status};

/// The status line, and the messages above it.
pub struct Talk {
    line: Line,
    /// The status of the completions in the last message.
    reported_truth: CompletionStatus,
    state: LinkState,
}

impl Talk {
    pub fn new() -> Self {
        Self {
            line: Line::new(),
            reported_truth: CompletionStatus::Unknown,
            state: LinkState::Running,
        }
    }

    /// Reports a change of the status of the completions.
    fn report_truth<P: Port, F: Frames>(&mut self, direction: &Direction<Sending<P, F>>) {
        let truth = direction.completion_status();
        let device = direction.port().device();
        let name = direction.rule().to_string();
        let is_off = match name.as_str() {
            "off" => String::new(),
            name => format!("; the limit {name} is disabled"),
        };
        match (self.reported_truth, truth) {
            (_, CompletionStatus::Early) if self.reported_truth != CompletionStatus::Early => {
                print_above(format_args!(
                    "{device} reports early completions: packets are complete when the doorbell \
                 returns (a plain veth, a bridge){is_off}"
                ))
            }
            (CompletionStatus::Early, CompletionStatus::Valid) => print_above(format_args!(
                "{device} reports valid completions now: the limit {name} is enabled"
            )),
            _ => {}
        }
        self.reported_truth = truth;
    }
}

impl<P: Port, F: Frames> Observer<P, F> for Talk {
    fn turn(&mut self, now_ns: u64, direction: &mut Direction<Sending<P, F>>) {
        if self.reported_truth != direction.completion_status() {
            self.report_truth(direction);
        }
        if !self.line.is_due(now_ns) {
            return;
        }
        let latency = direction.latency_mut();
        let latency_ns = latency.and_then(|latency| latency.take_recent_ns());
        let snapshot = direction.snapshot();
        let (packets, bytes) = direction.account().returned();
        let is_running = self.state == LinkState::Running;
        let unit = direction.rule().unit();
        let status = Status {
            device: direction.port().device(),
            state: (!is_running).then_some(self.state),
            limit: (!snapshot.early_completions).then_some((snapshot.limit, unit)),
            in_flight_bytes: direction.probe().0.in_flight_now_bytes(),
            packets,
            bytes,
            latency_ns,
        };
        self.line.show(&status, now_ns);
    }

    fn event(&mut self, device: &str, event: Event<'_>) {
        match event {
            Event::Up => {
                self.state = LinkState::Running;
                print_above(format_args!("{device} is up: sending continues"));
            }
            Event::Down => {
                self.state = LinkState::Down;
                print_above(format_args!(
                    "{device} is down, or has no carrier; waiting. Packets in flight are uncertain"
                ));
            }
            Event::Removed { is_moved } => {
                self.state = LinkState::Removed;
                let what = match is_moved {
                    true => "device moved to another network namespace",
                    false => "device removed",
                };
                print_above(format_args!(
                    "{device}: {what}; packets in flight are uncertain"
                ));
            }
            Event::Renamed(former_name) => print_above(format_args!(
                "{former_name}: renamed to {device}; sending continues"
            )),
            Event::Stalled { age_ns, packets } => print_above(format_args!(
                "{device}: stalled, the oldest of {packets} packets in flight is {} ms old; they \
                 are uncertain, and the ring is reopened",
                age_ns / 1_000_000
            )),
            Event::Failed(error) | Event::NotReopened(error) => {
                print_above(format_args!("{error}; retrying"));
            }
            Event::Stopping { packets } if interrupt::noted().is_some() => {
                print_above(format_args!(
                    "waiting for {packets} queued packets; a second signal ends immediately"
                ));
            }
            Event::Stopping { .. } | Event::Returned | Event::Mtu(_) => {}
        }
    }
}

/// Prints a message above the status line.
fn print_above(text: fmt::Arguments<'_>) {
    ChangingLines::new().clear();
    say!("taut: {text}");
}
