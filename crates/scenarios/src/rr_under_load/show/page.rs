//! Results of the experiment as a page for a browser.

use taut_report::document::Document;
use taut_report::page::{Origin, Page};

use super::super::settings::Settings;
use super::charts::{Drawn, REMARK, charts};
use crate::description::Description;
use crate::schema::Schema;

/// Returns the page; `command` reproduces it.
pub fn page<'d>(
    document: &'d Document,
    origin: Origin,
    drawn: &[Drawn],
    length_ns: u64,
    command: String,
) -> Page<'d> {
    Page {
        document,
        origin,
        about: &Description::of(Settings::NAME).about,
        charts: charts(drawn, length_ns),
        remark: Some(REMARK.to_owned()),
        command,
    }
}
