//! Columns side by side, on a terminal that might be too narrow for them.

use std::fmt::Write;

/// Separators of columns.
#[derive(Debug, Clone, Copy)]
pub struct Separator {
    /// Separator of two cells.
    pub between: &'static str,
    /// Separator on a rule, a line of dashes only.
    pub on_rule: &'static str,
}

/// Two spaces.
pub const SPACES: Separator = Separator {
    between: "  ",
    on_rule: "  ",
};

/// Joins columns of equally wide lines. If they exceed `width`, the remaining columns follow below,
/// again with the first `keys` columns, which identify a line. Lines that are empty in these
/// columns are omitted.
pub fn side_by_side(
    columns: &[Vec<String>],
    keys: usize,
    separator: Separator,
    width: Option<usize>,
) -> String {
    let width_of = |column: &Vec<String>| column.first().map_or(0, |line| line.chars().count());
    let gap = separator.between.chars().count();
    let (keys, others) = columns.split_at(keys.min(columns.len()));
    let key_width: usize = keys.iter().map(|it| width_of(it) + gap).sum();
    let mut out = String::new();
    let mut rest = others;
    loop {
        let mut taken = 0;
        let mut used = key_width.saturating_sub(gap);
        while let Some(column) = rest.get(taken) {
            used += gap + width_of(column);
            // At least one column, so that the loop ends.
            if taken > 0 && width.is_some_and(|width| used > width) {
                break;
            }
            taken += 1;
        }
        let (now, later) = rest.split_at(taken);
        push(&mut out, keys.iter().chain(now), keys.len(), separator);
        rest = later;
        if rest.is_empty() {
            return out;
        }
        out.push('\n');
    }
}

/// Returns a heading and its cells, padded to the widest; numbers are aligned to the right.
pub fn column(heading: &str, cells: Vec<String>, numbers: bool) -> Vec<String> {
    let all = || std::iter::once(heading).chain(cells.iter().map(String::as_str));
    let width = all().map(|it| it.chars().count()).max().unwrap_or(0);
    let aligned = |text: &str| match numbers {
        true => format!("{text:>width$}"),
        false => format!("{text:<width$}"),
    };
    all().map(aligned).collect()
}

fn push<'c>(
    out: &mut String,
    columns: impl Iterator<Item = &'c Vec<String>>,
    keys: usize,
    separator: Separator,
) {
    let columns: Vec<&Vec<String>> = columns.collect();
    for at in 0..columns.first().map_or(0, |column| column.len()) {
        let cells: Vec<&str> = columns.iter().map(|column| column[at].as_str()).collect();
        // A line that is empty in these columns.
        if cells.len() > keys && cells[keys..].iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let is_rule = cells
            .iter()
            .all(|cell| !cell.is_empty() && cell.bytes().all(|byte| byte == b'-'));
        let between = if is_rule {
            separator.on_rule
        } else {
            separator.between
        };
        out.push_str(cells.join(between).trim_end());
        out.push('\n');
    }
}

/// Breaks `text` into lines of at most `width`; the second and later ones are indented by `indent`.
/// Ends with a line feed. A longer word has a line of its own.
pub fn fold(text: &str, indent: usize, width: Option<usize>) -> String {
    let words = text.trim_start_matches(' ');
    let mut used = text.len() - words.len();
    let mut out = " ".repeat(used);
    let mut is_first = true;
    for word in words.split(' ') {
        let length = word.chars().count();
        if !is_first && width.is_some_and(|width| used + 1 + length > width) {
            let _ = write!(out, "\n{:indent$}", "");
            used = indent;
        } else if !is_first {
            out.push(' ');
            used += 1;
        }
        is_first = false;
        out.push_str(word);
        used += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn wide_columns_follow_below_with_keys() {
        let columns = [
            column(&["key", "---", "one"]),
            column(&["   a", "----", "1234"]),
            column(&["   b", "----", "   2"]),
        ];
        let separator = Separator {
            between: " | ",
            on_rule: "-+-",
        };
        let wide = "key |    a |    b\n----+------+-----\none | 1234 |    2\n";
        assert_eq!(side_by_side(&columns, 1, separator, None), wide);
        assert_eq!(side_by_side(&columns, 1, separator, Some(17)), wide);
        assert_eq!(
            side_by_side(&columns, 1, separator, Some(16)),
            "key |    a\n----+-----\none | 1234\n\nkey |    b\n----+-----\none |    2\n"
        );
        let narrow = side_by_side(&columns, 1, separator, Some(1));
        assert_eq!(narrow.lines().count(), 7, "one column at least");
    }

    #[test]
    fn empty_lines_of_a_part_are_omitted() {
        let columns = [
            column(&["a", "b"]),
            column(&["1", "2"]),
            column(&["3", " "]),
        ];
        assert_eq!(
            side_by_side(&columns, 1, SPACES, Some(4)),
            "a  1\nb  2\n\na  3\n"
        );
        assert_eq!(side_by_side(&columns, 1, SPACES, None), "a  1  3\nb  2\n");
    }

    #[test]
    fn no_columns_are_not_an_error() {
        assert_eq!(side_by_side(&[], 1, SPACES, Some(80)), "");
    }

    #[test]
    fn fold_keeps_all_words() {
        assert_eq!(
            fold("  a bb ccc dddd", 4, Some(8)),
            "  a bb\n    ccc\n    dddd\n"
        );
        assert_eq!(fold("  a bb ccc", 4, None), "  a bb ccc\n");
        assert_eq!(fold("indivisible", 2, Some(4)), "indivisible\n");
    }
}
