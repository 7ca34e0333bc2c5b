//! Settings of a file, defined once: name, type and allowed range of each.

use serde::de::DeserializeOwned;

use crate::scenario::Scenario;

/// A scenario of a file, created by `settings!`.
///
/// Its file contains all settings, and their defaults.
pub trait Schema: Scenario + DeserializeOwned {
    /// The scenario's name, which is also the value of its file's first key.
    const NAME: &'static str;
    /// Its file, a TOML text.
    const FILE: &'static str;

    /// Validates every setting.
    ///
    /// # Errors
    /// A message with the first invalid key, its value and the allowed range.
    fn validate(&self) -> Result<(), String>;

    /// Returns the settings of its file.
    fn defaults() -> Self {
        toml::from_str(Self::FILE).expect("a test reads every file")
    }
}

/// Defines the settings of a scenario as a struct with a rule for each: `key: Type => rule`, or
/// `key: Type where rule` for a rule that needs other settings (by reference, under their names)
/// and is checked after the rest. A rule is a function of key and value; see [`crate::validation`].
macro_rules! settings {
    ($type:ident, $name:literal {
        $($(#[$about:meta])* $key:ident: $kind:ty $(where $late:expr)? $(=> $rule:expr)?,)*
    }) => {
        /// The settings of the scenario.
        #[derive(Debug, Clone, PartialEq, serde::Deserialize, serde::Serialize)]
        #[serde(deny_unknown_fields)]
        pub struct $type {
            #[doc = concat!("`", $name, "`.")]
            pub scenario: String,
            /// Settings of which every combination is run, each with its values.
            #[serde(default, skip_serializing)]
            pub sweep: Option<toml::Table>,
            $($(#[$about])* pub $key: $kind,)*
        }

        impl $crate::schema::Schema for $type {
            const NAME: &'static str = $name;
            const FILE: &'static str = $crate::description::file!($name);

            #[allow(unused_variables, reason = "few rules need other settings")]
            fn validate(&self) -> Result<(), String> {
                let Self { $($key,)* .. } = self;
                $($($rule(stringify!($key), $key)?;)?)*
                $($($late(stringify!($key), $key)?;)?)*
                Ok(())
            }
        }
    };
}

pub(crate) use settings;
