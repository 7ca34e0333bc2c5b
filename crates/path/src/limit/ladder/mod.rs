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
//! Four things make it quick without making it restless:
//! - Nothing is borne that could not have been paid since the start, so a new queue learns its
//!   limit from the first exceedances.
//! - Exceedances that come 64 times faster than they can be paid are no chance: a rung is given up
//!   at the second one.
//! - A debt is worth link time: when the device has become slower for good, all debts are worth fewer bytes.
//! - A rung whose exceedances came often is forgiven soon after they stop, one with long waits
//!   between them is not.

mod account;
mod debts;
mod rung;
mod utilisation;

use core::fmt;

use taut_dql::Config;

use super::Limit;
use super::named::{Argument, ArgumentError, BuiltinLimit, LimitInfo, NamedLimit};
use super::sizing::SizedByNeed;
use debts::{Debts, FRACTION_BITS};
use taut_dql::forward_limit;

pub use utilisation::{ParseUtilisationError, Utilisation};

/// The debt ladder, over bytes: the rule that is called `taut`.
#[derive(Debug, Clone)]
pub struct Ladder {
    rule: SizedByNeed<Debts>,
    utilisation: Utilisation,
    /// Whether its user said what it promises.
    told: bool,
}

impl Ladder {
    /// The rule that promises so much of the link's time while a sender has something to send.
    pub fn new(utilisation: Utilisation) -> Self {
        Self::with(utilisation, true)
    }

    fn with(utilisation: Utilisation, told: bool) -> Self {
        let debts = Debts::new(utilisation.allowance(FRACTION_BITS) as u32);
        Self {
            rule: SizedByNeed::new(debts, Config::default()),
            utilisation,
            told,
        }
    }

    /// What it promises.
    pub fn utilisation(&self) -> Utilisation {
        self.utilisation
    }
}

impl Default for Ladder {
    /// It promises [`Utilisation::DEFAULT`], and was not told so.
    fn default() -> Self {
        Self::with(Utilisation::DEFAULT, false)
    }
}

impl Limit for Ladder {
    forward_limit!(self => self.rule);
}

impl fmt::Display for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.told || self.utilisation != Utilisation::DEFAULT {
            write!(f, "taut:{}", self.utilisation)
        } else {
            f.write_str("taut")
        }
    }
}

impl NamedLimit for Ladder {
    fn promise_unless_told(&mut self, utilisation: Utilisation) {
        if !self.told {
            *self = Self::with(utilisation, false);
        }
    }
}

impl BuiltinLimit for Ladder {
    const INFO: LimitInfo = LimitInfo {
        name: "taut",
        usage: "taut[:SHARE%]",
        help: "the least that keeps the link busy for a share of the time (99.9% if not said)",
        learns: true,
    };

    fn parse(argument: Argument<'_>) -> Result<Self, ArgumentError> {
        let utilisation = argument.0.map(str::parse).transpose();
        let utilisation = utilisation.map_err(ArgumentError::Utilisation)?;
        Ok(utilisation.map_or_else(Self::default, Self::new))
    }
}
