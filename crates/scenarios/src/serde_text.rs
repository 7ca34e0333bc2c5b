//! Modules for `#[serde(with)]`: values that are stored as text and parsed from it.

/// A value as text.
pub mod as_text {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    /// Writes the value as text.
    ///
    /// # Errors
    /// The errors of the serializer.
    pub fn serialize<T: Display, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    /// Parses the value from text.
    ///
    /// # Errors
    /// If the value is not a text, or the text does not parse.
    pub fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// A list of values as texts.
pub mod as_texts {
    use std::fmt::Display;
    use std::str::FromStr;

    use serde::{Deserialize, Deserializer, Serializer, de};

    /// Writes each value as text.
    ///
    /// # Errors
    /// The errors of the serializer.
    pub fn serialize<T: Display, S: Serializer>(values: &[T], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(values.iter().map(T::to_string))
    }

    /// Parses each value from its text.
    ///
    /// # Errors
    /// If an item is not a text or does not parse. The error contains its position, counted from 1.
    pub fn deserialize<'de, T, D>(from: D) -> Result<Vec<T>, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let texts = Vec::<String>::deserialize(from)?;
        let values = texts.iter().enumerate().map(|(at, text)| {
            let value = text.parse();
            value.map_err(|error: T::Err| {
                de::Error::custom(format!("{text:?}, number {}: {error}", at + 1))
            })
        });
        values.collect()
    }
}
