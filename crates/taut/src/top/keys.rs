//! Handles keys.

use std::ops::ControlFlow::{self, Break, Continue};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::screen::Screen;

/// Longer than the name of any device; the name of a program can exceed it.
const FILTER_CHARACTERS: usize = 64;

pub fn press(screen: &mut Screen, key: KeyEvent) -> ControlFlow<()> {
    if key.kind == KeyEventKind::Release {
        return Continue(());
    }
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        return Break(());
    }
    if screen.typing {
        type_filter(screen, key);
        return Continue(());
    }
    if is_control(key) {
        return Continue(());
    }
    let (line, page) = (screen.line(), screen.page.max(1));
    match key.code {
        KeyCode::Char('q') => return Break(()),
        KeyCode::Esc if screen.in_detail => screen.in_detail = false,
        KeyCode::Esc if !screen.filter.is_empty() => screen.filter.clear(),
        KeyCode::Esc => return Break(()),
        KeyCode::Enter => screen.in_detail = !screen.in_detail,
        KeyCode::Char('p' | ' ') => screen.paused = !screen.paused,
        KeyCode::Char('s') => screen.sort_by(screen.sort.next()),
        KeyCode::Char('/') => (screen.typing, screen.in_detail) = (true, false),
        KeyCode::Up | KeyCode::Char('k') => screen.select(line.saturating_sub(1)),
        KeyCode::Down | KeyCode::Char('j') => screen.select(line + 1),
        KeyCode::PageUp => screen.select(line.saturating_sub(page)),
        KeyCode::PageDown => screen.select(line + page),
        KeyCode::Home => screen.select(0),
        KeyCode::End => screen.select(usize::MAX),
        _ => {}
    }
    Continue(())
}

/// Returns `true` for a character with Ctrl or Alt, which is neither text nor a command.
fn is_control(key: KeyEvent) -> bool {
    let modified = key
        .modifiers
        .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
    modified && matches!(key.code, KeyCode::Char(_))
}

fn type_filter(screen: &mut Screen, key: KeyEvent) {
    let before = screen.filter.clone();
    match key.code {
        KeyCode::Enter => screen.typing = false,
        KeyCode::Esc => {
            screen.typing = false;
            screen.filter.clear();
        }
        KeyCode::Backspace => drop(screen.filter.pop()),
        // Some terminals send it for Backspace.
        KeyCode::Char('h') if key.modifiers == KeyModifiers::CONTROL => drop(screen.filter.pop()),
        KeyCode::Char(_) if is_control(key) => {}
        KeyCode::Char(character) if before.chars().count() < FILTER_CHARACTERS => {
            screen.filter.push(character);
        }
        _ => {}
    }
    if screen.filter != before {
        screen.select(0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::tests::{queue, with};
    use super::*;

    fn press_all(screen: &mut Screen, keys: &[KeyCode]) -> ControlFlow<()> {
        let press_one = |_, &code| press(screen, KeyEvent::new(code, KeyModifiers::NONE));
        keys.iter().fold(Continue(()), press_one)
    }

    #[test]
    fn escape_clears_filter_before_it_quits() {
        use KeyCode::{Char, Enter, Esc};
        let mut screen = with(vec![queue("eth0", 1), queue("q0", 2)]);
        assert_eq!(
            press_all(&mut screen, &[Char('/'), Char('q'), Enter]),
            Continue(())
        );
        assert_eq!((screen.filter.as_str(), screen.shown().len()), ("q", 1));
        assert_eq!(press_all(&mut screen, &[Enter, Esc, Esc]), Continue(()));
        assert_eq!((screen.in_detail, screen.shown().len()), (false, 2));
        assert_eq!(press_all(&mut screen, &[Esc]), Break(()));
    }

    #[test]
    fn selection_stays_within_visible_lines() {
        use KeyCode::{Char, Down, End, Home, PageDown, Up};
        let mut screen = with((0..9).map(|at| queue(&format!("eth{at}"), at)).collect());
        screen.page = 4;
        for (key, line) in [
            (Up, 0),
            (Down, 1),
            (PageDown, 5),
            (PageDown, 8),
            (Char('j'), 8),
            (Home, 0),
            (End, 8),
        ] {
            let _ = press_all(&mut screen, &[key]);
            assert_eq!(screen.line(), line, "{key:?}");
        }
    }

    #[test]
    fn control_keys_are_not_text() {
        let mut screen = with((0..9).map(|at| queue(&format!("eth{at}"), at)).collect());
        let _ = press_all(&mut screen, &[KeyCode::Down, KeyCode::Char('/')]);
        let control = |screen: &mut Screen, code, modifiers| {
            assert_eq!(press(screen, KeyEvent::new(code, modifiers)), Continue(()));
        };
        control(&mut screen, KeyCode::Left, KeyModifiers::NONE);
        control(&mut screen, KeyCode::Char('u'), KeyModifiers::CONTROL);
        control(&mut screen, KeyCode::Char('x'), KeyModifiers::ALT);
        assert_eq!((screen.filter.as_str(), screen.line()), ("", 1));
        let _ = press_all(&mut screen, &[KeyCode::Char('e'), KeyCode::Char('t')]);
        assert_eq!((screen.filter.as_str(), screen.line()), ("et", 0));
        control(&mut screen, KeyCode::Char('h'), KeyModifiers::CONTROL);
        assert_eq!(screen.filter, "e");
        let _ = press_all(&mut screen, &[KeyCode::Enter]);
        control(&mut screen, KeyCode::Char('q'), KeyModifiers::CONTROL);
    }

    #[test]
    fn control_c_quits_while_typing() {
        let mut screen = with(Vec::new());
        let _ = press_all(&mut screen, &[KeyCode::Char('/')]);
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(press(&mut screen, key), Break(()));
    }
}
