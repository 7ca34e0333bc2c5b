//! The two halves of a queue, and what needs both of them.

mod completer;
mod sender;

use core::marker::PhantomData;
use core::ops::Deref;

use crate::side::CompletingSide;
use crate::{Config, Error, Shared};

pub use completer::Completer;
pub use sender::Sender;

/// Makes the two halves of a queue, held by `&Shared`, `Arc<Shared>`, `&'static Shared` or
/// anything like them. A limit in `config` counts at once.
///
/// # Errors
/// Those of [`Config::validate`]; [`Error::AlreadySplit`] on the second call for one [`Shared`],
/// also when the first halves are gone; [`Error::DifferentQueues`] should a clone of `shared`
/// lead somewhere else.
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
    shared.publish_all(&side);
    let not_sync = PhantomData;
    let sender = Sender { shared, not_sync };
    let completer = Completer {
        shared: other,
        side,
        not_sync,
    };
    Ok((sender, completer))
}

/// Forgets what is in flight and starts again from the lower bound of the limit, with the settings
/// kept and the epoch one up (wrapping); for when the device was flushed. Whoever has both halves
/// knows that nobody queues or completes meanwhile; an observer may see a mix of before and after.
///
/// # Errors
/// [`Error::DifferentQueues`] for halves of two queues, which are both left as they were.
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
    completer.shared.publish_all(&completer.side);
    Ok(())
}

/// Brings the ledger to what the device really holds, after completions were lost or counted twice,
/// without flushing it. The limit and the epoch stay; a new interval and a new window of slack
/// begin; what is too much counts as completed, what was missing counts as queued now. Whoever has
/// both halves knows that nobody queues or completes meanwhile. Returns by how much the ledger said
/// too much; below 0 when it said too little.
///
/// # Errors
/// [`Error::RepairTooLarge`] above [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT);
/// [`Error::DifferentQueues`] for halves of two queues. Either changes nothing.
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
    let excess = side.repair(&shared.ledger, in_flight, now_ns)?;
    shared.publish(side);
    Ok(excess)
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
