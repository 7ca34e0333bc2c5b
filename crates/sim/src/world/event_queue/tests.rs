//! Tests of the event queue.

use super::*;

#[test]
fn simultaneous_events_are_in_scheduling_order() {
    let mut event_queue = EventQueue::new();
    event_queue.schedule(0, 20, 'd');
    event_queue.schedule(0, 10, 'a');
    event_queue.schedule(0, 10, 'b');
    event_queue.schedule(0, 10, 'c');
    event_queue.schedule(0, 20, 'e');
    let mut order = String::new();
    while let Some((_, event)) = event_queue.next(u64::MAX) {
        order.push(event);
    }
    assert_eq!(order, "abcde");
    assert_eq!(event_queue.next_ns(), NEVER_NS);
}

#[test]
fn order_is_independent_of_the_distance() {
    let mut event_queue = EventQueue::<u64>::new();
    let mut due = Vec::new();
    let mut taken = Vec::new();
    let mut now_ns = 0;
    // From one nanosecond to some minutes in the future, many of them simultaneous.
    let mut random = 1_u64;
    for number in 0..20_000_u64 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let ahead_ns = (random >> 40 & 0xff) << (random >> 59);
        let at_ns = now_ns + ahead_ns;
        due.push((at_ns, number));
        event_queue.schedule(now_ns, at_ns, number);
        if number % 3 == 0
            && let Some(next) = event_queue.next(now_ns + (1 << 20))
        {
            assert!(event_queue.next_ns() >= next.0);
            now_ns = next.0;
            taken.push(next);
        }
    }
    while event_queue.next_ns() != NEVER_NS {
        taken.extend(event_queue.next(event_queue.next_ns()));
    }
    due.sort_unstable();
    assert_eq!(taken, due);
}

#[test]
fn events_after_the_requested_time_remain() {
    let mut event_queue = EventQueue::<u8>::new();
    event_queue.schedule(0, 5, 1);
    event_queue.schedule(0, 6, 2);
    assert_eq!(event_queue.next(4), None);
    assert_eq!(event_queue.next(5), Some((5, 1)));
    assert_eq!(event_queue.next(5), None);
}

#[test]
fn first_turn_orders_events_of_other_sources() {
    let mut event_queue = EventQueue::<u8>::new();
    let before = event_queue.take_turn(1);
    event_queue.schedule(2, 1 << 40, 1);
    let after = event_queue.take_turn(2);
    assert_eq!(event_queue.first_turn((1 << 40) - 1), None);
    let turn = event_queue.first_turn(1 << 40).expect("it is due");
    assert!(before < turn && turn < after);
    assert_eq!(event_queue.next(1 << 40), Some((1 << 40, 1)), "it stays");
}

#[test]
fn event_scheduled_for_the_past_is_due_now() {
    let mut event_queue = EventQueue::<u8>::new();
    event_queue.schedule(0, 9, 1);
    assert_eq!(event_queue.next(9), Some((9, 1)));
    event_queue.schedule(9, 3, 2);
    event_queue.schedule(9, 4, 3);
    assert_eq!(event_queue.next(u64::MAX), Some((9, 2)));
    assert_eq!(event_queue.next(u64::MAX), Some((9, 3)));
}
