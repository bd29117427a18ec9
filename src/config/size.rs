//! Sizes: a number of bytes, or one with its unit.

use super::table::Section;
use toml::Value;

/// The units, and how many bytes each has.
const UNITS: [(&str, usize); 4] = [("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

/// A size; `0` and `"unlimited"` are as much as there can be.
pub(super) fn size(section: Section<'_>, key: &str) -> Result<Option<usize>, String> {
    let Some(value) = section.table.get(key) else { return Ok(None) };
    let bytes = match value {
        Value::Integer(number) => usize::try_from(*number).ok(),
        Value::String(text) if text == "unlimited" => Some(0),
        Value::String(text) => bytes(text),
        _ => None,
    };
    let allowed = "a size, like \"256MiB\", \"64KiB\", a number of bytes, or \"unlimited\"";
    let bytes = bytes.ok_or_else(|| section.wrong(key, allowed))?;
    Ok(Some(if bytes == 0 { usize::MAX } else { bytes }))
}

fn bytes(text: &str) -> Option<usize> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(at)?;
    let unit = match unit.trim() {
        "" => 1,
        unit => UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit))?.1,
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_and_its_unit() {
        let read = |text: &str| {
            let table: toml::Table = format!("a = {text}").parse().unwrap();
            size(Section { name: "server", table: &table }, "a")
        };
        for (text, bytes) in [
            ("1000", 1000),
            ("\"1000\"", 1000),
            ("\"64KiB\"", 65_536),
            ("\"256 MiB\"", 268_435_456),
            ("\"1gib\"", 1_073_741_824),
            ("\"7B\"", 7),
            ("0", usize::MAX),
            ("\"unlimited\"", usize::MAX),
        ] {
            assert_eq!(read(text), Ok(Some(bytes)), "{text}");
        }
        for text in
            ["-1", "1.5", "true", "\"\"", "\"MiB\"", "\"1MB\"", "\"-1KiB\"", "\"99999999999GiB\""]
        {
            let refusal = read(text).unwrap_err();
            assert!(refusal.starts_with("`server.a` must be a size, like \"256MiB\""), "{refusal}");
        }
    }
}
