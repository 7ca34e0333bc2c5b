//! The two halves of a queue, and the functions that need both.

mod completer;
mod sender;
mod shared;

use core::marker::PhantomData;
use core::ops::Deref;

use crate::side::CompletingSide;
use crate::{Config, Error};

pub use completer::Completer;
pub use sender::Sender;
pub use shared::Shared;

/// Creates the two halves of a queue, behind `&Shared`, `Arc<Shared>`, `&'static Shared` or a
/// similar pointer. A limit in `config` applies immediately.
///
/// # Errors
/// Those of [`Config::validate`]; [`Error::AlreadySplit`] on the second call for one [`Shared`],
/// even if the first halves were dropped; [`Error::DifferentQueues`] if a clone of `shared` points
/// to another value.
pub fn split<S>(shared: S, config: Config, now_ns: u64) -> Result<(Sender<S>, Completer<S>), Error>
where
    S: Deref<Target = Shared> + Clone,
{
    config.validate()?;
    let other = shared.clone();
    if !core::ptr::eq::<Shared>(&*shared, &*other) {
        return Err(Error::DifferentQueues);
    }
    if !shared.claim() {
        return Err(Error::AlreadySplit);
    }
    let side = CompletingSide::from_valid(config, now_ns);
    shared.ledger.completed(0, config.limit);
    let not_sync = PhantomData;
    let sender = Sender { shared, not_sync };
    let completer = Completer {
        shared: other,
        side,
        not_sync,
    };
    Ok((sender, completer))
}

/// Forgets the units in flight, restarts from the lower bound of the limit and increments the epoch
/// (wrapping). The settings stay. Call it after the device was flushed. Both halves are borrowed,
/// so nothing is queued or completed at the same time. A third thread can read a mix of the states
/// before and after.
///
/// # Errors
/// [`Error::DifferentQueues`] for halves of two queues; neither is changed.
pub fn reset<S>(
    sender: &mut Sender<S>,
    completer: &mut Completer<S>,
    now_ns: u64,
) -> Result<(), Error>
where
    S: Deref<Target = Shared>,
{
    check_same_queue(sender, completer)?;
    completer.side.reset(&completer.shared.ledger, now_ns);
    Ok(())
}

/// Corrects the ledger to the units that the device really holds, after completions were lost or
/// counted twice, without a flush. The limit and the epoch stay. A new interval and a new hold time
/// begin. An excess counts as completed, missing units count as queued now. Both halves are
/// borrowed, so nothing is queued or completed at the same time. Returns the excess, which is
/// negative if units were missing.
///
/// # Errors
/// [`Error::RepairTooLarge`] above [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT);
/// [`Error::DifferentQueues`] for halves of two queues. Neither changes anything.
pub fn repair<S>(
    sender: &mut Sender<S>,
    completer: &mut Completer<S>,
    in_flight: u32,
    now_ns: u64,
) -> Result<i64, Error>
where
    S: Deref<Target = Shared>,
{
    check_same_queue(sender, completer)?;
    let Completer { shared, side, .. } = completer;
    side.repair(&shared.ledger, in_flight, now_ns)
}

fn check_same_queue<S>(sender: &Sender<S>, completer: &Completer<S>) -> Result<(), Error>
where
    S: Deref<Target = Shared>,
{
    if core::ptr::eq::<Shared>(&*sender.shared, &*completer.shared) {
        Ok(())
    } else {
        Err(Error::DifferentQueues)
    }
}
