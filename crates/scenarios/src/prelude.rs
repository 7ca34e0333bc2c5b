//! Common imports of the scenarios.

pub(crate) use crate::error::ScenarioError;
pub(crate) use crate::scenario::{Cases, Results, Scenario};
pub(crate) use crate::schema::settings;
pub(crate) use crate::trace_row::TraceRow;
pub(crate) use crate::validation;
pub(crate) use serde_json::{Value, json};
pub(crate) use taut_path::units::{Rate, Size, Time};
pub(crate) use taut_report::document::{Series, Summary};
pub(crate) use taut_report::number::per_second;
