//! Writes JSON, commas and escapes included.

use super::raw::{Extra, Raw};
use super::string::write_escaped;
use std::fmt::Write as _;

/// Appends JSON to a string. Commas are written automatically.
///
/// ```
/// use thinkthrough_json::Writer;
/// let mut w = Writer::new();
/// w.object(|w| {
///     w.field_str("type", "thinking");
///     w.key("list").array(|w| w.u64(1));
/// });
/// assert_eq!(w.finish(), r#"{"type":"thinking","list":[1]}"#);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Writer {
    out: String,
    comma: bool,
}

impl Writer {
    /// An empty writer.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the written text.
    #[must_use]
    pub fn finish(self) -> String {
        self.out
    }

    /// Returns the text on one line. Raw values may span several lines; a line break in JSON only occurs between
    /// tokens, so that it can be left out.
    #[must_use]
    pub fn finish_line(self) -> String {
        let text = self.finish();
        if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], "") } else { text }
    }

    /// Writes an object whose members `body` writes.
    pub fn object(&mut self, body: impl FnOnce(&mut Self)) {
        self.nested('{', '}', body);
    }

    /// Writes an array whose elements `body` writes.
    pub fn array(&mut self, body: impl FnOnce(&mut Self)) {
        self.nested('[', ']', body);
    }

    fn nested(&mut self, open: char, close: char, body: impl FnOnce(&mut Self)) {
        self.before();
        self.out.push(open);
        self.comma = false;
        body(self);
        self.out.push(close);
        self.comma = true;
    }

    /// Starts a member; its value must follow.
    pub fn key(&mut self, key: &str) -> &mut Self {
        self.before();
        write_escaped(key, &mut self.out);
        self.out.push(':');
        self.comma = false;
        self
    }

    /// Writes a string.
    pub fn str(&mut self, text: &str) {
        self.before();
        write_escaped(text, &mut self.out);
        self.comma = true;
    }

    /// Writes a value as it was written before.
    pub fn raw(&mut self, raw: &Raw) {
        self.raw_str(raw.as_str());
    }

    /// Writes a text that must be one JSON value.
    pub fn raw_str(&mut self, raw: &str) {
        self.before();
        self.out.push_str(raw);
        self.comma = true;
    }

    /// Writes a number.
    pub fn u64(&mut self, number: u64) {
        self.before();
        // Writing into a string cannot fail.
        let _ = write!(self.out, "{number}");
        self.comma = true;
    }

    /// Writes `true` or `false`.
    pub fn bool(&mut self, value: bool) {
        self.raw_str(if value { "true" } else { "false" });
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.raw_str("null");
    }

    /// Writes a member with a string.
    pub fn field_str(&mut self, key: &str, value: &str) {
        self.key(key).str(value);
    }

    /// Writes a member with a value as it was written before.
    pub fn field_raw(&mut self, key: &str, value: &Raw) {
        self.key(key).raw(value);
    }

    /// Writes a member with a number.
    pub fn field_u64(&mut self, key: &str, value: u64) {
        self.key(key).u64(value);
    }

    /// Writes a member with `true` or `false`.
    pub fn field_bool(&mut self, key: &str, value: bool) {
        self.key(key).bool(value);
    }

    /// Writes a member with a string, if there is one.
    pub fn opt_str(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.field_str(key, value);
        }
    }

    /// Writes a member with a string, or `null`.
    pub fn str_or_null(&mut self, key: &str, value: Option<&str>) {
        match value {
            Some(value) => self.field_str(key, value),
            None => self.key(key).null(),
        }
    }

    /// Writes a member with a number, or `null`.
    pub fn u64_or_null(&mut self, key: &str, value: Option<u64>) {
        match value {
            Some(value) => self.field_u64(key, value),
            None => self.key(key).null(),
        }
    }

    /// Writes the members of an object, but for `without`, inside an open object.
    pub fn members(&mut self, object: &Raw, without: &str) {
        for (key, value) in object.doc().root().entries().filter(|(key, _)| key != without) {
            self.key(&key).raw_str(value.raw());
        }
    }

    /// Writes the fields that came on `wire`, inside an open object.
    pub fn extra(&mut self, extra: &Extra, wire: &str) {
        for (key, value) in extra.of(wire) {
            self.field_raw(key, value);
        }
    }

    fn before(&mut self) {
        if self.comma {
            self.out.push(',');
        }
    }
}
