//! The settings of a queue under their sysfs names.

use crate::support::Bench;
use taut_dql::MAX_LIMIT;
use taut_path::limit::{Dynamic, Fixed};
use taut_path::tunables::{Setting, Tunable, TunableError};

fn bench() -> Bench<Dynamic> {
    Bench::new(Dynamic::default(), 64)
}

/// Writes a tunable as an operator does.
fn write<L: taut_path::Limit>(
    bench: &mut Bench<L>,
    tunable: Tunable,
    text: &str,
) -> Result<(), TunableError> {
    bench.queue.set(tunable.parse(text)?)
}

fn values<L: taut_path::Limit>(bench: &Bench<L>) -> Vec<u64> {
    let read = |tunable: Tunable| bench.queue.read(tunable);
    Tunable::ALL.into_iter().map(read).collect()
}

#[test]
fn names_are_those_of_sysfs() {
    let names = Tunable::ALL.map(Tunable::name);
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
    for tunable in Tunable::ALL {
        assert_eq!(Tunable::by_name(tunable.name()), Ok(tunable));
    }
    assert_eq!(Tunable::by_name("Limit"), Err(TunableError::UnknownName));
    let message = TunableError::UnknownName.to_string();
    assert!(sysfs.iter().all(|name| message.contains(name)));
}

#[test]
fn defaults_are_those_of_the_kernel() {
    let max = u64::from(MAX_LIMIT);
    assert_eq!(values(&bench()), [0, 0, max, 1_000, 0, 1_000, 0, 0]);
}

#[test]
fn allowed_values_match_the_code() {
    let most = |tunable: Tunable| {
        let text = tunable.allowed().trim_start_matches("0 to ");
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        text[..digits].parse::<u64>().expect("a number")
    };
    for tunable in [Tunable::Limit, Tunable::LimitMin, Tunable::LimitMax] {
        assert_eq!(most(tunable), u64::from(MAX_LIMIT));
    }
    for tunable in [Tunable::HoldTimeMs, Tunable::StallThresholdMs] {
        assert_eq!(most(tunable), u64::from(u32::MAX));
    }
    // From the upper bound down, so that min never exceeds it.
    for tunable in [
        Tunable::LimitMax,
        Tunable::Limit,
        Tunable::HoldTimeMs,
        Tunable::StallThresholdMs,
        Tunable::LimitMin,
    ] {
        for value in [most(tunable), 0] {
            let mut bench = bench();
            let set = write(&mut bench, tunable, &value.to_string());
            assert_eq!(set, Ok(()), "{tunable:?} {value}");
            assert_eq!(bench.queue.read(tunable), value);
        }
        let above = (most(tunable) + 1).to_string();
        assert!(write(&mut bench(), tunable, &above).is_err());
    }
}

#[test]
fn max_is_the_largest_upper_bound_only() {
    let mut bench = bench();
    assert_eq!(write(&mut bench, Tunable::LimitMax, "5000"), Ok(()));
    assert_eq!(write(&mut bench, Tunable::LimitMax, "max\n"), Ok(()));
    assert_eq!(bench.queue.read(Tunable::LimitMax), u64::from(MAX_LIMIT));
    for tunable in [
        Tunable::Limit,
        Tunable::LimitMin,
        Tunable::HoldTimeMs,
        Tunable::StallThresholdMs,
    ] {
        assert_eq!(
            write(&mut bench, tunable, "max"),
            Err(TunableError::BadValue(tunable))
        );
    }
}

#[test]
fn rejected_value_lists_allowed_ones() {
    let mut bench = bench();
    bench.enqueue(1, 1_000);
    bench.run();
    assert_eq!(write(&mut bench, Tunable::LimitMax, "9000"), Ok(()));
    assert_eq!(write(&mut bench, Tunable::LimitMin, "800"), Ok(()));
    let before = values(&bench);
    for tunable in Tunable::ALL {
        for text in ["", "x", "-1", "1.5", "1k", "99999999999", "\u{661}"] {
            let error = write(&mut bench, tunable, text).expect_err(text);
            let message = error.to_string();
            assert!(message.contains(tunable.name()), "{message}");
            let hint = if tunable.allowed().contains("read only") {
                "only be read"
            } else {
                tunable.allowed()
            };
            assert!(message.contains(hint), "{message}");
        }
    }
    let crossed = [(Tunable::LimitMin, "9001"), (Tunable::LimitMax, "799")];
    for (tunable, text) in crossed {
        let error = write(&mut bench, tunable, text);
        assert!(
            matches!(error, Err(TunableError::Rejected(..))),
            "{error:?}"
        );
    }
    assert_eq!(values(&bench), before);
}

#[test]
fn read_only_tunable_rejects_every_value() {
    let mut bench = bench();
    for tunable in [Tunable::Inflight, Tunable::StallCnt, Tunable::StallMax] {
        for text in ["0", "5", "rubbish"] {
            let rejected = write(&mut bench, tunable, text);
            assert_eq!(rejected, Err(TunableError::ReadOnly(tunable)));
        }
    }
}

#[test]
fn inflight_is_queued_minus_reported() {
    let mut bench = Bench::new(Fixed::off(), 64);
    bench.enqueue(5, 1_000);
    bench.run();
    bench.complete(2);
    assert_eq!(bench.queue.read(Tunable::Inflight), 3_000);
}

#[test]
fn explicit_limit_applies_from_the_next_completion() {
    let mut bench = bench();
    bench.enqueue(100, 1_000);
    bench.run();
    assert_eq!(bench.in_ring(), 1);
    for tunable in [Tunable::LimitMax, Tunable::LimitMin] {
        assert_eq!(write(&mut bench, tunable, "7500"), Ok(()));
    }
    bench.run();
    assert_eq!(bench.in_ring(), 1, "not before a completion");
    assert!(bench.complete(1).schedule);
    bench.run();
    assert_eq!(bench.in_ring(), 8, "7,500 and one packet more");
}

#[test]
fn fixed_limit_has_one_value_and_three_names() {
    let mut bench = Bench::new(Fixed::packets(4), 64);
    bench.enqueue(50, 60);
    bench.run();
    for (tunable, depth) in [
        (Tunable::Limit, 9),
        (Tunable::LimitMax, 2),
        (Tunable::LimitMin, 6),
    ] {
        let text = depth.to_string();
        assert_eq!(write(&mut bench, tunable, &text), Ok(()));
        while bench.in_ring() > 0 {
            bench.complete(usize::MAX);
        }
        bench.run();
        assert_eq!(bench.in_ring(), depth);
        for tunable in [Tunable::Limit, Tunable::LimitMin, Tunable::LimitMax] {
            assert_eq!(bench.queue.read(tunable), depth as u64);
        }
    }
    let above = (MAX_LIMIT + 1).to_string();
    let rejected = write(&mut bench, Tunable::LimitMax, &above);
    assert!(matches!(rejected, Err(TunableError::Rejected(..))));
}

#[test]
fn stall_threshold_is_in_milliseconds() {
    let mut bench = Bench::new(Fixed::off(), 8);
    assert_eq!(write(&mut bench, Tunable::StallThresholdMs, "3"), Ok(()));
    bench.enqueue(1, 60);
    bench.run();
    bench.now_ns = 3_000_000 - 1_000;
    bench.complete(0);
    assert_eq!(bench.queue.read(Tunable::StallCnt), 0, "not above 3 ms");
    bench.now_ns = 8_000_000;
    bench.complete(0);
    assert_eq!(bench.queue.read(Tunable::StallCnt), 1);
    assert_eq!(bench.queue.read(Tunable::StallMax), 8);
}

#[test]
fn setting_has_its_tunable_and_value() {
    for tunable in [
        Tunable::Limit,
        Tunable::LimitMin,
        Tunable::LimitMax,
        Tunable::HoldTimeMs,
        Tunable::StallThresholdMs,
    ] {
        let setting = Setting { tunable, value: 7 };
        assert_eq!(tunable.parse("7"), Ok(setting));
        let mut bench = bench();
        assert_eq!(bench.queue.set(setting), Ok(()));
        assert_eq!(bench.queue.read(tunable), 7);
    }
    for tunable in [Tunable::Inflight, Tunable::StallCnt, Tunable::StallMax] {
        let rejected = bench().queue.set(Setting { tunable, value: 7 });
        assert_eq!(rejected, Err(TunableError::ReadOnly(tunable)));
    }
}
