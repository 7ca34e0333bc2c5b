//! `taut top`: all queues on a terminal, sampled all the time.

mod draw;
mod figures;
mod history;
mod keys;
pub mod options;
mod sampler;
mod state;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event};

use crate::exit;
use crate::interrupt::{self, Interrupt};
use crate::observe::gather::{Asked, gather};
use crate::talk::say;
use draw::Look;
use keys::After;
use options::Top;
use sampler::Sampler;
use state::State;

/// The longest wait for a key: how late a signal may be noticed.
const LOOK: Duration = Duration::from_millis(50);

/// `taut top`.
pub fn top(options: &Top) -> ExitCode {
    if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
        say!("taut: top needs a terminal; taut show -w 1s writes to anything");
        return ExitCode::from(exit::USAGE);
    }
    let sysfs = match options.selection.place.open() {
        Ok((sysfs, _)) => sysfs,
        Err(code) => return code,
    };
    let found = match gather(&sysfs, &options.selection, Asked::All) {
        Ok(found) => found,
        Err(error) => {
            say!("taut: {error}");
            return ExitCode::from(exit::FAILED);
        }
    };
    let ended = interrupt::note()
        .and_then(|()| Sampler::start(sysfs, options.selection.clone(), &found))
        .and_then(|sampler| on_terminal(|terminal| run(options, &sampler, terminal)));
    match ended {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(interrupt)) => ExitCode::from(interrupt.exit_code()),
        Err(error) => {
            say!("taut: {error}");
            ExitCode::from(exit::FAILED)
        }
    }
}

/// Takes the terminal, and gives it back however `work` ends: a panic does too.
fn on_terminal<T>(work: impl FnOnce(&mut DefaultTerminal) -> io::Result<T>) -> io::Result<T> {
    let mut terminal = ratatui::try_init()?;
    let ended = work(&mut terminal);
    // The first error is the one to tell.
    let restored = ratatui::try_restore();
    let ended = ended?;
    restored.map(|()| ended)
}

fn run(
    options: &Top,
    sampler: &Sampler,
    terminal: &mut DefaultTerminal,
) -> io::Result<Option<Interrupt>> {
    let look = Look::of_environment();
    let period = Duration::from_nanos(options.delay);
    let mut state = State::default();
    let mut next = Instant::now();
    let mut is_stale = true;
    loop {
        if sampler.is_over() {
            return Err(io::Error::other("the sampling thread ended"));
        }
        if let Some(interrupt) = interrupt::noted() {
            return Ok(Some(interrupt));
        }
        let now = Instant::now();
        if now >= next {
            state.take(sampler);
            next = now + period;
            is_stale = true;
        }
        if is_stale {
            sampler.watch_closely(state.detail());
            terminal.draw(|frame| draw::draw(frame, &mut state, look))?;
            is_stale = false;
        }
        let wait = LOOK.min(next.saturating_duration_since(Instant::now()));
        if event::poll(wait)? {
            match event::read()? {
                Event::Key(key) => match keys::press(&mut state, key) {
                    After::GoOn => is_stale = true,
                    After::Quit => return Ok(None),
                },
                Event::Resize(..) => is_stale = true,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::print_stderr, reason = "a skipped test says so")]
#[path = "../../tests/it/terminal.rs"]
mod terminal;

#[cfg(test)]
mod tests {
    use super::terminal::{Terminal, is_sane};
    use super::*;

    /// Set where [`it_panics_on_a_terminal`] is to do so: in the terminal of the test below.
    const PANICS: &str = "TAUT_TEST_PANICS";

    #[test]
    fn it_panics_on_a_terminal() {
        if std::env::var_os(PANICS).is_none() {
            return;
        }
        let ended: io::Result<()> = on_terminal(|terminal| {
            terminal.draw(|frame| frame.render_widget("a whole screen", frame.area()))?;
            // Not before it was seen.
            event::read()?;
            panic!("on purpose");
        });
        ended.expect("a panic is no error");
    }

    /// In a real terminal, held by tmux.
    #[test]
    fn a_panic_gives_the_terminal_back_and_is_readable() {
        let tests = std::env::current_exe().expect("this binary");
        let line = format!(
            "env RUST_BACKTRACE=0 {PANICS}=1 {} --exact top::tests::it_panics_on_a_terminal --nocapture",
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
