//! Traces: their content, reading them back, and no panics.

use std::io::{self, Write};

use crate::support::file_with;
use proptest::prelude::*;
use taut_dql::Dql;
use taut_measure::trace::{
    BatchRecord, Event, Head, Line, PacketRecord, ReadError, Recorder, read,
};
use taut_path::DropReason;
use taut_path::limit::CompletedCounts;
use taut_path::queue::StopReason;
use taut_scenarios::error::ScenarioError;
use taut_scenarios::sweep::prepare;
use taut_scenarios::tracing::{Tap, write};

/// Traces a short run of a scenario.
fn traced(name: &str, replaced: &[(&str, &str)], rows: &str) -> Result<Vec<u8>, ScenarioError> {
    let text = file_with(name, replaced);
    let mut out = Vec::new();
    let run = prepare(&text, Some(3))?;
    let bytes = write(
        &*run,
        (Tap::Queue, rows),
        &mut out,
        &|| Ok(()),
        &mut |_, _, _| {},
    )?;
    assert_eq!(bytes, out.len() as u64);
    Ok(out)
}

fn lines(trace: &[u8]) -> Vec<Line> {
    let (head, lines) = read(trace).expect("a head");
    assert_eq!(
        (head.seed, head.taut_version.as_str()),
        (3, env!("CARGO_PKG_VERSION"))
    );
    lines.map(|line| line.expect("a line")).collect()
}

/// Replays queued and completed units through the estimator alone. Returns how often the limit was
/// compared and the number of different limits.
fn replay(lines: &[Line]) -> (u64, usize) {
    let mut dql = Dql::new(0);
    let (mut compared, mut limits) = (0, std::collections::BTreeSet::new());
    for line in lines {
        let Line::Event { at_ns, event } = *line else {
            dql = Dql::new(0);
            continue;
        };
        match event {
            Event::Sent(packet) => dql.queued(packet.bytes).expect("countable"),
            Event::Completed(done) => dql.completed(done.bytes, at_ns).expect("in flight"),
            Event::Limit(limit) => {
                assert_eq!(dql.snapshot().limit, limit, "at {at_ns} ns");
                limits.insert(limit);
                compared += 1;
            }
            _ => {}
        }
    }
    (compared, limits.len())
}

const SHORT_E1: [(&str, &str); 6] = [
    ("streams", "10"),
    ("warm_up", "\"0ns\""),
    ("duration", "\"500ms\""),
    ("rows", "\"limit=on\""),
    ("limits", "[\"dql\"]"),
    ("late_segmentation", "[\"off\"]"),
];

#[test]
fn trace_replays_to_the_same_limits() {
    let e1 = lines(&traced("rr-under-load", &SHORT_E1, "").expect("two rows"));
    let rows = e1.iter().filter(|line| matches!(line, Line::Row { .. }));
    let names: Vec<_> = rows
        .map(|line| match line {
            Line::Row { name, limit } => (name.as_str(), limit.as_str()),
            Line::Event { .. } => unreachable!(),
        })
        .collect();
    assert_eq!(
        names,
        [("limit dql, TSO on", "dql"), ("limit dql, TSO off", "dql")]
    );
    let (compared, different) = replay(&e1);
    assert!(compared > 1_000 && different > 5, "{compared}, {different}");

    let ramp = [("duration", "\"10ms\"")];
    let bench = lines(&traced("limit-over-time", &ramp, "ramp-up: dql").expect("one row"));
    let (compared, different) = replay(&bench);
    assert!(compared > 50 && different > 3, "{compared}, {different}");
}

#[test]
fn every_enqueued_packet_leaves_in_the_trace() {
    let all = lines(&traced("rr-under-load", &SHORT_E1, "TSO off").expect("one row"));
    let count = |wanted: fn(&Event) -> bool| {
        let events = all.iter().filter_map(|line| match line {
            Line::Event { event, .. } => Some(event),
            Line::Row { .. } => None,
        });
        events.filter(|event| wanted(event)).count() as u64
    };
    let enqueued = count(|event| matches!(event, Event::Enqueue(_)));
    let dropped = count(|event| matches!(event, Event::Drop(..)));
    let sent = count(|event| matches!(event, Event::Sent(_)));
    assert_eq!(sent, count(|event| matches!(event, Event::Dequeue(_))));
    // The remaining backlog is at most the capacity of the discipline.
    assert!((0..=1_000).contains(&(enqueued - dropped - sent)));
    let mut completed = 0;
    let mut before_ns = 0;
    for line in &all {
        if let Line::Event { at_ns, event } = line {
            assert!(*at_ns >= before_ns, "time goes back at {at_ns}");
            before_ns = *at_ns;
            if let Event::Completed(done) = event {
                completed += u64::from(done.packets);
            }
        }
    }
    assert!(completed <= sent && sent - completed < 1_024);
    assert!(count(|event| matches!(event, Event::Stopped(_))) > 0);
    let urgent = |event: &Event| matches!(event, Event::Sent(packet) if packet.priority == 6);
    assert!(
        count(urgent) > 0,
        "the request/response has a higher priority"
    );
}

#[test]
fn rows_are_selected_by_part_of_name() {
    let error = traced("right-size", &[], "no such")
        .map(|_| ())
        .unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("\"no such\"") && said.contains("minimal; maximal"),
        "{said}"
    );
    let error = traced("watermarks", &[], "").map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("cannot be traced"), "{error}");
    let error = traced("right-size", &[("ring", "0")], "")
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("ring is 0"), "{error}");
}

/// A disk that is full after this many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        let written = buffer.len().min(self.0);
        self.0 -= written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn full_disk_is_an_error() {
    let text = file_with("limit-over-time", &[("duration", "\"10ms\"")]);
    let run = prepare(&text, None).expect("a valid file");
    let error = write(
        &*run,
        (Tap::Queue, "ramp-up"),
        &mut Full(500),
        &|| Ok(()),
        &mut |_, _, _| {},
    );
    match error {
        Err(ScenarioError::Io(error)) => assert_eq!(error.kind(), io::ErrorKind::StorageFull),
        other => panic!("{other:?}"),
    }
}

#[test]
fn trace_ends_at_an_interrupt() {
    let text = file_with("limit-over-time", &[("duration", "\"10ms\"")]);
    let run = prepare(&text, None).expect("a valid file");
    let mut out = Vec::new();
    let interrupted = || Err(io::Error::other("interrupted"));
    let selected = (Tap::Queue, "ramp-up");
    let error = write(&*run, selected, &mut out, &interrupted, &mut |_, _, _| {});
    let error = io::Error::from(error.expect_err("the interrupt"));
    assert_eq!(
        (error.to_string(), out.len()),
        ("interrupted".to_owned(), 0)
    );
}

#[test]
fn invalid_line_error_has_the_allowed_content() {
    let head = "taut-trace\t3\tscenario=x\tseed=1\ttaut=0.1.0\n";
    for (text, line, allowed) in [
        (String::new(), 1, "taut-trace, 3"),
        (
            "taut-trace\t1\tscenario=x\tseed=1\ttaut=0\n".to_owned(),
            1,
            "taut-trace, 3",
        ),
        (
            "taut-trace\t3\tscenario=x\tseed=1\ttaut=0\tsampled=x\n".to_owned(),
            1,
            "taut=VERSION",
        ),
        (format!("{head}5\n"), 2, "TIME_NS, KIND"),
        (
            format!("{head}row\tx\toff\n5\tlost\n"),
            3,
            "enqueue, dequeue",
        ),
        (format!("{head}-5\tstarved\n"), 2, "TIME_NS"),
        (format!("{head}5\tstarved\t1\n"), 2, "no values"),
        (
            format!("{head}5\tsent\t1514\t0\t16\n"),
            2,
            "PRIORITY (0 to 15)",
        ),
        (format!("{head}5\tsent\t4294967296\t0\t0\n"), 2, "BYTES"),
        (format!("{head}5\tsent\t0\t0\t0\n"), 2, "at least 1"),
        (
            format!("{head}5\tdrop\t0\t0\t0\tflushed\n"),
            2,
            "at least 1",
        ),
        (
            format!("{head}5\tdrop\t1\t0\t0\tbad_luck\n"),
            2,
            "name of a reason",
        ),
        (
            format!("{head}5\tstopped\tnever\n"),
            2,
            "limit or ring_full",
        ),
        (
            format!("{head}5\tblocked\t1\n"),
            2,
            "no values after blocked",
        ),
        (
            format!("{head}5\tbatch\t9\tmaybe\t0\t-\n"),
            2,
            "more or last",
        ),
        (
            format!("{head}5\tbatch\t9\tlast\t0\t\n"),
            2,
            "RETURNED_NS or -",
        ),
        (format!("{head}5\tlimit\t10"), 2, "was it cut off?"),
        (
            format!("{head}{}\n", "x".repeat(9_000)),
            2,
            "lines of at most",
        ),
    ] {
        let error = match read(text.as_bytes()) {
            Err(error) => error,
            Ok((_, mut lines)) => {
                let error = lines.find_map(Result::err).expect("an error");
                assert!(lines.next().is_none(), "nothing after an error");
                error
            }
        };
        let ReadError::Line {
            line: at,
            allowed: content,
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!(at, line, "{text:?}");
        assert!(content.contains(allowed), "{text:?}: {content}");
    }
}

fn mention() -> impl Strategy<Value = PacketRecord> {
    (1..=u32::MAX, any::<u32>(), 0u8..16).prop_map(|(bytes, flow, priority)| PacketRecord {
        bytes,
        flow,
        priority,
    })
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        mention().prop_map(Event::Enqueue),
        mention().prop_map(Event::Dequeue),
        mention().prop_map(Event::Sent),
        mention().prop_map(Event::Mark),
        (mention(), 0..DropReason::ALL.len())
            .prop_map(|(packet, which)| Event::Drop(packet, DropReason::ALL[which])),
        (any::<u32>(), any::<u32>())
            .prop_map(|(packets, bytes)| Event::Completed(CompletedCounts { packets, bytes })),
        Just(Event::Blocked),
        (
            any::<u32>(),
            any::<bool>(),
            any::<u32>(),
            any::<Option<u64>>()
        )
            .prop_map(
                |(units, more, times_blocked, sender_returned_ns)| Event::Batch(BatchRecord {
                    units,
                    more,
                    times_blocked,
                    sender_returned_ns,
                })
            ),
        any::<u32>().prop_map(Event::Limit),
        any::<bool>().prop_map(|limit| Event::Stopped(if limit {
            StopReason::Limit
        } else {
            StopReason::RingFull
        })),
        Just(Event::Starved),
        any::<u64>().prop_map(|age_ns| Event::Stall { age_ns }),
        Just(Event::Reset),
    ]
}

proptest! {
    #[test]
    fn text_form_parses_back(
        seed: u64,
        name in "\\PC{0,20}[\t\n]?",
        events in prop::collection::vec((any::<u64>(), event()), 0..20),
    ) {
        let head = Head {
            scenario: "x".to_owned(),
            seed,
            taut_version: "0.1.0".to_owned(),
        };
        let mut out = Vec::new();
        let mut recorder = Recorder::new(&mut out, &head);
        recorder.row(&name, "dql");
        for &(at_ns, event) in &events {
            recorder.event(at_ns, event);
        }
        prop_assert_eq!(recorder.finish().unwrap(), out.len() as u64);
        let (found, lines) = read(&out[..]).unwrap();
        prop_assert_eq!(found, head);
        let found: Vec<Line> = lines.map(Result::unwrap).collect();
        let row = Line::Row {
            name: name.replace(char::is_control, " "),
            limit: "dql".to_owned(),
        };
        let events = events.into_iter().map(|(at_ns, event)| Line::Event { at_ns, event });
        prop_assert_eq!(found, [row].into_iter().chain(events).collect::<Vec<_>>());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let head = b"taut-trace\t3\tscenario=x\tseed=1\ttaut=0\n".to_vec();
        for text in [bytes.clone(), [head, bytes].concat()] {
            if let Ok((_, lines)) = read(&text[..]) {
                prop_assert!(lines.count() <= 401);
            }
        }
    }

    #[test]
    fn no_line_of_known_keywords_panics(
        line in "([0-9]{1,20}|row)(\t(sent|drop|limit|stopped|completed|batch|blocked|more|last|-|\
                 [0-9]{1,11}|queue_full)){0,6}",
    ) {
        let text = format!("taut-trace\t3\tscenario=x\tseed=1\ttaut=0\n{line}\n");
        let (_, lines) = read(text.as_bytes()).unwrap();
        for found in lines.flatten() {
            // A line that parses is written the same, except for leading zeros.
            let again = found.to_string();
            prop_assert_eq!(again.split('\t').count(), line.split('\t').count());
        }
    }
}
