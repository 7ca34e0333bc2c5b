//! A thread that hands packets in.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Waker;
use std::thread;

use taut_path::queue::many::{Refused, Submitter};

use super::halves::Threads;
use super::sleeper::{Sleeper, WaitsFor};

/// Hands in packets until the owner takes no more.
pub fn submit(submitter: &Submitter, threads: &Threads, sleeper: &Arc<Sleeper>) {
    let mut waiter = submitter.waiter(Waker::from(sleeper.clone()));
    let mut kept = None;
    while !threads.control.is_stopped() {
        let Some(packet) = kept.take().or_else(|| threads.frames.packet()) else {
            // Every frame is on the path.
            thread::yield_now();
            continue;
        };
        match submitter.offer(packet) {
            Ok(()) => {
                threads.counts.taken_packets.fetch_add(1, Ordering::Relaxed);
            }
            Err(Refused::NoRoom(no_room)) => {
                kept = Some(no_room.0);
                if waiter.must_wait() {
                    sleeper.sleep(WaitsFor::SubmitRoom);
                }
            }
            Err(Refused::Closed(packet)) => {
                kept = Some(packet);
                break;
            }
        }
    }
    // It was refused, so nobody counted it.
    if let Some(packet) = kept {
        threads.frames.give_back(packet);
    }
}
