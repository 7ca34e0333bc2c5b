//! What is on a host's event_queue.

/// What a host does besides taking in frames and sending them.
#[derive(Debug, Clone, Copy)]
pub(super) enum HostEvent {
    /// A timer of an endpoint may be due.
    Timer(u32),
    /// An application starts, or goes on after a pause.
    App(u32),
    /// The deferred list of the small queues is run.
    Deferred,
    /// An application lets go of its socket.
    LetGo(u32),
}
