//! One run: makes the queue, starts the threads, ends them, and counts what is left.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Wake, Waker};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use anyhow::{Context, anyhow};
use taut_linux::sched::{monotonic_ns, process_cpu_ns};
use taut_path::Queue;
use taut_path::qdisc::Fifo;
use taut_path::queue::many::{self, Submitter};

use super::super::control::{Control, StopOnDrop};
use super::carrier::Carrier;
use super::halves::{
    CompletingHalf, Counts, DISCIPLINE_PACKETS, Ends, SendingHalf, Supply, Threads, complete, send,
};
use super::late::Late;
use super::options::TwoThreads;
use super::progress::Progress;
use super::results::{Row, Window};
use super::sleeper::Sleeper;
use super::submit::submit;
use super::watchdog::Watchdog;
use crate::{interrupt, publish};
use taut_measure::trace::Tape;
use taut_report::number::{one_decimal, per_second};

/// Packets in the ring in front of the owner. The discipline is where packets should wait, so it
/// is short: submitters sleep often.
const SUBMIT_PACKETS: u32 = 32;

/// The row, and what its queue did, if that is wanted.
pub struct Ran {
    pub row: Row,
    pub tape: Option<Tape>,
}

/// Runs what `options` say, with a tape of `most_events` if they are wanted.
pub fn run(options: &TwoThreads, most_events: Option<usize>) -> anyhow::Result<Ran> {
    let packets = DISCIPLINE_PACKETS + SUBMIT_PACKETS + options.senders;
    let carrier = Carrier::new(options, packets).context("set up the packet ring")?;
    let owner = Arc::new(Sleeper::default());
    let waker = Waker::from(owner.clone());
    let now_ns = monotonic_ns();
    let queue = Queue::builder(carrier.tx, carrier.completions)
        .limit(options.limit.clone())
        .with_qdisc(Fifo::new(DISCIPLINE_PACKETS))
        .probe(most_events.map(|most| Tape::new(now_ns, most)))
        .waker(waker.clone())
        .build(now_ns)?;
    let (sender, completer, watch) =
        queue.split_probes(|mut tape| (tape.as_mut().map(Tape::divide), tape));
    let _published = publish::follow(&options.about(&options.limit.to_string()), watch);
    // A single sender makes its own packets and needs no ring.
    let submitting = if options.senders > 1 {
        options.senders
    } else {
        0
    };
    let (submitter, intake) = many::split(SUBMIT_PACKETS, submitting, waker);
    let sleepers: Vec<Arc<Sleeper>> = (0..submitting).map(|_| Arc::default()).collect();
    let threads = Threads {
        control: Control::default(),
        frames: carrier.frames.clone(),
        counts: Counts::default(),
        owner_is_done: AtomicBool::new(false),
        late: Late::new(),
    };
    let most_packets = SUBMIT_PACKETS + DISCIPLINE_PACKETS;
    let mut parts = Parts {
        sender,
        completer,
        supply: match submitting {
            0 => Supply::Own,
            _ => Supply::Submitted(intake),
        },
        watchdog: Watchdog::new(owner.clone(), sleepers.clone(), most_packets),
    };
    let window = run_threads(options, &threads, &mut parts, &submitter, &owner, &sleepers)?;
    if let Supply::Submitted(intake) = &mut parts.supply {
        intake.flush(&mut Ends(&threads));
    }
    drop(carrier.namespaces);
    let submitter_sleeps = sleepers.iter().map(|sleeper| sleeper.sleeps()).sum();
    let sleeps = [owner.sleeps(), submitter_sleeps];
    Ok(Ran {
        row: row(&window, &threads, &parts, sleeps),
        tape: parts.take_tape(),
    })
}

/// What the run is made of, besides the device.
struct Parts {
    sender: SendingHalf,
    completer: CompletingHalf,
    supply: Supply,
    watchdog: Watchdog,
}

impl Parts {
    /// What both halves did.
    fn take_tape(&mut self) -> Option<Tape> {
        let mut tape = self.sender.probe_mut().take()?;
        if let Some(completed) = self.completer.probe_mut().take() {
            tape.merge(completed);
        }
        Some(tape)
    }
}

/// Starts all threads, measures, and ends them. An error of the queue comes before one of what
/// hangs on it.
fn run_threads(
    options: &TwoThreads,
    threads: &Threads,
    parts: &mut Parts,
    submitter: &Submitter,
    owner: &Arc<Sleeper>,
    sleepers: &[Arc<Sleeper>],
) -> anyhow::Result<Window> {
    let Parts {
        sender,
        completer,
        supply,
        watchdog,
    } = parts;
    let cadence_ns = options.cadence.0;
    thread::scope(|scope| {
        let completing = spawn(scope, "complete", threads, move || {
            complete(completer, threads, submitter, watchdog, cadence_ns)
        })?;
        let sending = spawn(scope, "send", threads, move || {
            send(sender, supply, threads, owner)
        });
        let submitting = sleepers.iter().map(|sleeper| {
            spawn(scope, "submit", threads, move || {
                submit(submitter, threads, sleeper);
                Ok(())
            })
        });
        let sending: Vec<_> = [sending].into_iter().chain(submitting).collect();
        let window = measure(options, threads);
        // Everybody leaves: whoever sleeps is woken once more.
        threads.control.stop();
        for sleeper in sleepers.iter().chain([owner]) {
            sleeper.wake_by_ref();
        }
        let sent: Vec<_> = sending.into_iter().map(|thread| ended(thread?)).collect();
        threads.owner_is_done.store(true, Ordering::Release);
        ended(completing)?;
        sent.into_iter().collect::<anyhow::Result<()>>()?;
        anyhow::Ok(window)
    })
}

type Running<'scope> = ScopedJoinHandle<'scope, anyhow::Result<()>>;

/// A thread that ends the run when it ends, however that is: the others would wait for it in vain.
fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    name: &str,
    threads: &'scope Threads,
    work: impl FnOnce() -> anyhow::Result<()> + Send + 'scope,
) -> anyhow::Result<Running<'scope>> {
    let spawned = thread::Builder::new()
        .name(name.into())
        .spawn_scoped(scope, move || {
            let _stop = StopOnDrop(&threads.control);
            work()
        });
    if spawned.is_err() {
        threads.control.stop();
    }
    spawned.with_context(|| format!("start the thread {name}"))
}

fn ended(thread: Running) -> anyhow::Result<()> {
    thread.join().map_err(|_| anyhow!("a thread panicked"))?
}

/// Waits, showing progress, until the time is over, a thread gave up, or it is interrupted.
fn measure(options: &TwoThreads, threads: &Threads) -> Window {
    let completed = || {
        let counts = &threads.counts;
        [&counts.completed_packets, &counts.completed_bytes]
            .map(|count| count.load(Ordering::Relaxed))
    };
    let mut progress = Progress::new(options.duration.0);
    let (start_ns, start_cpu_ns) = (monotonic_ns(), process_cpu_ns());
    let (end_ns, before) = (start_ns + options.duration.0, completed());
    while !threads.control.is_stopped() && interrupt::noted().is_none() {
        let left_ns = end_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            break;
        }
        thread::sleep(Duration::from_nanos(left_ns.min(Progress::STEP_NS)));
        progress.show(completed()[1]);
    }
    progress.clear();
    let after = completed();
    Window {
        length_ns: (monotonic_ns() - start_ns).max(1),
        cpu_ns: process_cpu_ns() - start_cpu_ns,
        completed_packets: after[0] - before[0],
        completed_bytes: after[1] - before[1],
    }
}

fn row(
    window: &Window,
    threads: &Threads,
    parts: &Parts,
    [owner_sleeps, submitter_sleeps]: [u64; 2],
) -> Row {
    let (sent, completed) = (parts.sender.counters(), parts.completer.counters());
    let (work_wakeups, submitter_wakeups) = match &parts.supply {
        Supply::Own => (0, 0),
        Supply::Submitted(intake) => (intake.work_wakeups().into(), intake.wakeups().into()),
    };
    let limit = parts.completer.snapshot();
    let lost = parts.watchdog.lost();
    let counts = &threads.counts;
    Row {
        measured_ms: window.length_ns / 1_000_000,
        packets_per_s: one_decimal(per_second(window.completed_packets, window.length_ns)),
        bytes_per_s: per_second(window.completed_bytes, window.length_ns) as u64,
        cpu_percent: one_decimal(window.cpu_ns as f64 * 100.0 / window.length_ns as f64),
        taken_packets: counts.taken_packets.load(Ordering::Relaxed),
        completed_packets: counts.completed_packets.load(Ordering::Relaxed),
        dropped_packets: counts.dropped().collect(),
        on_the_path_packets: sent.sent_packets - completed.completed_packets
            + parts.sender.backlog().packets,
        frames_in_use: threads.frames.in_use(),
        in_flight: limit.in_flight,
        malformed_packets: parts.completer.completions().malformed_packets(),
        limit: limit.limit,
        limit_stops: sent.limit_stops,
        ring_stops: sent.ring_stops,
        kicks: sent.kicks,
        owner_sleeps,
        owner_wakeups_for_room: parts.completer.wakeups().into(),
        owner_wakeups_for_work: work_wakeups,
        submitter_sleeps,
        submitter_wakeups,
        owner_wakeups_lost: lost.of_owner,
        submitter_wakeups_lost: lost.of_submitters,
        stalls: completed.stalls,
        longest_stall_ns: completed.longest_stall_ns,
        timers_late_us: threads.late.found(),
    }
}
