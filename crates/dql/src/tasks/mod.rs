//! What tasks need that wait for a limit: a place in turn, and a limiter of permits.
//!
//! Behind the feature `tasks`, which needs `std` for its lock. There is no runtime here: a task is
//! whatever has a waker.

mod turns;

pub use turns::{Ticket, TooManyWaiters, Turns};
