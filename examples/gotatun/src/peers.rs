//! The path of each peer: the tunnel has a queue and a limit for each.

use std::sync::{Arc, PoisonError, RwLock};

use gotatun::device::{Device, DeviceTransports, Peer};
use gotatun::packet::Ip;
use taut_tun::Tunnel;

/// The peers of a device, each at the index of its path.
#[derive(Clone, Default)]
pub struct Peers(Arc<RwLock<Vec<Peer>>>);

impl Peers {
    /// Returns the path of the peer whose allowed IPs contain the destination most specifically.
    pub fn path(&self, packet: &Ip, paths: usize) -> usize {
        let peers = self.0.read().unwrap_or_else(PoisonError::into_inner);
        if paths == 1 || peers.len() > paths {
            return 0;
        }
        let Some(to) = packet.destination() else {
            return 0;
        };
        let prefix = |peer: &Peer| {
            let networks = peer.allowed_ips.iter().filter(|it| it.contains(to));
            networks.map(|it| it.prefix()).max()
        };
        let matching = (0..)
            .zip(&*peers)
            .filter_map(|(path, peer)| Some((prefix(peer)?, path)));
        matching.max().map_or(0, |(_, path)| path)
    }

    /// Updates the peers, and the endpoints of their paths. With more peers than paths, all peers
    /// share the first path.
    pub async fn update<T: DeviceTransports>(
        &self,
        device: &Device<T>,
        tunnel: &Tunnel<impl AsRef<[u8]> + AsMut<[u8]>>,
    ) {
        let found = device.peers().await;
        let has_paths = found.len() <= tunnel.paths();
        let mut peers = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let is_removed = |old: &Peer| found.iter().all(|it| it.peer.public_key != old.public_key);
        if peers.iter().any(is_removed) {
            peers.clear(); // The paths are assigned again.
        }
        for new in found.into_iter().map(|it| it.peer) {
            let old = peers.iter().position(|it| it.public_key == new.public_key);
            let path = old.unwrap_or(peers.len());
            let is_moved = old.is_none_or(|old| peers[old].endpoint != new.endpoint);
            if let Some(endpoint) = new.endpoint.filter(|_| is_moved && has_paths) {
                tunnel.set_endpoint(path, endpoint);
            }
            match old {
                Some(old) => peers[old] = new,
                None => peers.push(new),
            }
        }
    }
}
