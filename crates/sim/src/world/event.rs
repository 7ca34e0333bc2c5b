//! Events of a host's event queue.

/// An event of a host other than the arrival and the sending of frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum HostEvent {
    /// A timer of an endpoint may be due.
    Timer(u32),
    /// An application starts, or continues after a pause.
    App(u32),
    /// The deferred list of the small queues is run.
    Deferred,
    /// An application unlocks its socket.
    Unlock(u32),
}
