//! Presentation of a document: its table and its page, in the layout of its scenario.

use taut_report::document::Document;
use taut_report::page::{Origin, Page};
use taut_report::{over_time, text as rows};

use crate::description::Description;
use crate::limit_rules::{self, LimitRulesSettings};
use crate::rr_under_load;
use crate::schema::Schema;
use crate::sweep::swept::SWEEP;

/// Returns the scenario, if it has its own layout; a sweep has that of all others.
fn own_layout(document: &Document) -> Option<&'static str> {
    document.parameters[SWEEP]
        .is_null()
        .then_some(document.scenario)
}

/// Returns the table of the rows with its notes, at most `width` columns wide.
pub fn text(document: &Document, width: Option<usize>) -> String {
    match own_layout(document) {
        Some(rr_under_load::Settings::NAME) => rr_under_load::table::text(document, width),
        Some(LimitRulesSettings::NAME) => limit_rules::show::text(document, width),
        _ => rows::text(document, width),
    }
}

/// Returns the page; `command` reproduces it.
pub fn page(document: &Document, origin: Origin, command: String) -> Page<'_> {
    let (charts, remark) = match own_layout(document) {
        Some(rr_under_load::Settings::NAME) => rr_under_load::charts::charts(document),
        Some(LimitRulesSettings::NAME) => limit_rules::show::charts(document),
        _ => {
            let (charts, left_out) = over_time::charts(document);
            let remark = format!("{left_out} more charts are not drawn.");
            (charts, (left_out > 0).then_some(remark))
        }
    };
    Page {
        document,
        origin,
        about: &Description::of(document.scenario).about,
        charts,
        remark,
        command,
    }
}
