//! Where completion patterns come from: files, families that are drawn, and the published six.

pub mod families;
mod header;
pub mod published;
pub mod read;
