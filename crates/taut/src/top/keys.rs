//! Handles keys.

use std::ops::ControlFlow::{self, Break, Continue};

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::screen::Screen;

pub fn press(screen: &mut Screen, key: KeyEvent) -> ControlFlow<()> {
    if key.kind == KeyEventKind::Release {
        return Continue(());
    }
    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
        return Break(());
    }
    // A character with Ctrl or Alt is not a command.
    let control = KeyModifiers::CONTROL | KeyModifiers::ALT;
    if matches!(key.code, KeyCode::Char(_)) && key.modifiers.intersects(control) {
        return Continue(());
    }
    let (line, page) = (screen.line(), screen.page.max(1));
    match key.code {
        KeyCode::Char('q') => return Break(()),
        KeyCode::Esc if screen.in_detail => screen.in_detail = false,
        KeyCode::Esc => return Break(()),
        KeyCode::Enter => screen.in_detail = !screen.in_detail,
        KeyCode::Char('p' | ' ') => screen.paused = !screen.paused,
        KeyCode::Char('s') => screen.sort_by(screen.sort.next()),
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

#[cfg(test)]
mod tests {
    use super::super::screen::tests::{queue, with};
    use super::*;

    fn press_all(screen: &mut Screen, keys: &[KeyCode]) -> ControlFlow<()> {
        let press_one = |_, &code| press(screen, KeyEvent::new(code, KeyModifiers::NONE));
        keys.iter().fold(Continue(()), press_one)
    }

    #[test]
    fn escape_leaves_detail_before_it_quits() {
        use KeyCode::{Enter, Esc};
        let mut screen = with(vec![queue("eth0", 1)]);
        assert_eq!(press_all(&mut screen, &[Enter, Esc]), Continue(()));
        assert!(!screen.in_detail);
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
    fn control_characters_are_not_commands() {
        let mut screen = with((0..9).map(|at| queue(&format!("eth{at}"), at)).collect());
        for modifiers in [KeyModifiers::CONTROL, KeyModifiers::ALT] {
            for code in ['q', 'j', 'p'].map(KeyCode::Char) {
                let pressed = press(&mut screen, KeyEvent::new(code, modifiers));
                assert_eq!(pressed, Continue(()));
            }
        }
        assert_eq!((screen.line(), screen.paused), (0, false));
        let key = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(press(&mut screen, key), Break(()));
    }
}
