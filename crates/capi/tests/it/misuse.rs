//! Misuse by a C program is reported, and changes nothing.

use std::mem::MaybeUninit;
use std::ptr::{null, null_mut};

use taut_dql_capi::*;

const OK: Status = Status::Ok;

fn made() -> Dql {
    let mut dql = MaybeUninit::<Dql>::zeroed();
    // SAFETY: memory for one; zeros are plain words.
    unsafe {
        assert_eq!(taut_dql_init(dql.as_mut_ptr(), null(), 0), OK);
        dql.assume_init()
    }
}

fn read(dql: &Dql) -> Snapshot {
    let mut snapshot = Snapshot::default();
    // SAFETY: both exist.
    assert_eq!(unsafe { taut_dql_read(dql, &raw mut snapshot) }, OK);
    snapshot
}

#[test]
fn null_and_foreign_memory_are_reported() {
    let mut zeros = MaybeUninit::<Dql>::zeroed();
    let (nothing, foreign) = (null_mut::<Dql>(), zeros.as_mut_ptr());
    let odd = foreign.cast::<u8>().wrapping_add(1).cast::<Dql>();
    // SAFETY: null, words that are not an estimator, and an unaligned address within them.
    unsafe {
        for (dql, status) in [
            (nothing, Status::Null),
            (foreign, Status::NotInitialised),
            (odd, Status::Misaligned),
        ] {
            assert_eq!(taut_dql_queued(dql, 1), status);
            assert_eq!(taut_dql_completed(dql, 1, 0), status);
            assert_eq!(taut_dql_reset(dql, 0), status);
            assert_eq!(taut_dql_room(dql), i32::MIN);
            assert_eq!(taut_dql_repair(dql, 0, 0, null_mut()), status);
        }
        assert_eq!(
            taut_dql_read(&raw const *made_box(), null_mut()),
            Status::Null
        );
        assert_eq!(taut_dql_init(odd, null(), 0), Status::Misaligned);
    }
}

fn made_box() -> Box<Dql> {
    Box::new(made())
}

#[test]
fn unavailable_counters_are_ignored() {
    let mut dql = made();
    let at = &raw mut dql;
    // SAFETY: it is an estimator.
    unsafe {
        assert_eq!(taut_dql_queued(at, 1000), OK);
        assert_eq!(taut_dql_queued(at, u32::MAX), Status::ObjectTooLarge);
        assert_eq!(taut_dql_completed(at, 1001, 1), Status::OverCompletion);
        assert_eq!(taut_dql_unqueue(at, 999), Status::NotQueuedLast);
        assert_eq!(taut_dql_set_limit(at, u32::MAX), Status::LimitTooLarge);
        assert_eq!(taut_dql_set_limit_max(at, 10), OK);
        assert_eq!(taut_dql_set_limit_min(at, 11), Status::MinAboveMax);
    }
    let now = read(&dql);
    assert_eq!(
        (now.in_flight, now.num_completed, now.limit_min),
        (1000, 0, 0)
    );
}

#[test]
fn estimator_can_be_moved_by_copying() {
    let mut dql = made();
    // SAFETY: it is an estimator.
    unsafe { assert_eq!(taut_dql_queued(&raw mut dql, 1000), OK) };
    let mut moved = dql;
    let mut done = 0;
    // SAFETY: the copy is an estimator.
    unsafe {
        assert_eq!(
            taut_dql_observe_in_flight(&raw mut moved, 400, 1, &raw mut done),
            OK
        );
    }
    assert_eq!((done, read(&moved).in_flight), (600, 400));
}

#[test]
fn every_status_and_outcome_has_a_text() {
    let text = |at: *const std::ffi::c_char| {
        // SAFETY: a string of the library.
        unsafe { std::ffi::CStr::from_ptr(at) }
            .to_str()
            .expect("UTF-8")
    };
    let known: Vec<_> = (0..=25).map(|it| text(taut_status_text(-it))).collect();
    let distinct: std::collections::BTreeSet<_> = known.iter().collect();
    assert_eq!(distinct.len(), known.len());
    for unknown in [1, -26, i32::MIN, i32::MAX] {
        assert_eq!(text(taut_status_text(unknown)), "unknown status");
    }
    let reasons = taut_path::DropReason::ALL.map(taut_path::DropReason::name);
    let outcomes: Vec<_> = (1..TAUT_OUTCOME_UNKNOWN_COMPLETION)
        .map(|it| text(taut_outcome_text(it)))
        .collect();
    assert_eq!(outcomes, reasons);
    assert_eq!(text(taut_version()), env!("CARGO_PKG_VERSION"));
}

unsafe extern "C" fn ten(_state: *mut std::ffi::c_void, _batch: *const LimitBatch) -> u32 {
    10
}

#[test]
fn a_limit_in_the_callers_memory_allocates_nothing() {
    let functions = LimitFunctions {
        begin: None,
        limit: None,
        completed: Some(ten),
        reset: None,
        in_packets: false,
    };
    // SAFETY: strings, and functions that use no state.
    let registered = unsafe {
        taut_limit_register(c"ten".as_ptr(), c"ten".as_ptr(), &raw const functions, 1024)
    };
    assert_eq!(registered, OK);
    let mut memory = vec![0_u128; 1024];
    let (at, bytes) = (
        memory.as_mut_ptr().cast::<std::ffi::c_void>(),
        memory.len() * 16,
    );
    for spec in [c"dql", c"taut:99%", c"40k", c"32p", c"taut:2ms", c"ten:2ms"] {
        let used = allocation_counter::measure(|| {
            let limit = at.cast::<Limit>();
            // SAFETY: aligned memory of that size, and the limit created in it.
            unsafe {
                assert!(taut_limit_size(spec.as_ptr()) <= bytes);
                let made = taut_limit_init(at, bytes, spec.as_ptr(), 0, null_mut(), 0);
                assert_eq!(made, OK);
                for round in 1..500 {
                    while taut_limit_room(limit) >= 0 && taut_limit_in_flight(limit) < 100_000 {
                        assert_eq!(taut_limit_queued(limit, 1, round * 1000), OK);
                    }
                    assert_eq!(taut_limit_blocked(limit), OK);
                    assert_eq!(
                        taut_limit_completed(limit, 1, false, round * 1000 + 500),
                        OK
                    );
                }
            }
        });
        assert_eq!(used.count_total, 0, "{spec:?}");
    }
}

#[test]
fn invalid_limit_has_a_reason() {
    let mut memory = [0_u128; 1024];
    let at = memory.as_mut_ptr().cast::<std::ffi::c_void>();
    let odd = at.wrapping_byte_add(8);
    for (to, bytes, spec, status, part) in [
        (null_mut(), 16_384, c"dql", Status::Null, "null"),
        (odd, 16_000, c"dql", Status::Misaligned, "aligned"),
        (at, 24, c"dql", Status::TooSmall, "small"),
        (at, 16_384, c"dql:2", Status::BadSpec, "dql:2ms"),
        (at, 16_384, c"\xff", Status::BadSpec, "unknown discipline"),
    ] {
        let mut error = [1_u8; 300];
        // SAFETY: the memory has the given length, or is not used; the texts are strings.
        let made = unsafe {
            let error = error.as_mut_ptr().cast();
            taut_limit_init(to, bytes, spec.as_ptr(), 0, error, 300)
        };
        assert_eq!(made, status);
        let error = std::ffi::CStr::from_bytes_until_nul(&error).expect("a zero");
        let error = error.to_str().expect("UTF-8");
        assert!(error.contains(part), "{spec:?}: {error:?}");
    }
}

#[test]
fn a_clock_that_jumps_ends_no_program() {
    let mut memory = [0_u128; 1024];
    let at = memory.as_mut_ptr().cast::<std::ffi::c_void>();
    for spec in [c"dql:2ms", c"taut:99.5%:2ms", c"taut"] {
        let limit = at.cast::<Limit>();
        // SAFETY: aligned memory of that size, and the limit created in it.
        unsafe {
            assert_eq!(
                taut_limit_init(at, 16_384, spec.as_ptr(), 0, null_mut(), 0),
                OK
            );
            for at_ns in [0, 1 << 63, 0, 1 << 63, 0, 1 << 63, u64::MAX, 0, u64::MAX] {
                assert_eq!(taut_limit_queued(limit, 1500, at_ns), OK);
                assert_eq!(taut_limit_blocked(limit), OK);
                assert_eq!(taut_limit_completed(limit, 1500, false, at_ns), OK);
            }
        }
    }
}

#[test]
fn reserved_field_must_be_zero() {
    let mut config = Config::from(taut_dql::Config::default());
    config.reserved = 7;
    let mut dql = made();
    // SAFETY: both exist.
    unsafe {
        assert_eq!(
            taut_dql_init(&raw mut dql, &raw const config, 0),
            Status::BadField
        );
    }
    assert_eq!(taut_version_number(), TAUT_VERSION_NUMBER);
}
