//! One stage of the transmit path, and the packets that can overtake those in it.

/// What can overtake the packets in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OvertakenBy {
    /// Packets of another flow or socket.
    OtherFlows,
    /// Packets of a higher band.
    Priority,
    /// Nothing: they leave in order.
    Nothing,
}

impl OvertakenBy {
    /// Returns a phrase for people.
    pub const fn text(self) -> &'static str {
        match self {
            Self::OtherFlows => "other flows overtake",
            Self::Priority => "priority overtakes",
            Self::Nothing => "nothing overtakes",
        }
    }

    /// Returns the value in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OtherFlows => "other_flows",
            Self::Priority => "priority",
            Self::Nothing => "nothing",
        }
    }
}

/// One stage of the transmit path of a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stage {
    /// Its name for people.
    pub name: String,
    /// Bytes in it; `None` where they cannot be read.
    pub bytes: Option<u64>,
    /// Packets in it, if they are counted.
    pub packets: Option<u64>,
    /// What can overtake them.
    pub overtaken_by: OvertakenBy,
    /// `bytes` counts memory, which exceeds the bytes of the packets.
    pub in_memory: bool,
    /// A part of the stage before it: its bytes are counted there, too.
    pub within: bool,
    /// A remark for people; can be empty.
    pub note: String,
}

impl Stage {
    /// A stage whose packets or memory are not counted.
    pub(super) fn new(
        name: impl Into<String>,
        bytes: Option<u64>,
        overtaken_by: OvertakenBy,
        note: String,
    ) -> Self {
        Self {
            name: name.into(),
            bytes,
            packets: None,
            overtaken_by,
            in_memory: false,
            within: false,
            note,
        }
    }
}
