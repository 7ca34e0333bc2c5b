//! Two network namespaces with a shaped link between them.
#![allow(dead_code, reason = "not every example needs all of it")]

use std::io;
use std::net::{Ipv4Addr, UdpSocket};

use taut_linux::link::{self, MacAddress, RootQdisc};
use taut_linux::{NetNs, ensure_privilege};

const SOURCE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const DESTINATION_MAC: MacAddress = MacAddress([2, 0, 0, 0, 0, 2]);

const PORT: u16 = 4433;

/// Gone with the process.
pub struct ShapedLink {
    pub near: NetNs,
    pub far: NetNs,
}

/// A link of so many bits a second; ends the program with 77 where it cannot be made.
pub fn shaped_link(rate_bits_per_s: u64) -> ShapedLink {
    if let Err(why) = ensure_privilege() {
        eprintln!("{why}");
        std::process::exit(77);
    }
    ShapedLink::new(rate_bits_per_s).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(1);
    })
}

impl ShapedLink {
    fn new(rate_bits_per_s: u64) -> io::Result<Self> {
        let (near, far) = (NetNs::new()?, NetNs::new()?);
        link::add_veth_pair(&near, "near", &far, "far")?;
        let shaper = RootQdisc::Tbf {
            rate_bits_per_s,
            burst_bytes: 5_000,
            limit_bytes: 4 << 20,
        };
        link::set_root_qdisc(&near, "near", shaper)?;
        link::add_address(&near, "near", SOURCE, 24)?;
        link::set_mac(&far, "far", DESTINATION_MAC)?;
        link::add_address(&far, "far", DESTINATION, 24)?;
        link::set_up(&far, "far")?;
        link::set_up(&near, "near")?;
        link::add_neighbour(&near, "near", DESTINATION, DESTINATION_MAC)?;
        Ok(Self { near, far })
    }

    /// A socket of the near side, connected to [`far_socket`](Self::far_socket).
    pub fn connected_socket(&self) -> io::Result<UdpSocket> {
        let socket = self.near.run(|| UdpSocket::bind((SOURCE, 0)))??;
        socket.connect((DESTINATION, PORT))?;
        Ok(socket)
    }

    /// The socket of the far side, non-blocking.
    pub fn far_socket(&self) -> io::Result<UdpSocket> {
        let socket = self.far.run(|| UdpSocket::bind((DESTINATION, PORT)))??;
        socket.set_nonblocking(true)?;
        Ok(socket)
    }
}
