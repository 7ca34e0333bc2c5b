//! Applications at the ends of a connection.

use crate::NEVER_NS;
use crate::tcp::TcpSender;

/// An application at one end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum App {
    /// Reads and never writes.
    Sink,
    /// Writes without end: `write_bytes` at a time, when they fit completely into the send buffer.
    Bulk {
        /// Bytes of one write.
        write_bytes: u32,
        /// Maximum bytes written and not acknowledged.
        buffer_bytes: u32,
    },
    /// Fills the send buffer every `period_ns`, independent of the sent bytes, as an application
    /// that serves many sockets.
    Visitor {
        /// Interval between visits, in ns; at least 1.
        period_ns: u64,
        /// Maximum bytes written and not acknowledged.
        buffer_bytes: u32,
    },
    /// Sends a request, waits for the whole response, and repeats.
    Client(Messages),
    /// Responds to each request.
    Server(Messages),
}

/// The messages of a client or a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    /// Bytes of a request.
    pub request_bytes: u32,
    /// Bytes of a response.
    pub response_bytes: u32,
    /// Time from the end of a received message to the next own one, in ns.
    pub think_ns: u64,
}

/// Result of an application's activity. Two numbers, which are returned in registers; usually both
/// are absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    /// Time of the next wake-up, in ns; `NEVER_NS` for none.
    pub wake_ns: u64,
    /// Latency of a finished transaction, in ns; `NEVER_NS` for none.
    pub latency_ns: u64,
}

impl Done {
    pub const NOTHING: Self = Self {
        wake_ns: NEVER_NS,
        latency_ns: NEVER_NS,
    };
}

/// State of an application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    /// Waits for the other end.
    Waiting,
    /// Sleeps until it is woken; also the initial state.
    Thinking,
    /// Has data to write.
    Ready,
}

/// A running application.
#[derive(Debug)]
pub(super) struct Desk {
    state: State,
    app: App,
    /// Bytes of the received stream that it processed.
    done: u64,
    /// Time at which a client sent its request.
    since_ns: u64,
}

impl Desk {
    pub fn new(app: App) -> Self {
        let state = match app {
            App::Sink | App::Server(_) => State::Waiting,
            App::Bulk { .. } | App::Visitor { .. } | App::Client(_) => State::Thinking,
        };
        Self {
            state,
            app,
            done: 0,
            since_ns: 0,
        }
    }

    /// Starts the application, or ends its pause.
    pub fn wake(&mut self) {
        if self.state == State::Thinking {
            self.state = State::Ready;
        }
    }

    /// Writes what is possible after the given bytes were delivered from the other end.
    #[inline(always)]
    pub fn work(&mut self, sender: &mut TcpSender, delivered_bytes: u64, now_ns: u64) -> Done {
        match self.app {
            App::Sink => {}
            App::Bulk {
                write_bytes,
                buffer_bytes,
            } => {
                while self.state == State::Ready && fits(write_bytes, buffer_bytes, sender) {
                    sender.write(write_bytes.max(1).into());
                }
            }
            _ => return self.work_by_time(sender, delivered_bytes, now_ns),
        }
        Done::NOTHING
    }

    /// Runs the applications that depend on the time or on received data.
    #[inline(never)]
    fn work_by_time(&mut self, sender: &mut TcpSender, delivered_bytes: u64, now_ns: u64) -> Done {
        let mut done = Done::NOTHING;
        match self.app {
            App::Sink | App::Bulk { .. } => {}
            App::Visitor {
                period_ns,
                buffer_bytes,
            } => {
                if self.state == State::Ready {
                    let held_bytes = sender.unacked_bytes();
                    sender.write(u64::from(buffer_bytes).saturating_sub(held_bytes));
                    done.wake_ns = self.think(period_ns.max(1), now_ns);
                }
            }
            App::Client(of) => {
                if self.state == State::Waiting && self.take(of.response_bytes, delivered_bytes) {
                    done.latency_ns = now_ns - self.since_ns;
                    done.wake_ns = self.think(of.think_ns, now_ns);
                }
                if self.write_if_ready(sender, of.request_bytes) {
                    self.since_ns = now_ns;
                }
            }
            App::Server(of) => {
                if self.state == State::Waiting && self.take(of.request_bytes, delivered_bytes) {
                    done.wake_ns = self.think(of.think_ns, now_ns);
                }
                self.write_if_ready(sender, of.response_bytes);
            }
        }
        done
    }

    /// Consumes a whole message of the stream, if there is one.
    fn take(&mut self, message_bytes: u32, delivered_bytes: u64) -> bool {
        let end = self.done + u64::from(message_bytes.max(1));
        let whole = delivered_bytes >= end;
        if whole {
            self.done = end;
        }
        whole
    }

    /// Pauses before the next message. Returns the wake-up time, `NEVER_NS` without a pause.
    fn think(&mut self, think_ns: u64, now_ns: u64) -> u64 {
        if think_ns == 0 {
            self.state = State::Ready;
            return NEVER_NS;
        }
        self.state = State::Thinking;
        now_ns.saturating_add(think_ns)
    }

    fn write_if_ready(&mut self, sender: &mut TcpSender, message_bytes: u32) -> bool {
        let ready = self.state == State::Ready;
        if ready {
            sender.write(message_bytes.max(1).into());
            self.state = State::Waiting;
        }
        ready
    }
}

/// Returns `true` if a write fits completely into the send buffer.
#[inline]
fn fits(write_bytes: u32, buffer_bytes: u32, sender: &TcpSender) -> bool {
    sender.unacked_bytes() + u64::from(write_bytes.max(1)) <= u64::from(buffer_bytes)
}
