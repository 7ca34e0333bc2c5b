//! How results are shown: text for people, CSV for programs, a page for a browser.

pub mod axis;
pub mod chart;
pub mod csv;
pub mod file;
pub mod flat;
mod html;
pub mod layout;
pub mod limit_color;
pub mod number;
pub mod page;
mod svg;
pub mod text;
pub mod verdict;
