//! Limits by name and the whole queue, which need `std`.

mod build;
mod callbacks;
mod calls;
mod classify;
mod frame_sink;
mod limit;
mod limit_register;
mod options;
mod placed_limit;
mod results;
mod ring;
mod table;
mod text;

pub use callbacks::*;
pub use calls::*;
pub use classify::*;
pub use frame_sink::*;
pub use limit::*;
pub use limit_register::*;
pub use options::*;
pub use placed_limit::*;
pub use results::*;
pub use ring::*;
pub use table::*;
