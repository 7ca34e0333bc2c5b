//! Many sockets that always have data to send: each gets its share of a slow link.

use smoltcp::iface::SocketHandle;
use smoltcp::socket::{tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::IpAddress;
use taut_smoltcp::{Builder, Limited};

use crate::net::{HasNic, Nic, RING_SLOTS, Stack};

const STEP_US: i64 = 1000;
const RUN_US: i64 = 4_000_000;

pub fn builder() -> Builder<Nic> {
    Limited::builder(Nic::default())
        .slots(RING_SLOTS as u32)
        .sent_counter(|nic| nic.sent)
}

/// Runs two stacks over the link, with `each` first in each step.
fn run<D: HasNic>(
    near: &mut Stack<D>,
    far: &mut Stack<Nic>,
    mut each: impl FnMut(&mut Stack<D>, &mut Stack<Nic>),
) {
    for step in 0..RUN_US / STEP_US {
        let now_us = step * STEP_US;
        each(near, far);
        near.poll(now_us);
        far.poll(now_us);
        near.device.nic().send(now_us, &mut far.device);
        far.device.send(now_us, near.device.nic());
    }
}

/// Returns the bytes received over each of the connections.
pub fn tcp_bytes<D: HasNic>(device: D, sockets: u16, buffer_bytes: usize) -> Vec<u64> {
    let (mut near, mut far) = (Stack::new(device, 1), Stack::new(Nic::default(), 2));
    let pairs: Vec<_> = (0..sockets)
        .map(|number| {
            let (client, server) = (near.socket(buffer_bytes), far.socket(buffer_bytes));
            let socket = far.sockets.get_mut::<tcp::Socket>(server);
            socket.listen(80 + number).unwrap();
            near.connect(client, 2, 80 + number);
            (client, server)
        })
        .collect();
    let mut arrived = vec![0; pairs.len()];
    run(&mut near, &mut far, |near, far| {
        for ((client, server), arrived) in pairs.iter().zip(&mut arrived) {
            let socket = near.sockets.get_mut::<tcp::Socket>(*client);
            while socket.can_send() && socket.send_slice(&[7; 4096]).unwrap() > 0 {}
            let socket = far.sockets.get_mut::<tcp::Socket>(*server);
            while socket.can_recv() {
                *arrived += socket.recv(|bytes| (bytes.len(), bytes.len())).unwrap() as u64;
            }
        }
    });
    arrived
}

fn udp_socket<D: HasNic>(stack: &mut Stack<D>, port: u16) -> SocketHandle {
    let buffer = || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 4], vec![0; 4096]);
    let mut socket = udp::Socket::new(buffer(), buffer());
    socket.bind(port).unwrap();
    stack.sockets.add(socket)
}

/// Returns the bytes that each of the sockets could send.
pub fn udp_bytes<D: HasNic>(device: D, sockets: u16) -> Vec<u64> {
    let (mut near, mut far) = (Stack::new(device, 1), Stack::new(Nic::default(), 2));
    let handles: Vec<_> = (0..sockets)
        .map(|number| udp_socket(&mut near, 1000 + number))
        .collect();
    udp_socket(&mut far, 9);
    let mut taken = vec![0; handles.len()];
    run(&mut near, &mut far, |near, _| {
        for (handle, taken) in handles.iter().zip(&mut taken) {
            let socket = near.sockets.get_mut::<udp::Socket>(*handle);
            let to = (IpAddress::v4(10, 0, 0, 2), 9);
            while socket.can_send() && socket.send_slice(&[1; 1000], to).is_ok() {
                *taken += 1000;
            }
        }
    });
    taken
}

/// The link was busy, and the minimum is at least half of the mean.
fn assert_shared(bytes: &[u64]) {
    let mean = bytes.iter().sum::<u64>() / bytes.len() as u64;
    let least = bytes.iter().min().copied().unwrap_or(0);
    assert!(least * 2 >= mean, "{least} of a mean of {mean}: {bytes:?}");
    // Headers and the start take some; 20 Mbit/s are 10 MB in 4 s.
    let total = bytes.iter().sum::<u64>();
    assert!(total > 8_000_000, "{total} bytes");
}

#[test]
fn tcp_sockets_share_the_link() {
    assert_shared(&tcp_bytes(
        builder().build(Instant::ZERO).unwrap(),
        10,
        64 << 10,
    ));
    assert_shared(&tcp_bytes(
        builder().build(Instant::ZERO).unwrap(),
        100,
        16 << 10,
    ));
}

#[test]
fn udp_sockets_share_the_link() {
    assert_shared(&udp_bytes(builder().build(Instant::ZERO).unwrap(), 10));
    assert_shared(&udp_bytes(builder().build(Instant::ZERO).unwrap(), 100));
}
