//! The kernel's ids of zero-copy sends on a socket that was used before.

/// The kernel's ids start with the socket and not with its wrapper.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    /// The kernel's id less ours.
    ahead: u32,
    known: bool,
}

impl Numbers {
    /// `known` if no zero-copy send is possible before: both ids are then equal.
    pub(crate) fn new(known: bool) -> Self {
        Self { ahead: 0, known }
    }

    /// Returns the kernel's id for one of ours, if it is known.
    pub(super) fn kernels(self, ours: u32) -> Option<u32> {
        self.known.then(|| ours.wrapping_add(self.ahead))
    }

    /// Returns `true` if the kernel's ids are known.
    pub(super) fn known(self) -> bool {
        self.known
    }

    /// Converts a range (first, last) of the kernel's ids to ours. Also returns whether it has
    /// unknown ids: another user has then sent as well, and `newest`, our last one, has at least
    /// that id.
    pub(super) fn ours(
        &mut self,
        (first, last): (u32, u32),
        newest: u32,
        in_flight: bool,
    ) -> ((u32, u32), bool) {
        let beyond = last.wrapping_sub(self.ahead).wrapping_sub(newest);
        let is_beyond = beyond != 0 && beyond <= i32::MAX as u32;
        let is_unknown = is_beyond && self.known;
        if is_beyond || !self.known {
            self.ahead = last.wrapping_sub(newest);
            self.known |= in_flight;
        }
        let ours = |number: u32| number.wrapping_sub(self.ahead);
        ((ours(first), ours(last)), is_unknown)
    }
}
