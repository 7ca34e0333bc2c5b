//! `taut top`: all queues on a terminal, sampled continuously.

mod curve;
mod draw;
mod keys;
mod screen;

use std::io::{self, IsTerminal};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};
use taut_linux::interrupt::{self, Interrupt};
use taut_observe::sampler::{History, LiveSettings};
use taut_observe::{Host, Inventory, LiveSampler, Missing, QueueKey, QueueRow, Selection, gather};
use taut_path::units::Time;
use taut_report::exit;

use crate::parse::{PERIODS, within};
use crate::selection::SelectionArgs;
use draw::Appearance;
use screen::Screen;

/// Show all queues with a working limit on the terminal, sorted by in-flight time
///
/// In-flight time is the mean of the bytes in flight, divided by the link speed: the time in the
/// ring, without the time in the qdisc. Queues of running taut programs are included. Every queue
/// is sampled 50 times a second, the queue in the detail view 1000 times. The columns are minimum,
/// mean and maximum of the samples. The heading shows the achieved sampling rate. The command
/// changes nothing. It needs no privilege, except with -n.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct Top {
    #[command(flatten)]
    pub selection: SelectionArgs,

    /// Screen update interval; increase it on a slow terminal
    #[arg(short, long, value_name = "TIME", default_value = "500ms",
          value_parser = within(PERIODS))]
    pub delay: Time,
}

const AFTER_HELP: &str = "\
Keys: arrows or j k select, Enter detail, s sort, p pause, q quit.
In the columns, k is 1000 bytes. NO_COLOR is honoured. Without a UTF-8 locale, the curves are drawn
in ASCII.
Exit codes: 0 done, 1 failed, 2 bad usage or no terminal, 77 a privilege is missing,
130 or 143 interrupted.
Examples:
  taut top
  taut top eth0 --delay 2s";

/// Maximum wait for a key, after which signals are checked.
const MAX_WAIT: Duration = Duration::from_millis(50);
/// Time between two searches for devices and programs.
const RESCAN_NS: u64 = 1_000_000_000;
/// Buckets of a curve: a minute of 100 ms each, in detail half a minute of 50 ms each.
const BUCKETS: usize = 600;

/// Samples of all queues that have a working limit.
const ALL: LiveSettings<History> = LiveSettings {
    interval_ns: 20_000_000,
    rescan_ns: RESCAN_NS,
    rows: |inventory| {
        let rows = inventory.working_rows().chain(&inventory.paths);
        rows.cloned().collect()
    },
    collector: || History::new(100_000_000, BUCKETS),
};

/// Samples of the one queue in detail.
const DETAIL: LiveSettings<History> = LiveSettings {
    interval_ns: 1_000_000,
    rescan_ns: RESCAN_NS,
    rows: |inventory| inventory.working_rows().cloned().collect(),
    collector: || History::new(50_000_000, BUCKETS),
};

/// `taut top`.
pub fn top(options: &Top) -> Result<ExitCode, ExitCode> {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        let message = "top needs a terminal; taut show -w 1s writes to anything";
        return Err(exit::fail(exit::USAGE, message));
    }
    let host = options.selection.place.open()?;
    let selection = options.selection.selection();
    let inventory = gather(&host, &selection, Missing::Error).map_err(exit::failed)?;
    let ended = interrupt::note()
        .and_then(|()| Samplers::start(host, selection, &inventory))
        .and_then(|samplers| on_terminal(|terminal| run(options, samplers, terminal)));
    let interrupt = ended.map_err(exit::failed)?;
    Ok(interrupt.map_or(ExitCode::SUCCESS, |it| it.exit_code().into()))
}

/// The sampler of all queues, and that of the queue in detail.
struct Samplers {
    host: Host,
    all: LiveSampler<History>,
    detail: Option<(QueueKey, LiveSampler<History>)>,
}

impl Samplers {
    fn start(host: Host, selection: Selection, inventory: &Inventory) -> io::Result<Self> {
        Ok(Self {
            all: LiveSampler::start(host.clone(), selection, ALL, inventory)?,
            host,
            detail: None,
        })
    }

    /// Samples `row` in detail from now on; the samples of another queue are discarded.
    fn set_detail(&mut self, row: Option<&QueueRow>) -> io::Result<()> {
        // A path has no files that could be sampled faster.
        let key = row.filter(|it| it.path.is_none()).map(QueueRow::key);
        if self.detail.as_ref().map(|(key, _)| key) == key.as_ref() {
            return Ok(());
        }
        self.detail = None;
        let Some(key) = key else { return Ok(()) };
        let selection = Selection::device(&key.device, Some(key.queue.into()));
        let inventory = gather(&self.host, &selection, Missing::Skip).unwrap_or_default();
        let host = self.host.clone();
        let sampler = LiveSampler::start(host, selection, DETAIL, &inventory)?;
        self.detail = Some((key, sampler));
        Ok(())
    }

    /// Returns the samples of the queue in detail, unless it has none.
    fn detail(&self) -> Option<History> {
        let (key, sampler) = self.detail.as_ref()?;
        let mut queues = sampler.queues().into_iter();
        queues.find(|it| it.row.key() == *key).map(|it| it.samples)
    }
}

/// Runs `work` on the whole terminal, and restores it afterwards, also after a panic.
fn on_terminal<T>(work: impl FnOnce(&mut DefaultTerminal) -> io::Result<T>) -> io::Result<T> {
    let mut terminal = ratatui::try_init()?;
    let ended = work(&mut terminal);
    // The first error is reported.
    let restored = ratatui::try_restore();
    let ended = ended?;
    restored.map(|()| ended)
}

fn run(
    options: &Top,
    mut samplers: Samplers,
    terminal: &mut DefaultTerminal,
) -> io::Result<Option<Interrupt>> {
    let style = Appearance::of_environment();
    let period = Duration::from_nanos(options.delay.0);
    let mut screen = Screen::default();
    let mut next = Instant::now();
    let mut is_stale = true;
    loop {
        if !samplers.all.is_running() {
            return Err(io::Error::other("the sampling thread ended"));
        }
        if let Some(interrupt) = interrupt::noted() {
            return Ok(Some(interrupt));
        }
        let now = Instant::now();
        if now >= next {
            if !screen.paused {
                screen.update(samplers.all.queues(), samplers.detail());
            }
            next = now + period;
            is_stale = true;
        }
        if is_stale {
            samplers.set_detail(screen.detail())?;
            terminal.draw(|frame| draw::draw(frame, &mut screen, style))?;
            is_stale = false;
        }
        let wait = MAX_WAIT.min(next.saturating_duration_since(Instant::now()));
        if event::poll(wait)? {
            match event::read()? {
                Event::Key(key) => match keys::press(&mut screen, key) {
                    ControlFlow::Continue(()) => is_stale = true,
                    ControlFlow::Break(()) => return Ok(None),
                },
                Event::Resize(..) => is_stale = true,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a skipped test reports it")]
#[path = "../tests/it/terminal.rs"]
mod terminal;

#[cfg(test)]
mod tests {
    use super::terminal::{Terminal, is_sane};
    use super::*;

    /// Set in the terminal of the test below, where [`panics_on_a_terminal`] must panic.
    const PANICS: &str = "TAUT_TEST_PANICS";

    #[test]
    fn panics_on_a_terminal() {
        if std::env::var_os(PANICS).is_none() {
            return;
        }
        let ended: io::Result<()> = on_terminal(|terminal| {
            terminal.draw(|frame| frame.render_widget("a whole screen", frame.area()))?;
            // Wait until the test has seen the screen.
            event::read()?;
            panic!("on purpose");
        });
        ended.expect("unreachable after a panic");
    }

    /// In a real terminal, in tmux.
    #[test]
    fn panic_restores_the_terminal_and_is_readable() {
        let tests = std::env::current_exe().expect("this binary");
        let line = format!(
            "env RUST_BACKTRACE=0 {PANICS}=1 {} --exact top::tests::panics_on_a_terminal \
             --nocapture",
            tests.display()
        );
        let Some(terminal) = Terminal::start("panic", &line) else {
            return;
        };
        terminal.until("a whole screen");
        terminal.keys(&["x"]);
        let screen = terminal.until("code 101");
        assert!(is_sane(&screen), "{screen}");
        assert!(screen.contains("on purpose"), "{screen}");
        assert!(!screen.contains("a whole screen"), "{screen}");
    }
}
