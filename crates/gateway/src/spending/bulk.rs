//! Estimates the tokens of a request for budgets in dollars: rather too many than too few.

use thinkthrough_core::tokens::estimate_conservative;
use thinkthrough_json::Val;

/// A longer word counts as data, not as text.
const WORD: usize = 4_096;
/// More than any picture counts for at the providers of our rules, however large it is.
const PICTURE: u64 = 8_192;
/// The shortest text that can be a picture.
const LEAST: usize = 64;
/// The Base64 prefixes of PNG, JPEG, GIF and WebP.
const PICTURES: [&str; 4] = ["iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR"];
/// Members that refer to content elsewhere, which counts as a picture.
const ELSEWHERE: [&str; 7] =
    ["fileUri", "file_id", "file_uri", "file_url", "image_url", "s3Location", "video_url"];

/// The estimate of a request's tokens.
pub(super) fn tokens(value: Val<'_>) -> u64 {
    if value.is_array() {
        return value.items().map(tokens).fold(1, u64::saturating_add);
    }
    if value.is_object() {
        let is_address = value.string("type").is_some_and(|kind| kind == "url");
        let members = value.entries().map(|(key, value)| {
            let is_elsewhere = ELSEWHERE.contains(&&*key) || (is_address && key == "url");
            let named = if is_elsewhere && !is_here(value) { PICTURE } else { 0 };
            estimate_conservative(&key).saturating_add(named).saturating_add(tokens(value))
        });
        return members.fold(1, u64::saturating_add);
    }
    leaf(value.raw())
}

/// Whether the content of a member is inside the value, as a data URL.
fn is_here(value: Val<'_>) -> bool {
    let url = value.as_str().or_else(|| value.text("url"));
    url.is_some_and(|url| url.starts_with("data:"))
}

fn leaf(raw: &str) -> u64 {
    let said = raw.trim_matches('"');
    let (kind, data) = match said.split_once(";base64,") {
        Some((kind, data)) if kind.starts_with("data:") => (kind, data),
        _ => ("", said),
    };
    let is_picture = kind.starts_with("data:image/")
        || PICTURES.iter().any(|begin| data.starts_with(begin) && is_base64(data));
    if is_picture && data.len() > LEAST {
        return PICTURE;
    }
    match data.len() > WORD && is_base64(data) {
        // A document, a sound, a sealed thought.
        true => (data.len() as u64).div_ceil(4),
        false => estimate_conservative(raw),
    }
}

/// Whether all bytes are Base64 characters, in JSON.
fn is_base64(data: &str) -> bool {
    data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=_-\\".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use thinkthrough_json::Doc;

    fn count(body: &str) -> u64 {
        tokens(Doc::parse_str(body).unwrap().root())
    }

    #[test]
    fn a_picture_counts_for_a_flat_number_and_all_else_by_its_letters() {
        let picture = format!("iVBORw0KGgo{}", "A".repeat(400_000));
        let near = |count: u64, most: u64| (most..most + 60).contains(&count);
        for body in [
            format!(r#"{{"contents":["{picture}","Why is that so?"]}}"#),
            format!(
                r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{picture}"}}}}"#
            ),
            r#"{"type":"image_url","image_url":{"url":"https://a.example/b.png"}}"#.to_owned(),
            r#"{"type":"input_image","image_url":"https://a.example/b.png"}"#.to_owned(),
            r#"{"source":{"type":"url","url":"https://a.example/b.png"}}"#.to_owned(),
            r#"{"fileData":{"mimeType":"image/png","fileUri":"files/abc"}}"#.to_owned(),
        ] {
            assert!(near(count(&body), PICTURE), "{}: {:.60}", count(&body), body);
        }
        let document = format!(r#"["JVBERi{}"]"#, "A".repeat(400_000));
        assert!(count(&document) >= 100_000);
        // A search result names pages, and a text of one word is a text.
        assert!(count(r#"{"results":[{"url":"https://a.example","title":"b"}]}"#) < 60);
        let chinese = "\u{6c34}".repeat(20_000);
        assert!(count(&format!(r#"["{chinese}"]"#)) >= 20_000);
        assert!(count(&format!(r#"["{}"]"#, "word ".repeat(20_000))) >= 20_000);
    }
}
