//! The debt ladder: the smallest limit whose losses stay within what the user promised.
//!
//! The largest need of all is a bad limit: one gap of 1 ms among thousands of 100 us makes
//! everything wait ten times longer, to save less than a thousandth of the link's time. With a
//! wanted utilisation of 99.9 %, 0.1 % of the bytes *may* be lost, and the limit should be the
//! smallest that loses no more.
//!
//! Each candidate limit, a *rung*, keeps an account of what it would have lost. A need above it
//! adds the excess to its **debt**; each byte that moves pays a thousandth back. A rung deep in
//! debt is too low, and the limit stands just above the highest such rung:
//!
//! ```text
//!    rung   debt, in exceedances of this rung
//!     26k   |
//!     24k   |##
//!     22k   |###            <- limit: from here up, nobody owes more than 8
//!     20k   |#########         more than 8 unpaid: too low, given up
//!     18k   |##############
//!     16k   |################  16 is all that is remembered, so that a rung is forgiven
//!     ...                      in bounded time once its exceedances stop
//!     11k   half an octave below the limit is watched; what is below that is not kept
//! ```
//!
//! Three things make it quick without making it restless:
//! - Nothing is borne that could not have been paid since the start, so a new queue learns its
//!   limit from the first exceedances.
//! - Exceedances that come 64 times faster than they can be paid are no chance: a rung is given up
//!   at the second one.
//! - A rung whose exceedances came often is forgiven soon after they stop, one with long waits
//!   between them is not.

mod account;
mod debts;
mod rung;
mod utilisation;

use taut_dql::{Error, MAX_LIMIT};

use super::Limit;
use super::front::{self, Bounds, FrontCompleter, FrontSender};
use debts::{Debts, FRACTION_BITS};

pub use utilisation::{ParseUtilisationError, Utilisation};

/// The debt ladder, over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ladder {
    /// How much of the link's time must be used while a sender has something to send.
    pub utilisation: Utilisation,
    /// The least that the rule may set, in bytes.
    pub min_limit: u32,
    /// The most that the rule may set, in bytes.
    pub max_limit: u32,
}

impl Default for Ladder {
    fn default() -> Self {
        Self {
            utilisation: Utilisation::DEFAULT,
            min_limit: 0,
            max_limit: MAX_LIMIT,
        }
    }
}

impl Limit for Ladder {
    type Sender = FrontSender;
    type Completer = FrontCompleter<Debts>;

    fn split(self, now_ns: u64) -> Result<(Self::Sender, Self::Completer), Error> {
        let bounds = Bounds {
            min_limit: self.min_limit,
            max_limit: self.max_limit,
        };
        let debts = Debts::new(self.utilisation.allowance(FRACTION_BITS));
        front::split(debts, bounds, now_ns)
    }

    fn reset(
        sender: &mut Self::Sender,
        completer: &mut Self::Completer,
        now_ns: u64,
    ) -> Result<(), Error> {
        front::reset(sender, completer, now_ns)
    }
}
