//! Uploads to a store behind a slow link, with a fixed concurrency and with a learnt one. Runs in
//! its own network namespaces; exits with 77 without the privilege for them.
//!
//! With few concurrent uploads, the link is idle between them. With many, most of them wait, and an
//! urgent upload waits for all of them.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::thread;
use std::time::{Duration, Instant};

use taut_dql::Config;
use taut_dql::tasks::Limiter;
use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, ensure_privilege};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::sleep;

const RATE_BITS_PER_S: u64 = 100_000_000;
const CHUNK_BYTES: u32 = 128 << 10;
const WARM: Duration = Duration::from_secs(1);
const RUN: Duration = Duration::from_secs(2);
const NEAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// Time of the store for a chunk, after the last byte.
const WORK: Duration = Duration::from_millis(10);
const STORE: SocketAddr = SocketAddr::new(IpAddr::V4(FAR), 8080);

fn links() -> io::Result<(NetNs, NetNs)> {
    let (near, far) = (NetNs::new()?, NetNs::new()?);
    link::add_veth_pair(&near, "near", &far, "far")?;
    for (ns, device, own) in [(&near, "near", NEAR), (&far, "far", FAR)] {
        link::add_address(ns, device, own, 24)?;
        link::set_up(ns, device)?;
    }
    let shaper = RootQdisc::Tbf {
        rate_bits_per_s: RATE_BITS_PER_S,
        burst_bytes: 70_000,
        limit_bytes: 1 << 20,
    };
    link::set_root_qdisc(&near, "near", shaper)?;
    Ok((near, far))
}

/// Starts a store that confirms each chunk after its work. It ends with the program.
fn store(far: &NetNs) -> io::Result<()> {
    let listener = far.run(|| TcpListener::bind(STORE))??;
    thread::spawn(move || {
        for mut upload in listener.incoming().flatten() {
            thread::spawn(move || {
                upload.read_exact(&mut [0; CHUNK_BYTES as usize])?;
                thread::sleep(WORK);
                upload.write_all(&[1])
            });
        }
    });
    Ok(())
}

/// One upload, from the namespace of the calling thread.
async fn put() -> io::Result<()> {
    let mut store = TcpStream::connect(STORE).await?;
    store.write_all(&[b'x'; CHUNK_BYTES as usize]).await?;
    store.read_exact(&mut [0]).await?;
    Ok(())
}

/// Returns megabits a second, and the mean number of concurrent chunks when another one got its
/// permit.
async fn run(limiter: Limiter) -> Result<(f64, f64), Box<dyn Error>> {
    let begin = Instant::now();
    let (mut number, mut warm, mut standing) = (0_u64, None, 0_u64);
    while begin.elapsed() < WARM + RUN {
        let permit = limiter.acquire(CHUNK_BYTES).await?;
        tokio::spawn(async move {
            if let Err(error) = put().await {
                eprintln!("upload: {error}");
            }
            drop(permit);
        });
        number += 1;
        if begin.elapsed() >= WARM {
            warm.get_or_insert((Instant::now(), number));
            standing += u64::from(limiter.snapshot().in_flight);
        }
    }
    let (since, before) = warm.unwrap_or((begin, 0));
    let (count, chunk) = ((number - before) as f64, f64::from(CHUNK_BYTES));
    let mbit = count * chunk * 8.0 / since.elapsed().as_secs_f64() / 1e6;
    while limiter.snapshot().in_flight > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    Ok((mbit, standing as f64 / (count + 1.0) / chunk))
}

/// Allows this many concurrent chunks.
fn fixed(chunks: u32) -> Result<Limiter, taut_dql::Error> {
    // One more chunk is admitted while the limit is not exceeded.
    let limit = CHUNK_BYTES * chunks - 1;
    let config = Config {
        limit,
        min_limit: limit,
        max_limit: limit,
        ..Config::default()
    };
    Limiter::with_config(config, 16)
}

async fn rows() -> Result<(), Box<dyn Error>> {
    println!(
        "limit       Mbit/s   chunks of {} KB under way",
        CHUNK_BYTES >> 10
    );
    for chunks in [1, 2, 3, 4, 8, 16] {
        let (mbit, standing) = run(fixed(chunks)?).await?;
        println!("{chunks:>2} chunks  {mbit:>8.1} {standing:>8.1}");
    }
    let (mbit, standing) = run(Limiter::new()).await?;
    println!("learnt     {mbit:>8.1} {standing:>8.1}");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    if let Err(why) = ensure_privilege() {
        eprintln!("uploads: {why}");
        std::process::exit(77);
    }
    let (near, far) = links()?;
    store(&far)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let done = near.run(|| runtime.block_on(rows()).map_err(|error| error.to_string()))?;
    Ok(done?)
}
