//! noq under load, with a priority for the requests.

mod peers;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use noq::congestion::CubicConfig;
use noq::{PathId, Runtime, TokioRuntime, TransportConfig};
use quic_bench::{LimitName, Load, Options, PATIENCE, WARM_UP, World, run};
use serde_json::{Value, json};
use taut_noq::{Limited, Utilised};
use taut_path::AnyLimit;
use tokio::{io, task, time};

use peers::Server;

fn limited(limit: LimitName) -> Option<Limited<TokioRuntime>> {
    match limit {
        LimitName::Plain => None,
        LimitName::Dql => {
            let builder = Limited::builder(TokioRuntime).limit(AnyLimit::dql());
            Some(builder.cap_ns(0).build())
        }
        LimitName::Taut => Some(Limited::new(TokioRuntime)),
    }
}

/// A window that grows only while it is used belongs to the default of the adapter.
fn transport(limit: LimitName) -> TransportConfig {
    let mut transport = TransportConfig::default();
    if limit == LimitName::Taut {
        let cubic = Utilised::new(CubicConfig::default());
        transport.congestion_controller_factory(Arc::new(cubic));
    }
    transport
}

#[tokio::main(worker_threads = 2)]
async fn main() -> ExitCode {
    run("taut-noq", measure).await
}

async fn measure(options: &Options) -> anyhow::Result<Value> {
    let world = World::new(options.topology, options.rate.0)?;
    let server = Server::start(world.server_socket()?)?;
    let limited = limited(options.limit);
    let runtime: Arc<dyn Runtime> = match &limited {
        Some(limited) => Arc::new(limited.clone()),
        None => Arc::new(TokioRuntime),
    };
    let transport = transport(options.limit);
    let client = peers::client(&server, world.client_socket()?, runtime, transport)?;
    let connecting = client.connect(server.address, "localhost")?;
    let connection = time::timeout(PATIENCE, connecting).await??;
    let mut bulk = connection.open_uni().await?;
    task::spawn(async move { while bulk.write_all(&[7; 1 << 16]).await.is_ok() {} });
    time::sleep(WARM_UP).await;

    let (load, sent) = (Load::begin(&server.received_bytes), connection.stats());
    let (send, receive) = connection.open_bi().await?;
    send.set_priority(10)?;
    let duration = Duration::from_nanos(options.duration.0);
    let measured = load.measure(&mut io::join(receive, send), duration).await?;
    let after = connection.stats();
    let stats = limited.as_ref().and_then(Limited::stats);
    let more = json!({
        "datagrams": after.udp_tx.datagrams - sent.udp_tx.datagrams,
        "all_datagrams": after.udp_tx.datagrams,
        "lost_datagrams": after.lost_packets - sent.lost_packets,
        "window_bytes": connection.path_stats(PathId::ZERO).map(|it| it.cwnd),
        "limit_bytes": stats.map(|it| it.socket.limit),
        "completion_quality": stats.map(|it| format!("{:?}", it.socket.completion_quality)),
    });
    measured.row("noq", options, more)
}
