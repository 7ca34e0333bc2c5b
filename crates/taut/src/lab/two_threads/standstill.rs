//! Finds a device that completes nothing any more. The oldest packet may wait long in a large ring in
//! front of a slow shaper, so its age alone (a stall) does not tell.

/// Far beyond what one packet takes at the slowest rate, which is 12 ms.
const PATIENCE_NS: u64 = 2_000_000_000;

/// Looks in which nothing moved, besides the time: whoever was kept from looking has seen nothing.
const PATIENCE_LOOKS: u32 = 8;

/// How long nothing has moved.
#[derive(Debug, Default)]
pub struct Standstill {
    since_ns: Option<u64>,
    looks: u32,
}

impl Standstill {
    /// Looks once: `moves` if something completed or there is nothing to complete. Says for how long,
    /// in ns, nothing has, once that is too long.
    pub fn look(&mut self, moves: bool, now_ns: u64) -> Option<u64> {
        if moves {
            *self = Self::default();
            return None;
        }
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        self.looks += 1;
        let for_ns = now_ns - since_ns;
        (for_ns > PATIENCE_NS && self.looks > PATIENCE_LOOKS).then_some(for_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CADENCE_NS: u64 = 100_000_000;

    #[test]
    fn a_device_stands_still_when_nothing_moved_for_two_seconds() {
        let mut standstill = Standstill::default();
        let mut look = |at: u64, moves| standstill.look(moves, at * CADENCE_NS);
        assert!((0..20).all(|at| look(at, false).is_none()));
        // One completion, and the time begins anew.
        assert_eq!(look(20, true), None);
        assert!((21..=41).all(|at| look(at, false).is_none()));
        assert_eq!(look(42, false), Some(21 * CADENCE_NS));
    }

    #[test]
    fn a_look_that_comes_late_is_no_standstill() {
        let mut standstill = Standstill::default();
        let mut look = |at_s: u64| standstill.look(false, at_s * 1_000_000_000);
        assert!((0..8).all(|look_number| look(10 * look_number).is_none()));
        assert!(look(80).is_some());
    }
}
