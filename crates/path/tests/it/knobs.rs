//! The settings of a queue under their sysfs names.

use crate::support::Bench;
use taut_dql::MAX_LIMIT;
use taut_path::knobs::{Knob, KnobError, Setting};
use taut_path::limit::{Dynamic, Fixed};

fn bench() -> Bench<Dynamic> {
    Bench::new(Dynamic::default(), 64)
}

/// As an operator writes it.
fn write<L: taut_path::Limit>(
    bench: &mut Bench<L>,
    knob: Knob,
    text: &str,
) -> Result<(), KnobError> {
    bench.queue.set(knob.parse(text)?)
}

fn values<L: taut_path::Limit>(bench: &Bench<L>) -> Vec<u64> {
    let read = |knob: Knob| bench.queue.read(knob);
    Knob::ALL.into_iter().map(read).collect()
}

#[test]
fn the_names_are_those_of_sysfs() {
    let names = Knob::ALL.map(Knob::name);
    let sysfs = [
        "limit",
        "limit_min",
        "limit_max",
        "hold_time",
        "inflight",
        "stall_thrs",
        "stall_cnt",
        "stall_max",
    ];
    assert_eq!(names, sysfs);
    for knob in Knob::ALL {
        assert_eq!(Knob::by_name(knob.name()), Ok(knob));
    }
    assert_eq!(Knob::by_name("Limit"), Err(KnobError::UnknownName));
    let message = KnobError::UnknownName.to_string();
    assert!(sysfs.iter().all(|name| message.contains(name)));
}

#[test]
fn the_defaults_are_those_of_the_kernel_and_a_stall_of_a_second() {
    let max = u64::from(MAX_LIMIT);
    assert_eq!(values(&bench()), [0, 0, max, 1_000, 0, 1_000, 0, 0]);
}

#[test]
fn what_is_allowed_is_what_the_code_takes() {
    let most = |knob: Knob| {
        let text = knob.allowed().trim_start_matches("0 to ");
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        text[..digits].parse::<u64>().expect("a number")
    };
    for knob in [Knob::Limit, Knob::LimitMin, Knob::LimitMax] {
        assert_eq!(most(knob), u64::from(MAX_LIMIT));
    }
    for knob in [Knob::HoldTime, Knob::StallThrs] {
        assert_eq!(most(knob), u64::from(u32::MAX));
    }
    // From the upper bound down, so that min never exceeds it.
    for knob in [
        Knob::LimitMax,
        Knob::Limit,
        Knob::HoldTime,
        Knob::StallThrs,
        Knob::LimitMin,
    ] {
        for value in [most(knob), 0] {
            let mut bench = bench();
            let set = write(&mut bench, knob, &value.to_string());
            assert_eq!(set, Ok(()), "{knob:?} {value}");
            assert_eq!(bench.queue.read(knob), value);
        }
        let above = (most(knob) + 1).to_string();
        assert!(write(&mut bench(), knob, &above).is_err());
    }
}

#[test]
fn the_word_max_is_the_largest_upper_bound_and_nothing_else() {
    let mut bench = bench();
    assert_eq!(write(&mut bench, Knob::LimitMax, "5000"), Ok(()));
    assert_eq!(write(&mut bench, Knob::LimitMax, "max\n"), Ok(()));
    assert_eq!(bench.queue.read(Knob::LimitMax), u64::from(MAX_LIMIT));
    for knob in [Knob::Limit, Knob::LimitMin, Knob::HoldTime, Knob::StallThrs] {
        assert_eq!(
            write(&mut bench, knob, "max"),
            Err(KnobError::BadValue(knob))
        );
    }
}

#[test]
fn a_bad_value_is_refused_with_what_is_allowed_and_changes_nothing() {
    let mut bench = bench();
    bench.enqueue(1, 1_000);
    bench.run();
    assert_eq!(write(&mut bench, Knob::LimitMax, "9000"), Ok(()));
    assert_eq!(write(&mut bench, Knob::LimitMin, "800"), Ok(()));
    let before = values(&bench);
    for knob in Knob::ALL {
        for text in ["", "x", "-1", "1.5", "1k", "99999999999", "\u{661}"] {
            let error = write(&mut bench, knob, text).expect_err(text);
            let told = error.to_string();
            assert!(told.contains(knob.name()), "{told}");
            let hint = if knob.allowed().contains("read only") {
                "only be read"
            } else {
                knob.allowed()
            };
            assert!(told.contains(hint), "{told}");
        }
    }
    let crossed = [(Knob::LimitMin, "9001"), (Knob::LimitMax, "799")];
    for (knob, text) in crossed {
        let error = write(&mut bench, knob, text);
        assert!(matches!(error, Err(KnobError::Refused(..))), "{error:?}");
    }
    assert_eq!(values(&bench), before);
}

#[test]
fn what_can_only_be_read_says_so_whatever_is_written() {
    let mut bench = bench();
    for knob in [Knob::Inflight, Knob::StallCnt, Knob::StallMax] {
        for text in ["0", "5", "rubbish"] {
            let refused = write(&mut bench, knob, text);
            assert_eq!(refused, Err(KnobError::ReadOnly(knob)));
        }
    }
}

#[test]
fn inflight_is_queued_minus_reported() {
    let mut bench = Bench::new(Fixed::off(), 64);
    bench.enqueue(5, 1_000);
    bench.run();
    bench.complete(2);
    assert_eq!(bench.queue.read(Knob::Inflight), 3_000);
}

#[test]
fn a_limit_set_by_hand_holds_from_the_next_completion_on() {
    let mut bench = bench();
    bench.enqueue(100, 1_000);
    bench.run();
    assert_eq!(bench.in_ring(), 1);
    for knob in [Knob::LimitMax, Knob::LimitMin] {
        assert_eq!(write(&mut bench, knob, "7500"), Ok(()));
    }
    bench.run();
    assert_eq!(bench.in_ring(), 1, "not before a completion");
    assert!(bench.complete(1).schedule);
    bench.run();
    assert_eq!(bench.in_ring(), 8, "7,500 and one packet more");
}

#[test]
fn a_fixed_limit_has_one_number_under_three_names() {
    let mut bench = Bench::new(Fixed::packets(4), 64);
    bench.enqueue(50, 60);
    bench.run();
    for (knob, depth) in [(Knob::Limit, 9), (Knob::LimitMax, 2), (Knob::LimitMin, 6)] {
        let text = depth.to_string();
        assert_eq!(write(&mut bench, knob, &text), Ok(()));
        while bench.in_ring() > 0 {
            bench.complete(usize::MAX);
        }
        bench.run();
        assert_eq!(bench.in_ring(), depth);
        for knob in [Knob::Limit, Knob::LimitMin, Knob::LimitMax] {
            assert_eq!(bench.queue.read(knob), depth as u64);
        }
    }
    let above = (MAX_LIMIT + 1).to_string();
    let refused = write(&mut bench, Knob::LimitMax, &above);
    assert!(matches!(refused, Err(KnobError::Refused(..))));
}

#[test]
fn the_stall_threshold_is_in_milliseconds_and_counts_stalls() {
    let mut bench = Bench::new(Fixed::off(), 8);
    assert_eq!(write(&mut bench, Knob::StallThrs, "3"), Ok(()));
    bench.enqueue(1, 60);
    bench.run();
    bench.now_ns = 3_000_000 - 1_000;
    bench.complete(0);
    assert_eq!(bench.queue.read(Knob::StallCnt), 0, "not above 3 ms");
    bench.now_ns = 8_000_000;
    bench.complete(0);
    assert_eq!(bench.queue.read(Knob::StallCnt), 1);
    assert_eq!(bench.queue.read(Knob::StallMax), 8);
}

#[test]
fn a_setting_says_which_knob_it_sets_and_to_what() {
    for (knob, setting) in [
        (Knob::Limit, Setting::Limit(7)),
        (Knob::LimitMin, Setting::LimitMin(7)),
        (Knob::LimitMax, Setting::LimitMax(7)),
        (Knob::HoldTime, Setting::HoldTimeMs(7)),
        (Knob::StallThrs, Setting::StallThresholdMs(7)),
    ] {
        assert_eq!(knob.parse("7"), Ok(setting));
        assert_eq!((setting.knob(), setting.value()), (knob, 7));
        let mut bench = bench();
        assert_eq!(bench.queue.set(setting), Ok(()));
        assert_eq!(bench.queue.read(knob), 7);
    }
}
