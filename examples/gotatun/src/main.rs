//! GotaTun, a user-space WireGuard, with and without taut.

mod peers;
mod transport;

use std::error::Error;
use std::time::Duration;

use clap::Parser;
use gotatun::device::uapi::UapiServer;
use gotatun::device::{self, Device, DeviceTransports};
use gotatun::tun::tun_async_device::TunDevice;
use taut_linux::publish::Publisher;
use taut_path::AnyLimit;
use taut_path::units::Rate;
use taut_tun::Tunnel;
use tokio::signal;

use peers::Peers;
use transport::{Buffer, Factory, Released};

/// GotaTun does not report a new endpoint of a peer, so it is read at this interval.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// A WireGuard device in user space. `wg` configures it
#[derive(Parser)]
struct Options {
    /// Name of the TUN device
    name: String,

    /// Limit of the bytes between the TUN device and the link, or `plain` for GotaTun without taut
    #[arg(long, default_value = "taut", value_name = "LIMIT")]
    limit: String,

    /// Shaper above the limit, such as 19mbit, for a bottleneck beyond this host
    #[arg(long, value_name = "RATE")]
    rate: Option<Rate>,

    /// Peers with a queue and a limit each, if they are behind different links
    #[arg(long, default_value_t = 1, value_name = "N")]
    paths: usize,
}

impl Options {
    fn tunnel(&self) -> Result<Tunnel<Buffer>, Box<dyn Error>> {
        let mut builder = Tunnel::builder().paths(self.paths);
        if self.limit != "taut" {
            builder = builder.limit(self.limit.parse::<AnyLimit>()?);
        }
        if let Some(rate) = self.rate {
            builder = builder.rate_bits_per_s(rate.0);
        }
        Ok(builder.build()?)
    }
}

/// Waits until the device fails or the user stops it.
async fn serve<T: DeviceTransports>(
    mut device: Device<T>,
    limited: Option<(Peers, Tunnel<Buffer>)>,
) -> Result<(), Box<dyn Error>> {
    loop {
        tokio::select! {
            () = device.wait() => return Err("stopped: the TUN device or the socket failed".into()),
            stopped = signal::ctrl_c() => {
                device.stop().await;
                return Ok(stopped?);
            }
            () = tokio::time::sleep(UPDATE_INTERVAL) => {}
        }
        if let Some((peers, tunnel)) = &limited {
            peers.update(&device, tunnel).await;
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(std::io::stderr)
        .init();
    let options = Options::parse();
    let uapi = UapiServer::default_unix_socket(&options.name, None, None)?;
    let tun = TunDevice::from_name(&options.name)?;
    let builder = device::build().with_uapi(uapi);
    if options.limit == "plain" {
        return serve(builder.with_default_udp().with_ip(tun).build().await?, None).await;
    }
    let tunnel = options.tunnel()?;
    // `taut show` and `taut top` list the tunnel while the publisher exists.
    let publisher = Publisher::open("gotatun");
    if let Ok(publisher) = &publisher {
        tunnel.publish(publisher, &options.name)?;
    }
    let peers = Peers::default();
    let released = Released {
        device: tun.clone(),
        tunnel: tunnel.clone(),
        peers: peers.clone(),
        packets: Vec::new(),
    };
    let builder = builder
        .with_udp(Factory(tunnel.clone()))
        .with_ip_pair(tun, released);
    serve(builder.build().await?, Some((peers, tunnel))).await
}
