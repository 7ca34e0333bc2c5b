//! The two halves of a queue, and what needs both of them.

mod completer;
mod sender;

use core::marker::PhantomData;
use core::ops::Deref;

use crate::counter;
use crate::estimator::{Estimator, Queued};
use crate::sync::Ordering;
use crate::{Config, Error, Shared};

pub use completer::Completer;
pub use sender::Sender;

/// Makes the two halves of a queue, held by `&Shared`, `Arc<Shared>`, `&'static Shared` or
/// anything like them. A limit in `config` counts at once.
///
/// # Errors
/// Those of [`Config::validate`]; [`Error::AlreadySplit`] on the second call for one [`Shared`],
/// also when the first halves are gone; [`Error::NotTheSameQueue`] should a clone of `shared`
/// lead somewhere else.
pub fn split<S>(shared: S, config: Config, now_ns: u64) -> Result<(Sender<S>, Completer<S>), Error>
where
    S: Deref<Target = Shared> + Clone,
{
    config.validate()?;
    let other = shared.clone();
    if !core::ptr::eq::<Shared>(&*shared, &*other) {
        return Err(Error::NotTheSameQueue);
    }
    if !shared.claim() {
        return Err(Error::AlreadySplit);
    }
    let estimator = Estimator::from_valid(config, now_ns);
    let adj_limit = config.limit;
    let completer = Completer {
        shared: other,
        adj_limit,
        estimator,
        not_sync: PhantomData,
    };
    completer.publish();
    completer.publish_config();
    Ok((
        Sender {
            shared,
            num_queued: 0,
            not_sync: PhantomData,
        },
        completer,
    ))
}

/// Forgets what is in flight and starts again from the lower bound of the limit, with the settings
/// kept and the epoch one up (wrapping); for when the device was flushed. Whoever has both halves
/// knows that nobody queues or completes meanwhile; an observer may see a mix of before and after.
///
/// # Errors
/// [`Error::NotTheSameQueue`] for halves of two queues, which are both left as they were.
pub fn reset<S>(
    sender: &mut Sender<S>,
    completer: &mut Completer<S>,
    now_ns: u64,
) -> Result<(), Error>
where
    S: Deref<Target = Shared>,
{
    let shared: &Shared = &sender.shared;
    if !core::ptr::eq(shared, &*completer.shared) {
        return Err(Error::NotTheSameQueue);
    }
    completer.adj_limit = completer.estimator.reset(now_ns);
    completer.publish();
    shared.sender.publish(Queued {
        num_queued: 0,
        last_object: 0,
    });
    let epoch = shared.completer.epoch.load(Ordering::Relaxed);
    shared
        .completer
        .epoch
        .store(epoch.wrapping_add(1), Ordering::Relaxed);
    sender.num_queued = 0;
    Ok(())
}

/// Brings the ledger to what the device really holds, after completions were lost or counted twice,
/// without flushing it. The limit and the epoch stay; a new interval and a new window of slack begin;
/// what is too much counts as completed, what was missing counts as queued now.
/// Whoever has both halves knows that nobody queues or completes meanwhile.
/// Returns by how much the ledger said too much; below 0 when it said too little.
///
/// # Errors
/// [`Error::InFlightTooLarge`] above [`MAX_IN_FLIGHT`](crate::MAX_IN_FLIGHT);
/// [`Error::NotTheSameQueue`] for halves of two queues. Either changes nothing.
pub fn repair<S>(
    sender: &mut Sender<S>,
    completer: &mut Completer<S>,
    in_flight: u32,
    now_ns: u64,
) -> Result<i64, Error>
where
    S: Deref<Target = Shared>,
{
    if !core::ptr::eq::<Shared>(&*sender.shared, &*completer.shared) {
        return Err(Error::NotTheSameQueue);
    }
    let known = sender.unsigned_in_flight() as i32;
    let (missing, too_much) = counter::check_repair(known, in_flight)?;
    sender.num_queued = sender.num_queued.wrapping_add(missing);
    sender.publish_last(0);
    let queued = completer.shared.sender.read();
    completer.adj_limit = completer.estimator.repair(queued, in_flight, now_ns);
    completer.publish();
    Ok(too_much)
}
