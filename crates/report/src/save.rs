//! A page as files, in the form that the name of the file selects.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::slice;

use crate::html::html;
use crate::page::Page;
use crate::plot::picture;

/// Returns `page` as files with their contents. The extension of `path` selects the form:
///
/// - `.svg`: each chart, as `report-1.svg`, `report-2.svg` and so on for `report.svg`;
/// - any other: HTML.
pub fn files(page: &Page<'_>, path: &Path) -> Vec<(PathBuf, String)> {
    if path.extension() != Some(OsStr::new("svg")) {
        return vec![(path.to_owned(), html(page))];
    }
    let picture = |(number, chart)| (numbered(path, number), picture(slice::from_ref(chart)));
    (1..).zip(&page.charts).map(picture).collect()
}

/// Inserts `-number` in front of the extension.
fn numbered(path: &Path, number: usize) -> PathBuf {
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number}.svg"));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chart_files_are_numbered_before_the_extension() {
        assert_eq!(
            numbered(Path::new("docs/rings-forward.svg"), 2),
            Path::new("docs/rings-forward-2.svg")
        );
    }
}
