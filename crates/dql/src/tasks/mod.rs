//! Limits for tasks: a limiter of permits, and a queue of waiting tasks for other limiters.
//!
//! Behind the feature `tasks`, which needs `std` for a lock and a clock. There is no runtime: a
//! task is anything with a waker.

mod limiter;
mod wait_queue;

pub use limiter::{Acquire, AcquireError, Limiter, Permit};
pub use wait_queue::{Priority, Ticket, TooManyWaiters, WaitQueue};
