//! The C interface, used from C.
#![allow(clippy::pedantic)]

mod c;
mod header;
mod misuse;
