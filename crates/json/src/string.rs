//! JSON strings: escapes in and out.

/// Resolves the escapes of a JSON string's inside, which must have passed the parser.
/// A surrogate without its partner becomes U+FFFD.
#[must_use]
pub fn unescape(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    unescape_into(inner, &mut out);
    out
}

/// As [`unescape`], appending to `out`.
pub fn unescape_into(inner: &str, out: &mut String) {
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (plain, escape) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let (char, used) = one_escape(escape);
        out.push(char);
        rest = escape.get(used..).unwrap_or_default();
    }
    out.push_str(rest);
}

/// Decodes the escape at the start of `text`. Returns its character and its length in bytes.
fn one_escape(text: &str) -> (char, usize) {
    let bytes = text.as_bytes();
    let simple = match bytes.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(text),
        Some(&other) => char::from(other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (simple, 2)
}

fn unicode_escape(text: &str) -> (char, usize) {
    let Some(unit) = hex4(text, 2) else { return (char::REPLACEMENT_CHARACTER, text.len()) };
    if let Some(char) = char::from_u32(unit) {
        return (char, 6);
    }
    let is_high = (0xd800..0xdc00).contains(&unit);
    let low = text.get(6..8).filter(|next| is_high && *next == "\\u").and_then(|_| hex4(text, 8));
    match low {
        Some(low) if (0xdc00..0xe000).contains(&low) => {
            let code = 0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
            (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12)
        }
        _ => (char::REPLACEMENT_CHARACTER, 6),
    }
}

fn hex4(text: &str, at: usize) -> Option<u32> {
    u32::from_str_radix(text.get(at..at + 4)?, 16).ok()
}

/// Appends `text` as a JSON string with its quotes, with the least escapes.
pub fn write_escaped(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|b| b == b'"' || b == b'\\' || b < 0x20) {
        let (plain, tail) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('"') => out.push_str("\\\""),
            Some('\\') => out.push_str("\\\\"),
            Some('\n') => out.push_str("\\n"),
            Some('\r') => out.push_str("\\r"),
            Some('\t') => out.push_str("\\t"),
            Some(control) => {
                const HEX: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
                ];
                let code = control as usize;
                out.push_str("\\u00");
                out.extend([code >> 4, code & 15].iter().filter_map(|&digit| HEX.get(digit)));
            }
            None => break,
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
    out.push('"');
}
