//! What tasks need that wait for a limit: a limiter of permits, and places in turn for whoever
//! builds another.
//!
//! Behind the feature `tasks`, which needs `std` for a lock and a clock. There is no runtime here:
//! a task is whatever has a waker.

mod limiter;
mod wait_queue;

pub use limiter::{Acquire, AcquireError, Limiter, Permit};
pub use wait_queue::{Ticket, TooManyWaiters, WaitQueue};
