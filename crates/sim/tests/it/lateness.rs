//! A late loop sees the same events at the same times as a punctual one.

use crate::support::{Event, Saturated, nic, packet};
use taut_sim::nic::{InterruptRule, RareGap};
use taut_sim::single_queue_bench::Rule;

const END_NS: u64 = 200_000_000;

fn interrupts() -> InterruptRule {
    InterruptRule {
        period_ns: 100_000,
        packets: Some(37),
        jitter_ns: 60_000,
        rare_gap: Some(RareGap {
            one_in: 50,
            gap_ns: 900_000,
        }),
    }
}

/// Returns the events of a run whose loop is called at the times from `next_ns`.
fn events(rule: &Rule, next_ns: impl Fn(&Saturated, u64) -> u64) -> Vec<Event> {
    let make = |frame| packet(frame, 60 + frame * 7_919 % 1_455);
    let mut run = Saturated::new(rule, nic(1_000_000_000, interrupts()), make);
    run.record = true;
    let mut now_ns = 0;
    while now_ns < END_NS {
        now_ns = next_ns(&run, now_ns).min(END_NS);
        run.advance(now_ns);
    }
    run.events
}

fn compare(rule: &Rule) {
    let in_time = events(rule, |run, now_ns| {
        let event_ns = run.queue.device().next_event_ns();
        let timer_ns = run.queue.next_wakeup();
        let next = event_ns.into_iter().chain(timer_ns).min();
        next.expect("the wire is busy").max(now_ns)
    });
    let interrupts = |events: &[Event]| {
        let interrupt = |event: &&Event| matches!(event, Event::Interrupt(_));
        events.iter().filter(interrupt).count()
    };
    assert!(in_time.len() > 10_000 && interrupts(&in_time) > 100);
    let late = events(rule, |_, now_ns| now_ns + 10_000_000);
    assert!(in_time == late, "a late loop saw other events");
    let irregular = events(rule, |_, now_ns| now_ns + 1 + now_ns * 31 % 3_000_017);
    assert!(in_time == irregular, "an irregular loop saw other events");
}

#[test]
fn late_loop_sees_the_same_events() {
    compare(&Rule::dql());
    compare(&Rule {
        coalesce_ns: 333_000,
        ..Rule::dql()
    });
    compare(&Rule::off());
}

#[test]
fn events_come_in_nominal_order() {
    let events = events(&Rule::dql(), |_, now_ns| now_ns + 10_000_000);
    let time = |event: &Event| match *event {
        Event::Sent(ns) | Event::Interrupt(ns) | Event::Timer(ns) => ns,
    };
    assert!(events.is_sorted_by_key(time));
    assert!(events.iter().all(|event| time(event) <= END_NS));
}
