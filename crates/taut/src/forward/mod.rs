//! A transparent bridge of two interfaces, with a queue of ours in each direction.

pub mod board;
pub mod bridge;
mod check;
mod ends;
mod intake;
pub mod interface;
mod keeper;
pub mod lane;
mod links;
pub mod options;
mod run;
mod summary;
mod view;

pub use keeper::{COMMAND as KEEPER, keep_offloads};
pub use run::forward;
