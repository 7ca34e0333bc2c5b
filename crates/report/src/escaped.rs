//! Escaping of text in a page.

use std::fmt;

/// Displays any text as HTML text or as the value of a quoted attribute.
pub struct Escaped<'a>(pub &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => fmt::Write::write_char(f, character)?,
                // HTML cannot represent other control characters.
                _ if character.is_control() => f.write_str("\u{fffd}")?,
                _ => fmt::Write::write_char(f, character)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_contains_no_markup() {
        let text = "<script>alert(\"a\" & 'b')</script>\0\u{1b}[31m\nü";
        assert_eq!(
            Escaped(text).to_string(),
            "&lt;script&gt;alert(&quot;a&quot; &amp; &#39;b&#39;)&lt;/script&gt;\
             \u{fffd}\u{fffd}[31m\nü"
        );
    }
}
