//! The model checks, on loom's atomics: every interleaving and every reordering that the memory
//! model allows, with at most three switches away from a thread that could go on (all of them would
//! take hours).
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
