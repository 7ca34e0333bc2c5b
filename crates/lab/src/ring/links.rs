//! The links that rows are measured on, each in namespaces of its own.

use taut_linux::af_xdp::{
    AfXdp, AfXdpCompletions, AfXdpReceiver, AfXdpTx, Redirect, UmemFrames, XdpConfig, XdpMode,
};
use taut_linux::link::{self, RootQdisc};
use taut_linux::{NetNs, link::MacAddress};

use crate::world::{SERVER_DEVICE, SHAPED_DEVICE, shaped_veth};

/// What is below the ring.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// A veth whose own discipline shapes: in the way of a packet socket.
    Shaper { rate_bits_per_s: u64 },
    /// A macvlan on a veth that shapes: AF_XDP goes past a device's own discipline, but not past
    /// the one below.
    Macvlan { rate_bits_per_s: u64 },
    /// A veth whose peer has an XDP program, and a thread of the kernel that polls it.
    Polling,
    /// A veth whose peer takes every frame at once.
    Plain,
    /// Somebody's card.
    Card { device: String, to: MacAddress },
}

impl Link {
    /// The name in tables and JSON.
    pub fn name(&self) -> String {
        match self {
            Self::Shaper { .. } => "veth, tbf".into(),
            Self::Macvlan { .. } => "macvlan on veth, tbf".into(),
            Self::Polling => "veth, peer polls".into(),
            Self::Plain => "veth".into(),
            Self::Card { device, .. } => device.clone(),
        }
    }

    /// Whether anything of it is more than memory.
    pub const fn is_virtual(&self) -> bool {
        !matches!(self, Self::Card { .. })
    }

    pub const fn rate_bits_per_s(&self) -> Option<u64> {
        match self {
            Self::Shaper { rate_bits_per_s } | Self::Macvlan { rate_bits_per_s } => {
                Some(*rate_bits_per_s)
            }
            Self::Polling | Self::Plain | Self::Card { .. } => None,
        }
    }

    /// Where frames go.
    pub const fn to(&self) -> MacAddress {
        match self {
            Self::Card { to, .. } => *to,
            _ => MacAddress::local(2),
        }
    }

    /// Makes it. It is gone when what is returned is dropped.
    pub fn make(&self) -> anyhow::Result<Made> {
        match self {
            Self::Shaper { rate_bits_per_s } => veth(Some(*rate_bits_per_s)),
            Self::Plain => veth(None),
            Self::Macvlan { rate_bits_per_s } => {
                let mut made = veth(Some(*rate_bits_per_s))?;
                link::add_macvlan(&made.ns, MACVLAN, SHAPED_DEVICE)?;
                link::set_root_qdisc(&made.ns, MACVLAN, RootQdisc::NoQueue)?;
                link::set_up(&made.ns, MACVLAN)?;
                made.device = MACVLAN.into();
                Ok(made)
            }
            Self::Polling => {
                let mut made = veth(None)?;
                let far = made.far.as_ref();
                let far = far.ok_or_else(|| anyhow::anyhow!("a veth has two ends"))?;
                let config = XdpConfig {
                    mode: XdpMode::Copy,
                    ..XdpConfig::default()
                };
                let poller = AfXdp::open_both(far, SERVER_DEVICE, &config, Redirect::Native)?;
                link::set_threaded_polling(far, SERVER_DEVICE, true)?;
                made.poller = Some(poller);
                Ok(made)
            }
            Self::Card { device, .. } => Ok(Made {
                ns: NetNs::current()?,
                device: device.clone(),
                far: None,
                poller: None,
            }),
        }
    }
}

const MACVLAN: &str = "taut-macvlan";

/// Who polls; nobody reads what it takes, so that it is thrown away there.
type Poller = (AfXdpTx, AfXdpCompletions, AfXdpReceiver, UmemFrames);

/// A link that is there.
pub struct Made {
    pub ns: NetNs,
    pub device: String,
    far: Option<NetNs>,
    poller: Option<Poller>,
}

impl Made {
    /// Whether somebody polls at the far end.
    pub const fn is_polled(&self) -> bool {
        self.poller.is_some()
    }
}

fn veth(rate_bits_per_s: Option<u64>) -> anyhow::Result<Made> {
    let far = NetNs::new()?;
    let ns = shaped_veth(&far, rate_bits_per_s)?;
    link::set_up(&far, SERVER_DEVICE)?;
    Ok(Made {
        ns,
        device: SHAPED_DEVICE.into(),
        far: Some(far),
        poller: None,
    })
}
