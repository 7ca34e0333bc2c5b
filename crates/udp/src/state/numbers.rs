//! The numbers that the kernel gives to zero-copy sends, where somebody counted before us.

/// The kernel's numbers begin with the socket and not with its wrapper.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Numbers {
    /// The kernel's, less ours.
    ahead: u32,
    known: bool,
}

impl Numbers {
    /// `known` where nobody can have sent zero-copy through the socket before: they are the same
    /// then.
    pub(crate) fn new(known: bool) -> Self {
        Self { ahead: 0, known }
    }

    /// The kernel's for one of ours, if that is known.
    pub(super) fn kernels(self, ours: u32) -> Option<u32> {
        self.known.then(|| ours.wrapping_add(self.ahead))
    }

    /// Whether the kernel's numbers are known.
    pub(super) fn known(self) -> bool {
        self.known
    }

    /// A range (first, last) of the kernel's numbers in ours, and whether it has numbers that we
    /// never gave: then somebody else sent as well, and `newest`, our last one, has at least that
    /// number.
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
