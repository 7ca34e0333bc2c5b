//! What the ends of a connection do with it.

use crate::tcp::TcpSender;

/// An application at one end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum App {
    /// Reads and never writes.
    Sink,
    /// Writes without end: `write_bytes` at a time, whenever they fit whole into the send buffer.
    Bulk {
        /// Bytes of one write.
        write_bytes: u32,
        /// Bytes written and not acknowledged that the socket holds at most.
        buffer_bytes: u32,
    },
    /// Sends a request, waits for the whole response, and does so again.
    Client {
        /// Bytes of a request.
        request_bytes: u32,
        /// Bytes of a response.
        response_bytes: u32,
        /// Time from the end of a response to the next request, in ns.
        think_ns: u64,
    },
    /// Answers each request.
    Server {
        /// Bytes of a request.
        request_bytes: u32,
        /// Bytes of a response.
        response_bytes: u32,
        /// Time from the end of a request to its response, in ns.
        think_ns: u64,
    },
}

/// What an application did when it could work.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Done {
    /// When to wake it again, in ns.
    pub wake_ns: Option<u64>,
    /// The latency of a transaction that ended, in ns.
    pub latency_ns: Option<u64>,
}

/// What an application is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// For the other end.
    Waiting,
    /// Until it is woken; also before it starts.
    Thinking,
    /// It has something to write.
    Ready,
}

/// An application at work.
#[derive(Debug)]
pub(super) struct Desk {
    app: App,
    state: State,
    /// Bytes of the stream from the other end that it has dealt with.
    consumed_bytes: u64,
    asked_ns: u64,
    /// It is about to be woken, since there is something for it to do.
    roused: bool,
    pub transactions: u64,
}

impl Desk {
    pub fn new(app: App) -> Self {
        let state = match app {
            App::Sink | App::Server { .. } => State::Waiting,
            App::Bulk { .. } | App::Client { .. } => State::Thinking,
        };
        Self {
            app,
            state,
            consumed_bytes: 0,
            asked_ns: 0,
            roused: false,
            transactions: 0,
        }
    }

    /// Whether it must be woken to do what it could do now, and is not about to be.
    pub fn rouse(&mut self, sender: &TcpSender, delivered_bytes: u64) -> bool {
        let could_act = match (self.app, self.state) {
            (App::Sink, _) | (_, State::Thinking) => false,
            (
                App::Bulk {
                    write_bytes,
                    buffer_bytes,
                },
                _,
            ) => has_room(sender, write_bytes, buffer_bytes),
            (App::Client { .. } | App::Server { .. }, State::Ready) => true,
            (App::Client { response_bytes, .. }, State::Waiting) => {
                self.is_whole(response_bytes, delivered_bytes)
            }
            (App::Server { request_bytes, .. }, State::Waiting) => {
                self.is_whole(request_bytes, delivered_bytes)
            }
        };
        could_act && !std::mem::replace(&mut self.roused, true)
    }

    /// It starts, has thought enough, or was roused.
    pub fn wake(&mut self) {
        self.roused = false;
        if self.state == State::Thinking {
            self.state = State::Ready;
        }
    }

    /// Writes what can be written now, given what was delivered from the other end.
    pub fn work(&mut self, sender: &mut TcpSender, delivered_bytes: u64, now_ns: u64) -> Done {
        let mut done = Done::default();
        match self.app {
            App::Sink => {}
            App::Bulk {
                write_bytes,
                buffer_bytes,
            } => {
                while self.state == State::Ready && has_room(sender, write_bytes, buffer_bytes) {
                    sender.write(write_bytes.max(1).into());
                }
            }
            App::Client {
                request_bytes,
                response_bytes,
                think_ns,
            } => {
                if self.state == State::Waiting && self.take(response_bytes, delivered_bytes) {
                    self.transactions += 1;
                    done.latency_ns = Some(now_ns - self.asked_ns);
                    done.wake_ns = self.think(think_ns, now_ns);
                }
                if self.write_if_ready(sender, request_bytes) {
                    self.asked_ns = now_ns;
                }
            }
            App::Server {
                request_bytes,
                response_bytes,
                think_ns,
            } => {
                if self.state == State::Waiting && self.take(request_bytes, delivered_bytes) {
                    done.wake_ns = self.think(think_ns, now_ns);
                }
                self.write_if_ready(sender, response_bytes);
            }
        }
        done
    }

    /// Takes a whole message out of the stream, if one is there.
    fn take(&mut self, message_bytes: u32, delivered_bytes: u64) -> bool {
        let whole = self.is_whole(message_bytes, delivered_bytes);
        if whole {
            self.consumed_bytes += u64::from(message_bytes.max(1));
        }
        whole
    }

    fn is_whole(&self, message_bytes: u32, delivered_bytes: u64) -> bool {
        delivered_bytes >= self.consumed_bytes + u64::from(message_bytes.max(1))
    }

    /// Thinks before the next message. Returns when to be woken, unless it need not think.
    fn think(&mut self, think_ns: u64, now_ns: u64) -> Option<u64> {
        if think_ns == 0 {
            self.state = State::Ready;
            return None;
        }
        self.state = State::Thinking;
        Some(now_ns.saturating_add(think_ns))
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

/// Whether a write fits whole into the send buffer.
fn has_room(sender: &TcpSender, write_bytes: u32, buffer_bytes: u32) -> bool {
    sender.unacked_bytes() + u64::from(write_bytes.max(1)) <= u64::from(buffer_bytes)
}
