//! noq under load, with a priority for the requests: the program of quinn, whose API noq has.

extern crate noq as quinn;
extern crate taut_noq as taut_quinn;

#[path = "../../quinn/src/bench.rs"]
mod bench;
#[path = "../../quinn/src/peers.rs"]
mod peers;
mod stack;

use std::process::ExitCode;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    quic_bench::run("taut-noq", bench::measure).await
}
