//! A tunnel: packets of a TUN device in datagrams of a UDP socket.
//!
//! usage: tunnel plain|taut ADDRESS LOCAL PEER
//!
//! ADDRESS is that of the TUN device, in a network of 24 bits, such as 10.10.0.1. LOCAL and PEER
//! are addresses of UDP sockets, such as 10.9.0.1:5000. `plain` is the same program without taut.
//! `scripts/programs.py --check` runs two of them behind a slow link.

use std::env;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use taut_tun::Tunnel;
use tun_rs::{AsyncDevice, DeviceBuilder};

/// At most the MTU of the link minus the headers of IP, UDP and the tunnel.
const MTU: u16 = 1_400;
const HEADER: [u8; 4] = *b"tun1";

/// Stands for encryption: the datagram of a packet.
fn seal(packet: &[u8]) -> Vec<u8> {
    [&HEADER, packet].concat()
}

/// Stands for decryption: the packet of a datagram.
fn open(datagram: &[u8]) -> Option<&[u8]> {
    datagram.strip_prefix(&HEADER)
}

/// Forwards without taut.
async fn plain(tun: AsyncDevice, udp: UdpSocket, peer: SocketAddr) -> std::io::Result<()> {
    udp.set_nonblocking(true)?;
    let udp = tokio::net::UdpSocket::from_std(udp)?;
    let (mut packet, mut datagram) = ([0; 2048], [0; 2048]);
    loop {
        tokio::select! {
            read = tun.recv(&mut packet) => {
                // As a VPN does: a full socket blocks the tunnel.
                udp.send_to(&seal(&packet[..read?]), peer).await?;
            }
            received = udp.recv_from(&mut datagram) => {
                if let Some(packet) = open(&datagram[..received?.0]) {
                    let _ = tun.send(packet).await; // Not an IP packet, or the device is down.
                }
            }
        }
    }
}

/// Forwards with taut: what the TUN delivers waits in the tunnel's discipline.
async fn taut(tun: AsyncDevice, udp: UdpSocket, peer: SocketAddr) -> std::io::Result<()> {
    let overhead_bytes = 28 + HEADER.len() as u32;
    let tunnel: Tunnel<Vec<u8>> = Tunnel::builder().overhead_bytes(overhead_bytes).build()?;
    let udp = tunnel.socket(udp)?;
    // `taut show` and `taut top` list the tunnel while the publisher exists.
    let publisher = taut_linux::publish::Publisher::open("tunnel");
    if let Ok(publisher) = &publisher {
        tunnel.publish(publisher, &tun.name()?)?;
    }
    let (mut packet, mut datagram, mut released) = ([0; 2048], [0; 2048], Vec::new());
    loop {
        tokio::select! {
            read = tun.recv(&mut packet) => tunnel.push(packet[..read?].to_vec()),
            () = tunnel.next_batch(&mut released, 32) => {
                let sealed = released.drain(..).map(|packet| (seal(&packet), peer));
                udp.send(sealed).await?;
            }
            received = udp.recv_from(&mut datagram) => {
                if let Some(packet) = open(&datagram[..received?.0]) {
                    let _ = tun.send(packet).await; // Not an IP packet, or the device is down.
                }
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [mode, address, local, peer] = arguments.as_slice() else {
        return Err("usage: tunnel plain|taut ADDRESS LOCAL PEER".into());
    };
    let address: Ipv4Addr = address.parse()?;
    let tun = DeviceBuilder::new()
        .ipv4(address, 24, None)
        .mtu(MTU)
        .build_async()?;
    let (udp, peer) = (UdpSocket::bind(local.as_str())?, peer.parse()?);
    match mode.as_str() {
        "plain" => plain(tun, udp, peer).await?,
        "taut" => taut(tun, udp, peer).await?,
        _ => return Err(format!("mode \"{mode}\": expected plain or taut").into()),
    }
    Ok(())
}
