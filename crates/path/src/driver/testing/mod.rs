//! A device that a test controls (feature `testing`, needs `std`).

pub mod mock;
