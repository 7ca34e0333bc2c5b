//! The C interface: `include/taut.h`, generated from this crate.
//!
//! It has three parts, each usable alone:
//!
//! - **the limit `dql`** (`taut_dql`, or `taut_sender` and `taut_completer` on two threads) in
//!   memory of the caller, without a heap and without `std`;
//! - **a rule by its name** (`taut_limit`), with its ledger, in memory of the caller;
//! - **a queue** (`taut_queue`): a discipline and a limit, by their names, over a ring of
//!   callbacks.
//!
//! Rust programs use `taut-dql` and `taut-path`.
#![cfg_attr(target_os = "none", no_std)]
#![deny(missing_docs)]

mod sys;

pub use sys::*;

/// A target without an operating system has no panic handler of its own. No panic is expected,
/// because every argument is checked.
#[cfg(target_os = "none")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
