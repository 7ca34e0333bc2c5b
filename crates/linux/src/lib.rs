//! Linux interfaces of taut: AF_XDP sockets, AF_PACKET rings, TAP devices, network namespaces,
//! timers and priorities.
//!
//! Namespaces and devices are held by descriptors only, so none remain after the process has ended.
#![deny(unsafe_code, missing_docs)]
#![cfg(target_os = "linux")]

pub mod af_packet;
pub mod af_xdp;
mod checksum;
mod error;
pub mod frame_ring;
mod frames;
mod gso_frames;
mod handover;
pub mod interrupt;
mod layers;
pub mod link;
#[cfg(all(test, loom))]
mod models;
mod netns;
mod new_netns;
pub mod observe;
pub mod poll;
mod port;
mod privilege;
pub mod publish;
pub mod sched;
pub mod segment;
mod send_buffer;
mod shared_ring;
#[allow(unsafe_code)]
mod sys;
pub mod tcp;
mod tun;
mod vlan;
mod vnet_header;

pub use checksum::{ChecksumError, complete_checksum, internet_checksum};
pub use error::{SyscallError, errno};
pub use frames::{FrameSource, Frames};
pub use gso_frames::GsoFrames;
pub use netns::NetNs;
pub use port::{ETHERNET_HEADER_BYTES, Port};
pub use privilege::{effective_capabilities, ensure_privilege, privilege, retain_capabilities};
pub use rustix::thread::CapabilitySet;
pub use tun::{Tap, TapConfig, Tun, WriteOutcome};
pub use vlan::tag_bytes;
pub use vnet_header::VirtioNetHeader;

/// The examples of the README are run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
