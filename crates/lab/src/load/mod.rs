//! The load: bulk TCP streams and, in parallel, one request/response or pings.

mod bulk;
mod connect;
mod ping;
mod request;
mod running;
mod window;

pub use connect::{Beside, Connected, connect};
pub use request::Requests;
pub use running::{Delivered, Load};
pub use window::{Loaded, Plan, Window};
