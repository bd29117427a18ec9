//! Values that are secret because they were registered, in every form in which they may occur.

use super::tag::{Tag, TagKey};

/// A shorter text may occur anywhere.
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
    let form = |(text, kept): (Vec<u8>, usize)| {
        let first = text.get(..kept).unwrap_or_default().to_vec();
        (first, Form { length: text.len(), fingerprint: key.fingerprint(&text), tag })
    };
    written(value).into_iter().map(form).collect()
}

/// All ways to write a value, each once, and how much of each is kept.
#[derive(Default)]
struct Ways(Vec<(Vec<u8>, usize)>);

impl Ways {
    fn add(&mut self, text: impl Into<Vec<u8>>) {
        self.add_keeping(text, KEPT);
    }

    fn add_keeping(&mut self, text: impl Into<Vec<u8>>, kept: usize) {
        let text = text.into();
        if text.len() >= SHORTEST && !self.0.iter().any(|(known, _)| *known == text) {
            self.0.push((text, kept));
        }
    }
}

/// All ways to write it: as it is, as JSON, as a URL, in hexadecimal digits, and inside of base64.
fn written(value: &str) -> Vec<(Vec<u8>, usize)> {
    let mut all = Ways::default();
    all.add(value);
    json(value, &mut all);
    percents(value, &mut all);
    html(value, &mut all);
    all.add(value.replace('\'', "'\\''"));
    all.add(value.replace('\n', "\r\n"));
    let hex: String = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    all.add(hex.to_ascii_uppercase());
    all.add(hex);
    for shift in 0..3 {
        let text = base64(value.as_bytes(), shift, STANDARD);
        let signs = |plus: &str, slash: &str| text.replace('+', plus).replace('/', slash);
        // As a part of a URL, and as JSON of writers that escape slashes or signs.
        for (plus, slash) in [
            ("%2B", "%2F"),
            ("%2b", "%2f"),
            ("%252B", "%252F"),
            ("+", "\\/"),
            ("+", "\\\\/"),
            ("\\u002B", "/"),
            ("\\u002b", "/"),
            ("\\u002B", "\\/"),
        ] {
            all.add(signs(plus, slash));
        }
        all.add(base64(value.as_bytes(), shift, FOR_URLS));
        all.add(text);
    }
    all.0
}

/// Adds the forms of JSON writers: with more or fewer escapes, in large or small digits, and in nested strings.
fn json(value: &str, all: &mut Ways) {
    let mut json = String::new();
    thinkthrough_json::write_escaped(value, &mut json);
    let plain = json.strip_prefix('"').and_then(|json| json.strip_suffix('"'));
    let plain = plain.unwrap_or_default();
    let html = |char| matches!(char, '<' | '>' | '&');
    let mut texts = Vec::new();
    for escapes in [
        (|_| false) as fn(char) -> bool,
        |char| char == '\u{7f}',
        |char| !char.is_ascii(),
        |char| !char.is_ascii() || char == '\u{7f}',
        |char| matches!(char, '\u{2028}' | '\u{2029}'),
        |char| !char.is_ascii() && char < '\u{10000}',
    ] {
        texts.push(escaped(plain, &escapes));
        texts.push(escaped(plain, &|char| escapes(char) || html(char)));
    }
    texts.dedup();
    for text in texts {
        for text in [text.replace('/', "\\/"), text] {
            for text in [large_digits(&text), text] {
                let twice = text.replace('\\', "\\\\").replace('"', "\\\"");
                all.add(twice.replace('\\', "\\\\").replace('"', "\\\""));
                all.add(twice);
                all.add(text);
            }
        }
    }
    // Every letter of it: two of them are kept.
    let units: String = value.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    all.add_keeping(large_digits(&units), 2 * "\\u0000".len());
    all.add_keeping(units, 2 * "\\u0000".len());
}

/// As the text of HTML, as its writers escape quotes and other signs, or do not, and as a string of JSON with that.
fn html(value: &str, all: &mut Ways) {
    let mut add = |text: String| {
        let json = text.replace('\\', "\\\\").replace('"', "\\\"");
        all.add(json.replace('/', "\\/"));
        all.add(json);
        all.add(text);
    };
    let text = value.replace('&', "&amp;").replace('<', "&lt;");
    for text in [text.replace('>', "&gt;"), text] {
        for double in ["\"", "&quot;", "&#34;"] {
            for single in ["'", "&#39;", "&#x27;", "&apos;", "&#039;"] {
                let text = text.replace('"', double).replace('\'', single);
                let ticks = text.replace('`', "&#x60;").replace('=', "&#x3D;");
                add(text.replace('+', "&#43;"));
                add(ticks.replace('/', "&#x2F;"));
                add(ticks);
                add(text.replace('/', "&#x2F;"));
                add(text);
            }
        }
    }
}

/// As a part of a URL, once and twice.
fn percents(value: &str, all: &mut Ways) {
    for kept in [UNRESERVED, COMPONENT, "-_.*", PATH, WHOLE] {
        for is_upper in [true, false] {
            let text = percent(value, kept, is_upper);
            all.add(text.replace("%20", "+"));
            all.add(percent(&text, kept, is_upper));
            all.add(text);
        }
    }
    for is_upper in [true, false] {
        let digits = |byte| if is_upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") };
        let text: String = value.bytes().map(digits).collect();
        all.add_keeping(text, 2 * "%00".len());
    }
}

const UNRESERVED: &str = "-_.~";
/// The characters besides letters and digits that JavaScript's `encodeURIComponent` leaves as they are.
const COMPONENT: &str = "-_.~!*'()";
/// The characters that Python's `quote` leaves as they are.
const PATH: &str = "-_.~/";
/// The characters that JavaScript's `encodeURI` leaves as they are.
const WHOLE: &str = ";,/?:@&=+$-_.!~*'()#";
const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const FOR_URLS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The text with some of its signs as `\u0026`.
fn escaped(json: &str, is_escaped: &dyn Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(json.len());
    for char in json.chars() {
        if is_escaped(char) {
            char.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
        } else {
            out.push(char);
        }
    }
    out
}

/// Writes the digits behind `\u` in large letters.
fn large_digits(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut is_slash, mut digits) = (false, 0);
    for char in json.chars() {
        out.push(if digits > 0 { char.to_ascii_uppercase() } else { char });
        digits = if is_slash && char == 'u' { 4 } else { usize::saturating_sub(digits, 1) };
        is_slash = char == '\\' && !is_slash;
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

/// Encodes the bytes in base64 as if `shift` bytes of a group came before them. Leaves out the letters at both ends,
/// which depend on the neighbouring bytes.
fn base64(bytes: &[u8], shift: usize, letters: &[u8; 64]) -> String {
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
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_as_html_and_as_base64_in_other_texts() {
        let texts: Vec<String> = written("a'b\"c=d+e`f>>>???/~~")
            .into_iter()
            .map(|(text, _)| String::from_utf8(text).unwrap())
            .collect();
        for text in [
            "a'b\"c=d+e`f&gt;&gt;&gt;???/~~",
            "a&apos;b\"c=d+e`f&gt;&gt;&gt;???/~~",
            "a&#x27;b&quot;c&#x3D;d+e&#x60;f&gt;",
            "a&#39;b&#34;c=d&#43;e`f&gt;",
            "a&#39;b&quot;c&#x3D;d+e&#x60;f&gt;&gt;&gt;???&#x2F;~~",
            "YSdiImM9ZCtlYGY%2BPj4%2FPz8vfn",
            "YSdiImM9ZCtlYGY%2bPj4%2fPz8vfn",
            "YSdiImM9ZCtlYGY+Pj4\\/Pz8vfn",
            "YSdiImM9ZCtlYGY\\u002BPj4/Pz8vfn",
        ] {
            assert!(texts.iter().any(|written| written.starts_with(text)), "{text}: {texts:?}");
        }
    }

    #[test]
    fn a_value_is_written_in_all_ways() {
        let texts: Vec<String> = written("p+ss/w\"rd é")
            .into_iter()
            .map(|(text, _)| String::from_utf8(text).unwrap())
            .collect();
        for text in [
            "p+ss/w\"rd é",
            "p+ss/w\\\"rd é",
            "p+ss\\/w\\\"rd é",
            "p+ss/w\\\"rd \\u00e9",
            "p+ss/w\\\"rd \\u00E9",
            "p+ss/w\\\\\\\\\\\\\\\"rd",
            "p+ss/w&quot;rd",
            "\\u0070\\u002b\\u0073",
            "\\u0070\\u002B\\u0073",
            "%70%2B%73",
            "p%2Bss/w%22rd%20%C3%A9",
            "p+ss/w%22rd%20%C3%A9",
            "p%252Bss%252Fw%2522rd%2520",
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
        assert_eq!(base64(b"secretsecret", 1, STANDARD), "NlY3JldHNlY3Jld");
    }
}
