//! Limits and disciplines by name, with those that a program registers.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::limit::{
    AnyLimit, Boxed, LIMITS, LimitInfo, ParseLimitError, Spec, builtin_limits_help, visit_limit,
};
use crate::qdisc::{AnyQdisc, DISCIPLINES, ParseQdiscError, Qdisc, builtin_qdisc};

/// Creates a limit from the argument behind its name and a colon.
type MakeLimit = Arc<dyn Fn(Option<&str>) -> Result<AnyLimit, String> + Send + Sync>;
/// Creates a discipline from the text behind its name.
type MakeQdisc = Arc<dyn Fn(&str) -> Result<Box<dyn Qdisc + Send>, String> + Send + Sync>;

/// The registry of the process.
#[cfg(feature = "std")]
static INSTALLED: std::sync::RwLock<Registry> = std::sync::RwLock::new(Registry::new());

/// The names of limits and disciplines: the built-in ones, and those that a program registers at
/// its start.
///
/// The caller owns a registry and parses through it. With the feature `std`, `Registry::install`
/// makes its names known to everything in the process that parses a limit or a discipline.
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
///     adapts: false,
/// };
/// registry.register_limit(info, |_argument| Ok(AnyLimit::new(Fixed::packets(2))))?;
/// registry.register_qdisc("tiny", "three packets", |_parameters| Ok(Box::new(Fifo::new(3))))?;
///
/// assert_eq!(registry.limit("pair:2ms")?.to_string(), "2p:2ms");
/// assert_eq!(registry.limit("dql")?, AnyLimit::dql());
/// assert_eq!(registry.qdisc("tiny")?.to_string(), "tiny");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct Registry {
    limits: Vec<(LimitInfo, MakeLimit)>,
    qdiscs: Vec<RegisteredQdisc>,
}

#[derive(Clone)]
struct RegisteredQdisc {
    name: &'static str,
    help: &'static str,
    make: MakeQdisc,
}

/// A limit or a discipline cannot be registered under its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name is built-in or registered already.
    #[error("the name {0} is taken")]
    Taken(&'static str),
    /// Not a letter followed by letters, digits, `-` and `_`. Another name could not be parsed, or
    /// would hide a number such as `40k`.
    #[error("the name is {0:?}; allowed: a letter, then letters, digits, - and _")]
    Invalid(&'static str),
}

impl Registry {
    /// The built-in limits and disciplines.
    pub const fn new() -> Self {
        Self {
            limits: Vec::new(),
            qdiscs: Vec::new(),
        }
    }

    /// Adds a limit. `make` receives the argument behind the name, and returns a limit or a message
    /// for the user. It receives none if `usage` is the name alone. `:packets` (if the limit
    /// adapts) and a time cap can follow as for any limit, so `make` never receives these words or
    /// a time such as `5ms`. `Display` of the limit must write the text that creates it.
    ///
    /// # Errors
    /// If the name is taken or not a name.
    pub fn register_limit(
        &mut self,
        info: LimitInfo,
        make: impl Fn(Option<&str>) -> Result<AnyLimit, String> + Send + Sync + 'static,
    ) -> Result<(), NameError> {
        // `fixed` is the smallest sufficient fixed limit, in the results of `sim limit-rules`.
        let known = self.limits().map(|known| known.name);
        check(info.name, known.chain(["fixed"]))?;
        self.limits.push((info, Arc::new(make)));
        Ok(())
    }

    /// Adds a discipline, with its help in one line, which also names its parameters. `make`
    /// receives the text behind the name, and returns a discipline or a message for the user.
    ///
    /// # Errors
    /// If the name is taken or not a name.
    pub fn register_qdisc(
        &mut self,
        name: &'static str,
        help: &'static str,
        make: impl Fn(&str) -> Result<Box<dyn Qdisc + Send>, String> + Send + Sync + 'static,
    ) -> Result<(), NameError> {
        check(name, self.qdiscs().map(|(name, _)| name))?;
        let make = Arc::new(make);
        self.qdiscs.push(RegisteredQdisc { name, help, make });
        Ok(())
    }

    /// Installs the names for the whole process: options, scenario files and all other users of
    /// [`AnyLimit`] or [`AnyQdisc`] accept them. They cannot be removed.
    ///
    /// ```standalone_crate
    /// use taut_path::limit::{AnyLimit, Fixed, LimitInfo};
    /// use taut_path::Registry;
    ///
    /// let mut registry = Registry::new();
    /// let info = LimitInfo {
    ///     name: "pair",
    ///     usage: "pair",
    ///     help: "two packets",
    ///     adapts: false,
    /// };
    /// registry.register_limit(info, |_argument| Ok(AnyLimit::new(Fixed::packets(2))))?;
    /// registry.install()?;
    /// assert_eq!("pair".parse::<AnyLimit>()?, AnyLimit::packets(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a name is taken; the names before it are installed.
    #[cfg(feature = "std")]
    pub fn install(self) -> Result<(), NameError> {
        let mut installed = INSTALLED
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for (info, make) in self.limits {
            installed.register_limit(info, move |argument| make(argument))?;
        }
        for RegisteredQdisc { name, help, make } in self.qdiscs {
            installed.register_qdisc(name, help, move |parameters| make(parameters))?;
        }
        Ok(())
    }

    /// Returns the names of the whole process: the built-in ones and those that were installed.
    pub fn installed() -> Self {
        #[cfg(feature = "std")]
        let registry = INSTALLED
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone();
        #[cfg(not(feature = "std"))]
        let registry = Self::new();
        registry
    }

    /// Returns the limits with a name, built-in ones first.
    pub fn limits(&self) -> impl Iterator<Item = &LimitInfo> {
        LIMITS
            .iter()
            .chain(self.limits.iter().map(|(info, _)| info))
    }

    /// Returns the name and the help of each discipline, built-in ones first.
    pub fn qdiscs(&self) -> impl Iterator<Item = (&'static str, &'static str)> + '_ {
        let registered = self.qdiscs.iter().map(|known| (known.name, known.help));
        DISCIPLINES
            .iter()
            .map(|discipline| (discipline.name, discipline.help))
            .chain(registered)
    }

    /// Returns help for every limit, one line for each.
    pub fn limits_help(&self) -> String {
        let registered = self.limits.iter();
        let line =
            |(info, _): &(LimitInfo, MakeLimit)| format!("\n  {:<13} {}", info.usage, info.help);
        builtin_limits_help() + &registered.map(line).collect::<String>()
    }

    /// Parses a limit.
    ///
    /// # Errors
    /// If it is neither registered nor built-in, or its maker rejects it.
    pub fn limit(&self, text: &str) -> Result<AnyLimit, ParseLimitError> {
        let spec = Spec::split(text);
        let mut registered = self.limits.iter();
        if let Some((info, make)) = registered.find(|(info, _)| info.name == spec.name) {
            if spec.argument.is_some() && info.usage == info.name {
                return Err(ParseLimitError::NoArgument);
            }
            let limit = make(spec.argument).map_err(ParseLimitError::Registered)?;
            return match spec.is_plain() {
                true => Ok(limit),
                false => spec.visit(limit, info.adapts, Boxed),
            };
        }
        visit_limit(text, Boxed).map_err(|error| match error {
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
    /// If it is neither registered nor built-in, or its maker rejects it.
    pub fn qdisc(&self, text: &str) -> Result<AnyQdisc, ParseQdiscError> {
        let trimmed = text.trim();
        let (name, parameters) = trimmed
            .split_once(char::is_whitespace)
            .unwrap_or((trimmed, ""));
        if let Some(qdisc) = self.qdiscs.iter().find(|known| known.name == name) {
            let made = (qdisc.make)(parameters.trim()).map_err(ParseQdiscError::registered)?;
            return Ok(AnyQdisc::from_box(trimmed, made));
        }
        builtin_qdisc(text, self.qdiscs.iter().map(|known| known.name))
    }
}

/// Checks a name that is to be added to `known`.
fn check(
    name: &'static str,
    mut known: impl Iterator<Item = &'static str>,
) -> Result<(), NameError> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(is_allowed) {
        return Err(NameError::Invalid(name));
    }
    match known.any(|known| known == name) {
        true => Err(NameError::Taken(name)),
        false => Ok(()),
    }
}

impl FromStr for AnyLimit {
    type Err = ParseLimitError;

    fn from_str(text: &str) -> Result<Self, ParseLimitError> {
        Registry::installed().limit(text)
    }
}

impl FromStr for AnyQdisc {
    type Err = ParseQdiscError;

    fn from_str(text: &str) -> Result<Self, ParseQdiscError> {
        Registry::installed().qdisc(text)
    }
}

/// Creates the discipline that `text` names, such as `codel limit 1000 target 5ms`.
///
/// # Errors
/// Contains the offending token and the allowed ones.
pub fn by_name(text: &str) -> Result<Box<dyn Qdisc + Send>, ParseQdiscError> {
    text.parse().map(AnyQdisc::into_inner)
}

/// Returns `true` if the discipline that `text` names marks packets instead of dropping them, so
/// that its senders should negotiate ECN. `false` for a text that is not a discipline.
pub fn marks_ecn(text: &str) -> bool {
    text.parse::<AnyQdisc>().is_ok_and(|qdisc| {
        let spelled = qdisc.to_string();
        let mut tokens = spelled.split(' ');
        tokens.any(|token| matches!(token, "ecn" | "ce_threshold"))
    })
}

/// Returns help for every limit of the process, one line for each.
pub fn limits_help() -> String {
    Registry::installed().limits_help()
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("limits", &self.limits.len())
            .field("qdiscs", &self.qdiscs.len())
            .finish()
    }
}
