//! Settings that a file states, said once: name, kind and what is allowed of each.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The settings of a scenario: what `settings!` writes.
///
/// Its file states every one of them, and is the default of each.
pub trait Schema: DeserializeOwned + Serialize + Send + Sync + 'static {
    /// The scenario's name, which is also its file's first key.
    const NAME: &'static str;
    /// Its file, a TOML text.
    const FILE: &'static str;

    /// Looks at every setting.
    ///
    /// # Errors
    /// Names the first key that cannot be, its value, and what is allowed.
    fn validate(&self) -> Result<(), String>;

    /// The settings as its file states them.
    fn defaults() -> Self {
        toml::from_str(Self::FILE).expect("a test reads every file")
    }
}

/// The text of a scenario's file.
macro_rules! file {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/files/",
            $name,
            ".toml"
        ))
    };
}

pub(crate) use file;

/// The settings of a scenario, a struct, and what is allowed of each: `key: Kind => rule`, or `key:
/// Kind where rule` for a rule that needs other settings (by reference, under their names), which
/// is looked at after the rest. A rule is a function of key and value; see [`crate::validation`].
macro_rules! settings {
    ($type:ident, $name:literal {
        $($(#[$about:meta])* $key:ident: $kind:ty $(where $late:expr)? $(=> $rule:expr)?,)*
    }) => {
        /// What is run.
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
            const FILE: &'static str = $crate::schema::file!($name);

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
