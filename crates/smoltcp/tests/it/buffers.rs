//! Large socket buffers over a small ring (smoltcp#949).

use crate::net::{self, Nic};

#[test]
fn larger_buffers_lose_nothing_to_overruns() {
    let small = net::transfer(net::limited(), 64 << 10, 5);
    let large = net::transfer(net::limited(), 4 << 20, 5);
    assert_eq!((small.overruns, large.overruns), (0, 0));
    assert!(
        large.most_in_ring <= net::RING_SLOTS / 2,
        "{} frames",
        large.most_in_ring
    );
    assert!(large.mbit_per_s > 18.0, "{} Mbit/s", large.mbit_per_s);
    assert!(large.mbit_per_s > small.mbit_per_s);
}

#[test]
fn without_a_limit_the_same_ring_overruns() {
    let large = net::transfer(Nic::default(), 4 << 20, 5);
    assert!(large.overruns > 0);
}
