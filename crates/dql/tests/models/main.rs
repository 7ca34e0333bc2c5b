//! The model checks, on loom's atomics: every interleaving and every reordering of the memory
//! model, with at most three preemptions of a runnable thread (all of them would take hours).
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-dql --test models`
#![cfg(loom)]

mod halves;
mod single_writer_u64;

fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}
