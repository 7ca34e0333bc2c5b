//! The two halves of a queue.

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
