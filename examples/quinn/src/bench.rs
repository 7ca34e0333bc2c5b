//! One measurement.

use std::sync::Arc;
use std::time::Duration;

use quic_bench::{Fault, LimitName, Options, PATIENCE, WARM_UP, World};
use quinn::congestion::CubicConfig;
use quinn::{Connection, Endpoint, EndpointConfig, Runtime, TokioRuntime, TransportConfig};
use serde_json::{Value, json};
use taut_quinn::{Limited, Utilised};
use tokio::{io, task, time};

use crate::peers::{self, Server};
use crate::stack::{self, Bbr};

fn transport(limit: LimitName) -> TransportConfig {
    let mut transport = TransportConfig::default();
    match limit {
        LimitName::Bbr => {
            transport.congestion_controller_factory(Arc::new(Bbr::default()));
        }
        // A window that grows only while it is used belongs to the default of the adapter.
        LimitName::Taut => {
            let cubic = Utilised::new(CubicConfig::default());
            transport.congestion_controller_factory(Arc::new(cubic));
        }
        LimitName::Plain | LimitName::Dql => {}
    }
    transport
}

pub async fn measure(options: &Options) -> anyhow::Result<Value> {
    let world = World::new(options)?;
    let server = Server::start(world.server_socket()?)?;
    let address = world.address(server.address, options)?;
    let limited = options.limit.sockets().map(Limited::with_sockets);
    let runtime: Arc<dyn Runtime> = match &limited {
        Some(limited) => Arc::new(limited.clone()),
        None => Arc::new(TokioRuntime),
    };
    let (settings, socket) = (EndpointConfig::default(), world.client_socket(options)?);
    let client = Endpoint::new(settings, None, socket, runtime)?;
    let config = peers::client_config(&server, transport(options.limit))?;
    let connect = || async {
        let connecting = client.connect_with(config.clone(), address, "localhost")?;
        anyhow::Ok(time::timeout(PATIENCE, connecting).await??)
    };
    let connections = match options.two_connections {
        true => vec![connect().await?, connect().await?],
        false => vec![connect().await?],
    };
    let mut bulk = connections[0].open_uni().await?;
    task::spawn(async move { while bulk.write_all(&[7; 1 << 16]).await.is_ok() {} });
    time::sleep(WARM_UP).await;

    let (send, receive) = connections[connections.len() - 1].open_bi().await?;
    send.set_priority(10)?;
    let (mut requests, before) = (io::join(receive, send), datagrams(&connections));
    if options.fault == Some(Fault::Rebound) {
        let (client, socket) = (client.clone(), world.client_socket(options)?);
        let after = Duration::from_nanos(options.duration.0 / 3);
        task::spawn(async move {
            time::sleep(after).await;
            client.rebind(socket)
        });
    }
    let count = &server.received_bytes;
    let measured = quic_bench::measure(&mut requests, count, &world, options).await?;
    let after = datagrams(&connections);
    let more = json!({
        "datagrams": after[0] - before[0],
        "all_datagrams": after[0],
        "lost_datagrams": after[1] - before[1],
        "window_bytes": stack::window_bytes(&connections[0]),
    });
    let limit = limited.as_ref().and_then(Limited::stats);
    measured.row(stack::NAME, options, limit.map(|it| it.socket), more)
}

/// Returns the sent and the lost datagrams of all connections.
fn datagrams(connections: &[Connection]) -> [u64; 2] {
    let sent = connections.iter().map(|it| it.stats().udp_tx.datagrams);
    [
        sent.sum(),
        connections.iter().map(stack::lost_datagrams).sum(),
    ]
}
