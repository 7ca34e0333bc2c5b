//! GotaTun's transports, with taut between the TUN device and the socket.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use gotatun::packet::{Ip, Packet, PacketBufPool};
use gotatun::tun::{IpRecv, MtuWatcher};
use gotatun::udp::socket::{UdpSocket, UdpSocketFactory};
use gotatun::udp::{UdpSend, UdpTransportFactory, UdpTransportFactoryParams};
use taut_tun::{TunSocket, Tunnel};

use crate::peers::Peers;

/// Packets of one call. Most of GotaTun's own batches are shorter.
const BATCH: usize = 32;

/// A packet of GotaTun's pool.
pub struct Buffer(Packet);

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl AsMut<[u8]> for Buffer {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Reads a device as fast as it delivers, and returns what the tunnel releases.
pub struct Released<R> {
    pub device: R,
    pub tunnel: Tunnel<Buffer>,
    pub peers: Peers,
    pub packets: Vec<Buffer>,
}

impl<R: IpRecv> IpRecv for Released<R> {
    async fn recv<'a>(
        &'a mut self,
        pool: &mut PacketBufPool,
    ) -> io::Result<impl Iterator<Item = Packet<Ip>> + Send + 'a> {
        while self.packets.is_empty() {
            tokio::select! {
                read = self.device.recv(pool) => for packet in read? {
                    let path = self.peers.path(&packet, self.tunnel.paths());
                    self.tunnel.push_to(path, Buffer(packet.into_bytes()));
                },
                () = self.tunnel.next_batch(&mut self.packets, BATCH) => {}
            }
        }
        let released = self.packets.drain(..);
        // Cannot fail: each was an IP packet before.
        Ok(released.filter_map(|packet| packet.0.try_into_ip().ok()))
    }

    fn mtu(&self) -> MtuWatcher {
        self.device.mtu()
    }
}

/// Sends through taut, so that departures are reported. GotaTun's own socket receives.
#[derive(Clone)]
pub struct Sender(TunSocket, UdpSocket);

type Datagrams = Vec<(Packet, SocketAddr)>;

impl UdpSend for Sender {
    type SendManyBuf = ();

    async fn send_to(&self, packet: Packet, to: SocketAddr) -> io::Result<()> {
        self.0.send([(packet, to)]).await.map(drop)
    }

    fn max_number_of_packets_to_send(&self) -> usize {
        BATCH
    }

    async fn send_many_to(&self, _: &mut (), datagrams: &mut Datagrams) -> io::Result<()> {
        self.0.send(datagrams.drain(..)).await.map(drop)
    }

    fn local_addr(&self) -> io::Result<Option<SocketAddr>> {
        self.1.local_addr().map(Some)
    }

    fn set_fwmark(&self, mark: u32) -> io::Result<()> {
        self.1.set_fwmark(mark)
    }
}

/// Binds sockets as GotaTun does, and adds them to a tunnel.
pub struct Factory(pub Tunnel<Buffer>);

impl UdpTransportFactory for Factory {
    type Send = Sender;
    type Recv = UdpSocket;

    async fn bind(&mut self, at: &UdpTransportFactoryParams) -> io::Result<(Sender, UdpSocket)> {
        let (own, receiver) = UdpSocketFactory::default().bind(at).await?;
        let limited = self.0.socket(own.as_fd().try_clone_to_owned()?.into())?;
        Ok((Sender(limited, own), receiver))
    }
}
