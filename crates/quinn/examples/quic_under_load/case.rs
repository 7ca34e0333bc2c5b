//! The rows.

use std::fmt;

/// What limits the endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// quinn without a limit.
    Plain,
    /// A send buffer of this many bytes, with the name of the size.
    Buffer(&'static str, usize),
    /// With quinn's BBR.
    Bbr,
    /// Linux's rule with its own hold time, without a cap.
    Dql,
    /// The adapter with its defaults, and a window that grows only while it is used.
    Taut,
}

const VARIANTS: [Variant; 8] = [
    Variant::Plain,
    Variant::Buffer("8k", 8 << 10),
    Variant::Buffer("32k", 32 << 10),
    Variant::Buffer("212k", 212 << 10),
    Variant::Buffer("4m", 4 << 20),
    Variant::Bbr,
    Variant::Dql,
    Variant::Taut,
];

impl Variant {
    /// Returns the names of the buffer sizes.
    pub fn buffers() -> impl Iterator<Item = &'static str> {
        VARIANTS.into_iter().filter_map(|variant| match variant {
            Self::Buffer(size, _) => Some(size),
            _ => None,
        })
    }

    /// Returns the name in results.
    pub fn name(self) -> String {
        match self {
            Self::Plain => "plain".into(),
            Self::Buffer(size, _) => format!("buffer {size}"),
            Self::Bbr => "bbr".into(),
            Self::Dql => "dql".into(),
            Self::Taut => "taut".into(),
        }
    }
}

/// One row: bulk, and requests on the same connection or on a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Case {
    pub variant: Variant,
    pub connections: u32,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.connections == 1 { "" } else { "s" };
        let (name, count) = (self.variant.name(), self.connections);
        write!(f, "{name}, {count} connection{plural}")
    }
}

/// Returns the rows whose variant has one of `only` in its name; all if `only` is empty.
pub fn cases(only: &[String]) -> Vec<Case> {
    let wanted = |variant: &Variant| {
        let name = variant.name();
        only.is_empty() || only.iter().any(|part| name.contains(part.as_str()))
    };
    let of = |connections| {
        let wanted = VARIANTS.into_iter().filter(wanted);
        wanted.map(move |variant| Case {
            variant,
            connections,
        })
    };
    [1, 2].into_iter().flat_map(of).collect()
}
