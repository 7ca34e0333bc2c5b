//! The datagrams of a stack.

use quinn::udp::Transmit;
use taut_udp::Datagram;

/// Returns the datagram, or the segments of one, that the stack sends.
pub(crate) fn datagram<'a>(transmit: &Transmit<'a>) -> Datagram<'a> {
    let segment = transmit.segment_size.unwrap_or(0);
    let datagram = Datagram::new(transmit.contents)
        .to(transmit.destination)
        .traffic_class(transmit.ecn.map_or(0, |ecn| ecn as u8))
        .segmented(u16::try_from(segment).unwrap_or(u16::MAX));
    match transmit.src_ip {
        Some(from) => datagram.from(from),
        None => datagram,
    }
}
