//! The id of a zero-copy datagram that the kernel rejected, and might have counted.

/// The kernel notifies the release of a rejected datagram only if it assigned an id to the
/// datagram.
#[derive(Debug, Default)]
pub(super) struct RejectedSend {
    id: Option<u32>,
    notified: bool,
}

impl RejectedSend {
    /// Expects a notification for `id`.
    pub(super) fn expect(&mut self, id: u32) {
        *self = Self {
            id: Some(id),
            notified: false,
        };
    }

    /// Returns the number of ids that the kernel might have assigned in addition to those of the
    /// objects: 0 or 1.
    pub(super) fn ids(&self) -> u32 {
        self.id.is_some().into()
    }

    /// Removes the rejected datagram from a range of released ids (first, last). Returns the
    /// remainder.
    pub(super) fn split_off(&mut self, first: u32, last: u32) -> Option<(u32, u32)> {
        if self.id != Some(last) {
            return Some((first, last));
        }
        *self = Self {
            id: None,
            notified: true,
        };
        (first != last).then(|| (first, last.wrapping_sub(1)))
    }

    /// Returns `true` if the notification arrived, and stops expecting one.
    pub(super) fn take_notified(&mut self) -> bool {
        std::mem::take(self).notified
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_id_is_not_an_object() {
        let mut rejected = RejectedSend::default();
        assert_eq!(rejected.split_off(3, 5), Some((3, 5)));
        rejected.expect(5);
        assert_eq!(
            (rejected.ids(), rejected.split_off(1, 4)),
            (1, Some((1, 4)))
        );
        assert_eq!(rejected.split_off(3, 5), Some((3, 4)));
        assert_eq!(rejected.ids(), 0);
        assert!(rejected.take_notified() && !rejected.take_notified());
        rejected.expect(u32::MAX);
        assert_eq!(rejected.split_off(u32::MAX, u32::MAX), None);
        rejected.expect(9);
        assert!(!rejected.take_notified(), "the kernel did not count it");
    }
}
