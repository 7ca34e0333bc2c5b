//! Limits and disciplines by name, with those that a program registers.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::limit::{AnyLimit, Boxed, LIMITS, LimitInfo, ParseLimitError, Spec, limits_help};
use crate::qdisc::{AnyQdisc, DISCIPLINES, Qdisc};

/// Creates a limit from the argument behind its name and a colon.
type MakeLimit = Box<dyn Fn(Option<&str>) -> Result<AnyLimit, String> + Send + Sync>;
/// Creates a discipline from the text behind its name.
type MakeQdisc = Box<dyn Fn(&str) -> Result<Box<dyn Qdisc + Send>, String> + Send + Sync>;

/// The names of limits and disciplines: the built-in ones, and those that a program registers at its
/// start. The caller owns it and parses through it.
///
/// ```
/// use taut_path::limit::{Fixed, LimitInfo};
/// use taut_path::qdisc::Fifo;
/// use taut_path::{AnyLimit, Registry};
///
/// let mut registry = Registry::new();
/// let info = LimitInfo {
///     name: "pair",
///     usage: "pair",
///     help: "two packets",
///     learns: false,
/// };
/// registry.register_limit(info, |_argument| Ok(AnyLimit::new(Fixed::packets(2))))?;
/// registry.register_qdisc("tiny", |_parameters| Ok(Box::new(Fifo::new(3))))?;
///
/// assert_eq!(registry.limit("pair:2ms")?.to_string(), "2p:2ms");
/// assert_eq!(registry.limit("dql")?, AnyLimit::dql());
/// assert_eq!(registry.qdisc("tiny")?.to_string(), "tiny");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Registry {
    limits: Vec<(LimitInfo, MakeLimit)>,
    qdiscs: Vec<(&'static str, MakeQdisc)>,
}

/// The name is built-in or registered already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameTaken(pub &'static str);

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name {} is taken", self.0)
    }
}

impl core::error::Error for NameTaken {}

impl Registry {
    /// The built-in limits and disciplines.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a limit. `make` receives the argument behind its name, and returns a limit or a message for
    /// the user. `:packets` (if the limit learns) and a cap in time may follow as for any limit.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn register_limit(
        &mut self,
        info: LimitInfo,
        make: impl Fn(Option<&str>) -> Result<AnyLimit, String> + Send + Sync + 'static,
    ) -> Result<(), NameTaken> {
        if self.limits().any(|known| known.name == info.name) {
            return Err(NameTaken(info.name));
        }
        self.limits.push((info, Box::new(make)));
        Ok(())
    }

    /// Adds a discipline. `make` receives the text behind its name, and returns a discipline or a
    /// message for the user.
    ///
    /// # Errors
    /// If the name is taken.
    pub fn register_qdisc(
        &mut self,
        name: &'static str,
        make: impl Fn(&str) -> Result<Box<dyn Qdisc + Send>, String> + Send + Sync + 'static,
    ) -> Result<(), NameTaken> {
        if self.qdiscs().any(|known| known == name) {
            return Err(NameTaken(name));
        }
        self.qdiscs.push((name, Box::new(make)));
        Ok(())
    }

    /// The limits with a name, built-in ones first.
    pub fn limits(&self) -> impl Iterator<Item = &LimitInfo> {
        LIMITS
            .iter()
            .chain(self.limits.iter().map(|(info, _)| info))
    }

    /// The names of the disciplines, built-in ones first.
    pub fn qdiscs(&self) -> impl Iterator<Item = &'static str> + '_ {
        let registered = self.qdiscs.iter().map(|&(name, _)| name);
        DISCIPLINES
            .iter()
            .map(|discipline| discipline.name)
            .chain(registered)
    }

    /// Help text for every limit, one line for each.
    pub fn limits_help(&self) -> String {
        let registered = self.limits.iter();
        let line =
            |(info, _): &(LimitInfo, MakeLimit)| format!("\n  {:<13} {}", info.usage, info.help);
        limits_help() + &registered.map(line).collect::<String>()
    }

    /// Parses a limit.
    ///
    /// # Errors
    /// If it is neither registered nor built-in, or its maker rejects it.
    pub fn limit(&self, text: &str) -> Result<AnyLimit, ParseLimitError> {
        let spec = Spec::split(text);
        let mut registered = self.limits.iter();
        if let Some((info, make)) = registered.find(|(info, _)| info.name == spec.name) {
            let limit = make(spec.argument.0).map_err(ParseLimitError::Registered)?;
            return match spec.is_plain() {
                true => Ok(limit),
                false => spec.visit(limit, info.learns, Boxed),
            };
        }
        text.parse().map_err(|error| match error {
            ParseLimitError::Unknown(_) if !self.limits.is_empty() => {
                let usages = self.limits.iter().map(|(info, _)| info.usage);
                let usages = usages.collect::<Vec<_>>().join(", ");
                ParseLimitError::Registered(format!("{error}; or {usages}"))
            }
            error => error,
        })
    }

    /// Parses a discipline.
    ///
    /// # Errors
    /// A message for the user.
    pub fn qdisc(&self, text: &str) -> Result<AnyQdisc, String> {
        let trimmed = text.trim();
        let (name, parameters) = match trimmed.split_once(char::is_whitespace) {
            Some((name, parameters)) => (name, parameters.trim()),
            None => (trimmed, ""),
        };
        match self.qdiscs.iter().find(|(known, _)| *known == name) {
            Some((_, make)) => make(parameters).map(|qdisc| AnyQdisc::new(trimmed, qdisc)),
            None => text.parse().map_err(|error| {
                let registered = self.qdiscs.iter().map(|&(name, _)| name);
                registered.fold(format!("{error}"), |text, name| text + ", " + name)
            }),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("limits", &self.limits.len())
            .field("qdiscs", &self.qdiscs.len())
            .finish()
    }
}
