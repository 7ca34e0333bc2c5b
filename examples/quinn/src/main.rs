//! quinn under load, with a priority for the requests.

mod bench;
mod peers;
mod stack;

use std::process::ExitCode;

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    quic_bench::run("taut-quinn-bench", bench::measure).await
}
