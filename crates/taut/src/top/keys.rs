//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::state::State;

/// No name of a device is longer, and a program's is cut.
const FILTER_CHARACTERS: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    GoOn,
    Quit,
}

pub fn press(state: &mut State, key: KeyEvent) -> After {
    if key.kind == KeyEventKind::Release {
        return After::GoOn;
    }
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        return After::Quit;
    }
    if state.typing {
        type_filter(state, key.code);
        return After::GoOn;
    }
    let (line, page) = (state.line(), state.page.max(1));
    match key.code {
        KeyCode::Char('q') => return After::Quit,
        KeyCode::Esc if state.in_detail => state.in_detail = false,
        KeyCode::Esc if !state.filter.is_empty() => state.filter.clear(),
        KeyCode::Esc => return After::Quit,
        KeyCode::Enter => state.in_detail = !state.in_detail,
        KeyCode::Char('p' | ' ') => state.paused = !state.paused,
        KeyCode::Char('s') => state.sort_by(state.sort.next()),
        KeyCode::Char('/') => (state.typing, state.in_detail) = (true, false),
        KeyCode::Up | KeyCode::Char('k') => state.choose(line.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => state.choose(line + 1),
        KeyCode::PageUp => state.choose(line.saturating_sub(page)),
        KeyCode::PageDown => state.choose(line + page),
        KeyCode::Home => state.choose(0),
        KeyCode::End => state.choose(usize::MAX),
        _ => {}
    }
    After::GoOn
}

fn type_filter(state: &mut State, code: KeyCode) {
    match code {
        KeyCode::Enter => state.typing = false,
        KeyCode::Esc => {
            state.typing = false;
            state.filter.clear();
        }
        KeyCode::Backspace => drop(state.filter.pop()),
        KeyCode::Char(character) if state.filter.chars().count() < FILTER_CHARACTERS => {
            state.filter.push(character);
        }
        _ => {}
    }
    state.choose(0);
}

#[cfg(test)]
mod tests {
    use super::super::state::tests::{queue, with};
    use super::*;

    fn press_all(state: &mut State, keys: &[KeyCode]) -> After {
        let press_one = |_, &code| press(state, KeyEvent::new(code, KeyModifiers::NONE));
        keys.iter().fold(After::GoOn, press_one)
    }

    #[test]
    fn a_filter_is_typed_and_taken_back_before_anything_quits() {
        use KeyCode::{Char, Enter, Esc};
        let mut state = with(vec![queue("eth0", 1), queue("q0", 2)]);
        assert_eq!(
            press_all(&mut state, &[Char('/'), Char('q'), Enter]),
            After::GoOn
        );
        assert_eq!((state.filter.as_str(), state.shown().len()), ("q", 1));
        assert_eq!(press_all(&mut state, &[Enter, Esc, Esc]), After::GoOn);
        assert_eq!((state.in_detail, state.shown().len()), (false, 2));
        assert_eq!(press_all(&mut state, &[Esc]), After::Quit);
    }

    #[test]
    fn lines_are_chosen_within_what_is_shown() {
        use KeyCode::{Char, Down, End, Home, PageDown, Up};
        let mut state = with((0..9).map(|at| queue(&format!("eth{at}"), at)).collect());
        state.page = 4;
        for (key, line) in [
            (Up, 0),
            (Down, 1),
            (PageDown, 5),
            (PageDown, 8),
            (Char('j'), 8),
            (Home, 0),
            (End, 8),
        ] {
            press_all(&mut state, &[key]);
            assert_eq!(state.line(), line, "{key:?}");
        }
    }

    #[test]
    fn control_c_quits_also_while_typing() {
        let mut state = with(Vec::new());
        press_all(&mut state, &[KeyCode::Char('/')]);
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(press(&mut state, key), After::Quit);
    }
}
