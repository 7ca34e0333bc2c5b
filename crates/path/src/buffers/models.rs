//! Model checks of the store of buffers: one thread stores, another takes.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p taut-path --lib buffers::models`

use loom::thread;

use super::Buffers;
use crate::packet::Frame;
use crate::pool::PoolError;

type Take = fn(&Buffers<u32>, Frame) -> Result<u32, PoolError>;

/// Broken on purpose: the frame is free before its buffer was taken.
fn free_then_take(buffers: &Buffers<u32>, frame: Frame) -> Result<u32, PoolError> {
    let index = frame.index();
    let _ = buffers.free.push(index);
    let buffer = buffers.slots[index as usize].pop();
    buffer.map_err(|_| PoolError::NotTaken { index })
}

/// A frame is taken while another thread stores a buffer in it, if it is free.
fn take_while_put(take: Take) {
    loom::model(move || {
        let buffers = std::sync::Arc::new(Buffers::new(1));
        let frame = buffers.put(1).expect("free");
        let putting = {
            let buffers = buffers.clone();
            thread::spawn(move || buffers.put(2))
        };
        let taken = take(&buffers, frame);
        let put = putting.join().expect("it does not panic");
        assert_eq!(taken, Ok(1), "another packet's buffer was taken");
        match put {
            Ok(frame) => assert_eq!(buffers.take(frame), Ok(2)),
            Err(rejected) => assert_eq!(rejected, 2, "the store was full"),
        }
        let frame = buffers.put(3).expect("a frame was lost");
        assert_eq!(buffers.take(frame), Ok(3));
    });
}

#[test]
fn concurrent_put_and_take_lose_nothing() {
    take_while_put(Buffers::take);
}

#[test]
#[should_panic(expected = "a frame was lost")]
fn frame_freed_before_its_buffer_is_detected() {
    take_while_put(free_then_take);
}

#[test]
fn concurrent_double_take_returns_one_buffer() {
    loom::model(|| {
        let buffers = std::sync::Arc::new(Buffers::new(2));
        let frame = buffers.put(7).expect("free");
        let (other, forged) = (buffers.clone(), Frame::new(frame.index()));
        let taking = thread::spawn(move || other.take(forged));
        let ours = buffers.take(frame);
        let theirs = taking.join().expect("it does not panic");
        let stale = Err(PoolError::NotTaken { index: 0 });
        assert!((ours == Ok(7) && theirs == stale) || (ours == stale && theirs == Ok(7)));
        // Both frames are free, and each only once.
        assert_eq!(
            [1, 2, 3].map(|number| buffers.put(number).is_ok()),
            [true, true, false]
        );
    });
}
