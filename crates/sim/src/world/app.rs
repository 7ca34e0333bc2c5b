//! What the ends of a connection do with it.

use crate::NEVER_NS;
use crate::source::{is_on, next_on_ns};
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
    /// Writes at a steady rate: `write_bytes` at a time, the first at its start. What does not fit
    /// whole into the send buffer when it is due is written as soon as it does.
    Paced {
        /// Bytes of one write.
        write_bytes: u32,
        /// Bytes written and not acknowledged that the socket holds at most.
        buffer_bytes: u32,
        /// In bit/s; at least 1.
        rate_bits_per_s: u64,
    },
    /// Writes like [`Bulk`](Self::Bulk) for a time, is silent for a time, and again.
    OnOff {
        /// Bytes of one write.
        write_bytes: u32,
        /// Bytes written and not acknowledged that the socket holds at most.
        buffer_bytes: u32,
        /// Length of the first, in ns.
        on_ns: u64,
        /// Length of the second, in ns.
        off_ns: u64,
    },
    /// Comes back every `period_ns` and fills the send buffer, whatever was sent meanwhile: one
    /// that serves many sockets.
    Visitor {
        /// From visit to visit, in ns; at least 1.
        period_ns: u64,
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

/// What an application did when it could work. Two numbers, which come back in registers: mostly it
/// did nothing of the sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    /// When to wake it again, in ns; `NEVER_NS` for not.
    pub wake_ns: u64,
    /// The latency of a transaction that ended, in ns; `NEVER_NS` if none did.
    pub latency_ns: u64,
}

impl Done {
    pub const NOTHING: Self = Self {
        wake_ns: NEVER_NS,
        latency_ns: NEVER_NS,
    };
}

/// What an application is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum State {
    /// For the other end.
    Waiting,
    /// Until it is woken; also before it starts.
    Thinking,
    /// It has something to write.
    Ready,
}

/// An application at work. One line of the cache: what a writer needs and what one that talks needs
/// are never needed together.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Desk {
    state: State,
    /// It is about to be woken, since there is something for it to do.
    roused: bool,
    app: App,
    /// Of a writer: how often it wrote. Else bytes of the stream from the other end that it has
    /// dealt with.
    done: u64,
    /// When a writer started, or when a client asked.
    since_ns: u64,
    /// When a writer's next turn is planned to be; `NEVER_NS` for not.
    turn_ns: u64,
}

const _: () = assert!(size_of::<Desk>() == 64);

impl Desk {
    pub fn new(app: App) -> Self {
        let state = match app {
            App::Sink | App::Server { .. } => State::Waiting,
            App::Bulk { .. }
            | App::Paced { .. }
            | App::OnOff { .. }
            | App::Visitor { .. }
            | App::Client { .. } => State::Thinking,
        };
        Self {
            state,
            roused: false,
            app,
            done: 0,
            since_ns: 0,
            turn_ns: NEVER_NS,
        }
    }

    /// Responses that it has had in full.
    pub fn transactions(&self) -> u64 {
        match self.app {
            App::Client { response_bytes, .. } => self.done / u64::from(response_bytes.max(1)),
            _ => 0,
        }
    }

    fn is_writer(&self) -> bool {
        matches!(
            self.app,
            App::Bulk { .. } | App::Paced { .. } | App::OnOff { .. }
        )
    }

    /// Whether it must be woken to do what it could do now, and is not about to be.
    pub fn rouse(&mut self, sender: &TcpSender, delivered_bytes: u64, now_ns: u64) -> bool {
        let could_act = match (self.state, self.app) {
            (State::Thinking, _) => false,
            (State::Waiting, App::Client { response_bytes, .. }) => {
                self.is_whole(response_bytes, delivered_bytes)
            }
            (State::Waiting, App::Server { request_bytes, .. }) => {
                self.is_whole(request_bytes, delivered_bytes)
            }
            (State::Waiting, _) => false,
            (State::Ready, _) => self.write_bytes(sender, now_ns).is_some(),
        };
        could_act && !std::mem::replace(&mut self.roused, true)
    }

    /// It starts, has thought enough, or was roused.
    pub fn wake(&mut self, now_ns: u64) {
        self.roused = false;
        if self.turn_ns <= now_ns {
            self.turn_ns = NEVER_NS;
        }
        if self.state == State::Thinking {
            if self.done == 0 && self.is_writer() {
                self.since_ns = now_ns;
            }
            self.state = State::Ready;
        }
    }

    /// Writes what can be written now, given what was delivered from the other end.
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

    /// What those do that look at the clock or at what was delivered.
    #[inline(never)]
    fn work_by_time(&mut self, sender: &mut TcpSender, delivered_bytes: u64, now_ns: u64) -> Done {
        let mut done = Done::NOTHING;
        match self.app {
            App::Sink | App::Bulk { .. } => {}
            App::Paced { .. } | App::OnOff { .. } => {
                while let Some(write_bytes) = self.write_bytes(sender, now_ns) {
                    sender.write(write_bytes);
                    self.done += 1;
                }
                done.wake_ns = self.next_turn_ns(now_ns).unwrap_or(NEVER_NS);
            }
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
            App::Client {
                request_bytes,
                response_bytes,
                think_ns,
            } => {
                if self.state == State::Waiting && self.take(response_bytes, delivered_bytes) {
                    done.latency_ns = now_ns - self.since_ns;
                    done.wake_ns = self.think(think_ns, now_ns);
                }
                if self.write_if_ready(sender, request_bytes) {
                    self.since_ns = now_ns;
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
            self.done += u64::from(message_bytes.max(1));
        }
        whole
    }

    fn is_whole(&self, message_bytes: u32, delivered_bytes: u64) -> bool {
        delivered_bytes >= self.done + u64::from(message_bytes.max(1))
    }

    /// Thinks before the next message. Returns when to be woken, `NEVER_NS` if it need not think.
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

    /// Bytes of the next write of a writer, if it is due and fits whole into the send buffer.
    fn write_bytes(&self, sender: &TcpSender, now_ns: u64) -> Option<u64> {
        let since_ns = now_ns.saturating_sub(self.since_ns);
        let (write_bytes, buffer_bytes, is_due) = match self.app {
            App::Bulk {
                write_bytes,
                buffer_bytes,
            } => (write_bytes, buffer_bytes, true),
            App::Paced {
                write_bytes,
                buffer_bytes,
                rate_bits_per_s,
            } => {
                let due_ns = due_ns(self.done, write_bytes, rate_bits_per_s);
                (write_bytes, buffer_bytes, due_ns <= since_ns)
            }
            App::OnOff {
                write_bytes,
                buffer_bytes,
                on_ns,
                off_ns,
            } => (write_bytes, buffer_bytes, is_on(on_ns, off_ns, since_ns)),
            App::Sink | App::Visitor { .. } | App::Client { .. } | App::Server { .. } => {
                return None;
            }
        };
        let may = self.state == State::Ready && is_due && fits(write_bytes, buffer_bytes, sender);
        may.then(|| write_bytes.max(1).into())
    }

    /// When a writer must be woken by the clock, if that is not planned.
    fn next_turn_ns(&mut self, now_ns: u64) -> Option<u64> {
        if self.state != State::Ready || self.turn_ns != NEVER_NS {
            return None;
        }
        let turn_ns = match self.app {
            App::Paced {
                write_bytes,
                rate_bits_per_s,
                ..
            } => Some(due_ns(self.done, write_bytes, rate_bits_per_s)),
            App::OnOff { on_ns, off_ns, .. } => next_on_ns(on_ns, off_ns, now_ns - self.since_ns),
            _ => None,
        };
        // What is due already waits for room, not for the clock.
        let turn_ns = self.since_ns.saturating_add(turn_ns?);
        let planned = turn_ns > now_ns;
        if planned {
            self.turn_ns = turn_ns;
        }
        planned.then_some(turn_ns)
    }
}

/// Whether a write fits whole into the send buffer.
#[inline]
fn fits(write_bytes: u32, buffer_bytes: u32, sender: &TcpSender) -> bool {
    sender.unacked_bytes() + u64::from(write_bytes.max(1)) <= u64::from(buffer_bytes)
}

/// When a paced sender's write number `writes` is due after its start, in ns.
fn due_ns(writes: u64, write_bytes: u32, rate_bits_per_s: u64) -> u64 {
    let bits = u128::from(writes) * u128::from(write_bytes.max(1)) * 8;
    let due_ns = (bits * 1_000_000_000).div_ceil(rate_bits_per_s.max(1).into());
    u64::try_from(due_ns).unwrap_or(u64::MAX)
}
