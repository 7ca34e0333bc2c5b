//! Frames with their bytes.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use taut_path::pool::{FramePool, PoolError};
use taut_path::{DropReason, Frame, Packet, PacketSink};

#[test]
fn each_frame_is_taken_once() {
    let pool = FramePool::new(5, 8);
    let frames: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
    let indices: HashSet<_> = frames.iter().map(Frame::index).collect();
    assert_eq!((frames.len(), indices.len(), pool.free_frames()), (5, 5, 0));
    for frame in frames {
        pool.release(frame).expect("it is out");
    }
    assert_eq!(pool.free_frames(), 5);
}

#[test]
fn frames_never_share_bytes() {
    let pool = FramePool::new(4, 16);
    let frames: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
    for frame in &frames {
        pool.with(frame, |bytes| bytes.fill(frame.index() as u8 + 1))
            .expect("one handle");
    }
    for frame in &frames {
        let expected = [frame.index() as u8 + 1; 16];
        assert_eq!(pool.with(frame, |bytes| bytes == expected), Ok(true));
    }
}

#[test]
fn double_release_is_rejected() {
    let pool = FramePool::new(2, 8);
    let frame = pool.take().expect("free");
    let forged = Frame::new(frame.index());
    assert_eq!(pool.release(frame), Ok(()));
    let index = forged.index();
    assert_eq!(pool.release(forged), Err(PoolError::NotTaken { index }));
    assert_eq!(pool.free_frames(), 2);
    assert_eq!(pool.rejected_frames(), 1);
}

#[test]
fn frame_of_another_pool_is_rejected() {
    let pool = FramePool::new(2, 8);
    let rejected = pool.release(Frame::new(9)).expect_err("it has two");
    assert_eq!(
        rejected.to_string(),
        "frame 9 is not of this pool, which has 2 frames, counted from 0"
    );
    let strange = Frame::new(9);
    assert_eq!(
        pool.with(&strange, |_| ()),
        Err(PoolError::NoSuchFrame {
            index: 9,
            frames: 2
        })
    );
    assert_eq!((pool.rejected_frames(), pool.free_frames()), (1, 2));
}

#[test]
fn two_handles_cannot_borrow_one_frame() {
    let pool = FramePool::new(1, 8);
    let frame = pool.take().expect("free");
    let forged = Frame::new(0);
    let inner = pool.with(&frame, |_| pool.with(&forged, |_| ()));
    assert_eq!(inner, Ok(Err(PoolError::InUse { index: 0 })));
    assert_eq!(pool.with(&forged, |bytes| bytes.len()), Ok(8));
    let _ = pool.release(frame);
    assert_eq!(
        pool.with(&forged, |_| ()),
        Err(PoolError::NotTaken { index: 0 })
    );
}

#[test]
fn frame_released_while_lent_is_free_afterwards() {
    let pool = FramePool::new(1, 8);
    let frame = pool.take().expect("free");
    let worked = pool.with(&frame, |_| {
        pool.release(Frame::new(0)).expect("it is out");
        let again = pool.take().expect("it is free");
        let busy = pool.packet(b"x");
        (again, busy.is_err(), pool.rejected_frames())
    });
    let (again, all_taken, rejected) = worked.expect("one handle at first");
    assert_eq!((all_taken, rejected), (true, 0));
    assert_eq!(pool.with(&again, |bytes| bytes.len()), Ok(8));
}

#[test]
fn lent_bytes_return_after_a_panic() {
    let pool = FramePool::new(1, 8);
    let frame = pool.take().expect("free");
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _ = pool.with(&frame, |_| panic!("on purpose"));
    }));
    assert!(panicked.is_err());
    assert_eq!(pool.with(&frame, |bytes| bytes.len()), Ok(8));
}

#[test]
fn failed_packet_creation_leaks_no_frame() {
    let pool = FramePool::new(1, 4);
    let too_long = pool.packet(b"hello").expect_err("5 bytes");
    assert_eq!(
        too_long.to_string(),
        "5 bytes are too long; a frame holds 4"
    );
    let packet = pool.packet(b"four").expect("free");
    assert_eq!(packet.wire_bytes(), 4);
    assert_eq!(
        pool.packet(b"x").map(|_| ()),
        Err(PoolError::Empty { frames: 1 })
    );
    let _ = pool.release(packet.into_frame());
    assert_eq!(pool.free_frames(), 1);
}

#[test]
fn sink_keeps_frames_of_unknown_completions() {
    let mut pool = FramePool::new(4, 8);
    let packet = || pool.packet(b"x").expect("free");
    let packets = [packet(), packet(), packet()];
    let [freed, dropped, kept] = packets;
    let mut sink = pool.clone();
    // A forged packet while the real one still exists.
    sink.unknown_completion(Packet::new(Frame::new(kept.frame().index()), 1));
    assert_eq!(pool.free_frames(), 1, "a frame would be used twice");
    sink.freed(freed);
    sink.dropped(dropped, DropReason::WaitedTooLong);
    sink.freed(kept);
    // A duplicate completion that is not detected.
    sink.freed(Packet::new(Frame::new(0), 1));
    assert_eq!((pool.rejected_frames(), pool.free_frames()), (1, 4));
    pool.unknown_completion(Packet::new(Frame::new(0), 1));
}

#[test]
fn threads_never_share_a_frame() {
    const TURNS: u32 = 5_000;
    let pool = FramePool::new(3, 4);
    thread::scope(|scope| {
        for mark in 1..=3u8 {
            let pool = pool.clone();
            scope.spawn(move || {
                for _ in 0..TURNS {
                    // There are as many frames as threads.
                    let frame = pool.take().expect("one for each");
                    pool.with(&frame, |bytes| bytes.fill(mark)).expect("ours");
                    thread::yield_now();
                    let ours = pool.with(&frame, |bytes| bytes == [mark; 4]);
                    assert_eq!(ours, Ok(true));
                    pool.release(frame).expect("it is out");
                }
            });
        }
    });
    assert_eq!(pool.free_frames(), 3);
    assert_eq!(pool.rejected_frames(), 0);
}
