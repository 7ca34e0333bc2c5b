//! What is said while packets are sent.

use std::fmt;

use taut_linux::link::LinkState;
use taut_linux::{Frames, Port, interrupt};
use taut_path::Limit;
use taut_path::driver::CompletionStatus;
use taut_relay::Direction;
use taut_relay::operator::Event;
use taut_relay::transmit::{Observer, Sending};
use taut_report::message::ChangingLine;
use taut_report::say;

use super::live::{Line, Shown};

/// The line that changes, and messages over it.
pub struct Talk {
    line: Line,
    /// What was said last of the completions.
    said_truth: CompletionStatus,
    state: LinkState,
}

impl Talk {
    pub fn new() -> Self {
        Self {
            line: Line::new(),
            said_truth: CompletionStatus::Unknown,
            state: LinkState::Running,
        }
    }

    /// Says what completions mean, when that changes.
    fn tell_truth<P: Port, F: Frames>(&mut self, direction: &Direction<Sending<P, F>>) {
        let truth = direction.completion_status();
        let device = direction.port().device();
        let name = direction.rule().to_string();
        let is_off = match name.as_str() {
            "off" => String::new(),
            name => format!(". No limit can hold where that is so: {name} is off"),
        };
        match (self.said_truth, truth) {
            (_, CompletionStatus::Early) if self.said_truth != CompletionStatus::Early => {
                over_the_line(format_args!(
                    "the completions of {device} are false: packets are reported done as soon as they \
                 are handed over, wherever they are then (a plain veth, a bridge){is_off}"
                ))
            }
            (CompletionStatus::Early, CompletionStatus::Valid) => over_the_line(format_args!(
                "the completions of {device} are true after all: the limit {name} holds"
            )),
            _ => {}
        }
        self.said_truth = truth;
    }
}

impl<P: Port, F: Frames> Observer<P, F> for Talk {
    fn turn(&mut self, now_ns: u64, direction: &mut Direction<Sending<P, F>>) {
        if self.said_truth != direction.completion_status() {
            self.tell_truth(direction);
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
        let shown = Shown {
            device: direction.port().device(),
            state: (!is_running).then_some(self.state),
            limit: (!snapshot.early_completions).then_some((snapshot.limit, unit)),
            in_flight_bytes: direction.probe().0.in_flight_now_bytes(),
            packets,
            bytes,
            latency_ns,
        };
        self.line.show(&shown, now_ns);
    }

    fn event(&mut self, device: &str, event: Event<'_>) {
        match event {
            Event::Up => {
                self.state = LinkState::Running;
                over_the_line(format_args!("{device} is up: sending again"));
            }
            Event::Down => {
                self.state = LinkState::Down;
                over_the_line(format_args!(
                    "{device} is down, or has no carrier: waiting for it; what was in flight is in \
                     doubt"
                ));
            }
            Event::Removed => {
                self.state = LinkState::Removed;
                over_the_line(format_args!(
                    "{device} is gone: what was in flight is in doubt"
                ));
            }
            Event::Stalled { age_ns, packets } => over_the_line(format_args!(
                "{device} completes nothing: the oldest of {packets} packets in flight is {} ms \
                 old; they are in doubt now, and the ring is opened again",
                age_ns / 1_000_000
            )),
            Event::Failed(error) | Event::NotReopened(error) => {
                over_the_line(format_args!("{error}; trying again"));
            }
            Event::Stopping { packets } if interrupt::noted().is_some() => {
                over_the_line(format_args!(
                    "waiting for {packets} packets that were taken in; once more ends at once"
                ));
            }
            Event::Stopping { .. } | Event::Returned | Event::Mtu(_) => {}
        }
    }
}

/// Over a line that may be on the terminal.
fn over_the_line(text: fmt::Arguments<'_>) {
    ChangingLine::new().clear();
    say!("taut: {text}");
}
