//! Model checks of the pool of frames: what two threads can do with one frame.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --lib pool::models`

use loom::thread;

use super::{FramePool, PoolError};
use crate::packet::Frame;
use crate::sharing::Word;
use taut_dql::sync::Ordering;

type Release = fn(&FramePool, Frame) -> Result<(), PoolError>;

/// Broken on purpose: checks the flag and then clears it, in two steps.
fn check_then_write(pool: &FramePool, frame: Frame) -> Result<(), PoolError> {
    let state = pool.state(&frame)?;
    let was_taken = state.is_taken.load(Ordering::Acquire);
    state.is_taken.store(false, Ordering::Release);
    if !was_taken {
        pool.shared.rejected_frames.add(1);
        let index = frame.index();
        return Err(PoolError::NotTaken { index });
    }
    let _ = pool.shared.free.push(frame.index());
    Ok(())
}

/// Two handles of one frame are released at the same time.
fn release_twice(release: Release) {
    loom::model(move || {
        let pool = FramePool::new(1, 4);
        let frame = pool.take().expect("free");
        let other = pool.clone();
        let giving = thread::spawn(move || release(&other, Frame::new(0)).is_ok());
        let gave = release(&pool, frame).is_ok();
        let other_gave = giving.join().expect("it does not panic");
        assert!(gave != other_gave, "one frame was released twice");
        assert_eq!((pool.free_frames(), pool.rejected_frames()), (1, 1));
    });
}

#[test]
fn concurrent_double_release_is_rejected() {
    release_twice(FramePool::release);
}

#[test]
#[should_panic(expected = "one frame was released twice")]
fn check_then_write_pool_is_detected() {
    release_twice(check_then_write);
}

#[test]
fn concurrent_borrows_never_see_partial_bytes() {
    loom::model(|| {
        let pool = FramePool::new(1, 2);
        let frame = pool.take().expect("free");
        let other = pool.clone();
        let work = |pool: &FramePool, frame: &Frame, mark: u8| {
            pool.with(frame, |bytes| {
                let whole = bytes[0] == bytes[1];
                bytes[0] = mark;
                thread::yield_now();
                bytes[1] = mark;
                whole
            })
        };
        let working = thread::spawn(move || work(&other, &Frame::new(0), 1));
        let ours = work(&pool, &frame, 2);
        let theirs = working.join().expect("it does not panic");
        for seen in [ours, theirs] {
            assert!(matches!(
                seen,
                Ok(true) | Err(PoolError::InUse { index: 0 })
            ));
        }
        // The thread that was rejected left the bytes in place.
        assert!(work(&pool, &frame, 3).is_ok());
        let _ = pool.release(frame);
    });
}

#[test]
fn released_frame_is_complete_for_its_next_owner() {
    loom::model(|| {
        let pool = FramePool::new(1, 1);
        let frame = pool.take().expect("free");
        let other = pool.clone();
        let giving = thread::spawn(move || {
            other.with(&frame, |bytes| bytes[0] = 7).expect("ours");
            other.release(frame).expect("it is out");
        });
        if let Some(frame) = pool.take() {
            assert_eq!(pool.with(&frame, |bytes| bytes[0]), Ok(7));
            let _ = pool.release(frame);
        }
        giving.join().expect("it does not panic");
        assert_eq!(pool.free_frames(), 1);
    });
}
