//! The links of the rows, each in separate namespaces.

use taut_linux::af_xdp::{AfXdp, AfXdpReceiver, Redirect, UmemFrames, XdpConfig, XdpMode};
use taut_linux::link::{self, RootQdisc};
use taut_linux::observe::Sysfs;
use taut_linux::{NetNs, link::MacAddress};
use taut_relay::driver::Driver;

use crate::world::{SERVER_DEVICE, SHAPED_DEVICE, shaped_veth};

/// The link below the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// A veth with a shaper as its discipline, which packet sockets pass. AF_XDP bypasses the
    /// discipline of its device, but not that of the lower one: it sends on a macvlan above.
    Shaped { rate_bits_per_s: u64 },
    /// A veth whose peer has an XDP program and a polling kernel thread.
    Polling,
    /// A veth whose peer accepts every frame immediately.
    Plain,
    /// A card of the user.
    Card { device: String, to: MacAddress },
}

impl Link {
    /// Returns the name in tables and JSON.
    pub fn name(&self, driver: Driver) -> String {
        match self {
            Self::Shaped { .. } if driver == Driver::AfXdp => "macvlan on veth, tbf".into(),
            Self::Shaped { .. } => "veth, tbf".into(),
            Self::Polling => "veth, peer polls".into(),
            Self::Plain => "veth".into(),
            Self::Card { device, .. } => device.clone(),
        }
    }

    /// Returns `true` if the link has no hardware.
    pub const fn is_virtual(&self) -> bool {
        !matches!(self, Self::Card { .. })
    }

    pub const fn rate_bits_per_s(&self) -> Option<u64> {
        match self {
            Self::Shaped { rate_bits_per_s } => Some(*rate_bits_per_s),
            Self::Polling | Self::Plain | Self::Card { .. } => None,
        }
    }

    /// Returns the destination of the frames.
    pub const fn to(&self) -> MacAddress {
        match self {
            Self::Card { to, .. } => *to,
            _ => MacAddress::local(2),
        }
    }

    /// Creates the link for a ring of `driver`. Dropping the returned value removes it.
    pub fn create(&self, driver: Driver) -> anyhow::Result<ActiveLink> {
        if let Self::Card { device, .. } = self {
            return Ok(ActiveLink {
                ns: NetNs::current()?,
                device: device.clone(),
                _far: None,
                _poller: None,
            });
        }
        let far = NetNs::new()?;
        let ns = shaped_veth(&far, self.rate_bits_per_s())?;
        link::set_up(&far, SERVER_DEVICE)?;
        let (mut device, mut poller) = (SHAPED_DEVICE, None);
        if driver == Driver::AfXdp && matches!(self, Self::Shaped { .. }) {
            link::add_macvlan(&ns, MACVLAN, SHAPED_DEVICE)?;
            link::set_root_qdisc(&ns, MACVLAN, RootQdisc::NoQueue)?;
            link::set_up(&ns, MACVLAN)?;
            device = MACVLAN;
        }
        if *self == Self::Polling {
            let config = XdpConfig {
                mode: XdpMode::Copy,
                ..XdpConfig::default()
            };
            let opened = AfXdp::open_both(&far, SERVER_DEVICE, &config, Redirect::Native)?;
            Sysfs::of_netns(&far)?.set_threaded_polling(SERVER_DEVICE, true)?;
            poller = Some(opened);
        }
        Ok(ActiveLink {
            ns,
            device: device.into(),
            _far: Some(far),
            _poller: poller,
        })
    }
}

const MACVLAN: &str = "taut-macvlan";

/// The receiver at the polling peer. Its frames are not read, so the kernel drops them.
type Poller = (AfXdp, AfXdpReceiver, UmemFrames);

/// A created link.
pub struct ActiveLink {
    pub ns: NetNs,
    pub device: String,
    _far: Option<NetNs>,
    _poller: Option<Poller>,
}
