//! All tests of the crate in one binary, except `live_user_namespace`, which needs a process with a
//! single thread.

mod common;
mod frame_ring;
mod live_af_packet;
mod live_af_packet_full;
mod live_af_packet_marks;
mod live_af_packet_port;
mod live_af_xdp;
mod live_af_xdp_faults;
mod live_link_monitor;
mod live_netns;
mod live_receiver;
mod live_segments;
mod live_tap;
mod live_tcp;
mod live_two_halves;
mod observe_sysfs;
mod publish;
