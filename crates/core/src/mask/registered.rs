//! Values that are secret because somebody said so, in every form in which they may come by.

use super::tag::{Tag, TagKey};

/// A shorter text may stand anywhere.
pub(super) const SHORTEST: usize = 8;

/// One form of a registered value. The form itself is not kept: its first bytes find it, its digest knows it.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) length: usize,
    pub(super) fingerprint: [u8; 32],
    pub(super) tag: Tag,
}

/// How many bytes of a form are kept to find it.
pub(super) const KEPT: usize = 4;

/// The forms of a value, each with its first bytes.
pub(super) fn forms(value: &str, key: &TagKey) -> Vec<(Vec<u8>, Form)> {
    let tag = key.tag(value.as_bytes());
    let form = |text: Vec<u8>| {
        let first = text.get(..KEPT).unwrap_or_default().to_vec();
        (first, Form { length: text.len(), fingerprint: key.fingerprint(&text), tag })
    };
    written(value).into_iter().map(form).collect()
}

/// All ways to write it: as it is, as JSON, as a URL, in hexadecimal digits, and inside of base64.
fn written(value: &str) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut add = |text: Vec<u8>| {
        if text.len() >= SHORTEST && !all.contains(&text) {
            all.push(text);
        }
    };
    add(value.as_bytes().to_vec());
    let mut json = String::new();
    crate::json::write_escaped(value, &mut json);
    let json = json
        .strip_prefix('"')
        .and_then(|json| json.strip_suffix('"'))
        .unwrap_or_default()
        .to_owned();
    let ascii = escaped_for_ascii(&json);
    for text in [&json, &ascii] {
        let slashes = text.replace('/', "\\/");
        // Inside of a string inside of a string.
        for text in [text.clone(), slashes] {
            add(text.replace('\\', "\\\\").replace('"', "\\\"").into_bytes());
            add(text.into_bytes());
        }
    }
    for (is_kept, is_upper) in [
        (UNRESERVED, true),
        (UNRESERVED, false),
        (COMPONENT, true),
        (COMPONENT, false),
        ("-_.*", true),
    ] {
        let text = percent(value, is_kept, is_upper);
        add(text.replace("%20", "+").into_bytes());
        add(text.into_bytes());
    }
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    add(hex.to_ascii_uppercase().into_bytes());
    add(hex.into_bytes());
    for shift in 0..3 {
        for letters in [STANDARD, FOR_URLS] {
            add(base64(value.as_bytes(), shift, letters));
        }
    }
    all
}

const UNRESERVED: &str = "-_.~";
/// What JavaScript's `encodeURIComponent` leaves as it is, beside letters and digits.
const COMPONENT: &str = "-_.~!*'()";
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn escaped_for_ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if char.is_ascii() {
            out.push(char);
        } else {
            char.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        }
    }
    out
}

fn percent(value: &str, kept: &str, is_upper: bool) -> String {
    value
        .bytes()
        .map(|byte| match byte {
            _ if byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte) => {
                char::from(byte).to_string()
            }
            _ if is_upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        })
        .collect()
}

/// What base64 makes of the bytes where so many bytes of a group stand before them: without the letters at both ends
/// that they share with their neighbours.
fn base64(bytes: &[u8], shift: usize, letters: &[u8; 64]) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut bits, mut count) = (0_u32, 0_u32);
    for byte in std::iter::repeat_n(&0, shift).chain(bytes) {
        bits = bits << 8 | u32::from(*byte);
        count += 8;
        while count >= 6 {
            count -= 6;
            let at = usize::try_from(bits >> count & 63).unwrap_or_default();
            out.extend(letters.get(at));
        }
    }
    out.drain(..(shift * 8).div_ceil(6));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_in_all_ways() {
        let texts: Vec<String> = written("p+ss/w\"rd é")
            .into_iter()
            .map(|text| String::from_utf8(text).unwrap())
            .collect();
        for text in [
            "p+ss/w\"rd é",
            "p+ss/w\\\"rd é",
            "p+ss\\/w\\\"rd é",
            "p+ss/w\\\"rd \\u00e9",
            "p+ss/w\\\\\\\"rd é",
            "p%2Bss%2Fw%22rd%20%C3%A9",
            "p%2bss%2fw%22rd%20%c3%a9",
            "p%2Bss%2Fw%22rd+%C3%A9",
            "702b73732f77227264",
            "cCtzcy93InJkIM",
        ] {
            assert!(texts.iter().any(|written| written.starts_with(text)), "{text}: {texts:?}");
        }
        // `xsecretsecret` is `eHNlY3JldHNlY3JldA==`; its first two letters and the last one are not the secret's alone.
        assert_eq!(base64(b"secretsecret", 1, STANDARD), b"NlY3JldHNlY3Jld");
    }
}
