//! Changing the byte limits of the kernel's queues: all changes or none.
//!
//! `parse` reads names and values, `plan` makes a `Change` of each for each queue,
//! `check` rejects bounds that contradict each other, `apply` writes, and `undo` returns
//! what has to be set to restore the old values.

mod change;
mod plan;
mod settings;
mod undo;

pub use change::{ApplyError, Change, apply};
pub use plan::{check, plan};
pub use settings::{parse, to_text};
pub use undo::{Undo, undo};
