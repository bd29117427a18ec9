//! Reads the result of a server's tool into the neutral form.

use crate::tools::Given;
use rmcp::model::CallToolResult;
use thinkthrough_core::content::{Media, MediaSource};
use thinkthrough_json::{Extra, Raw, Val};

/// Joins the texts by line feeds, and collects images, sounds and files. Without any text, the result is the
/// structured content.
pub(super) fn given(result: &CallToolResult) -> Given {
    let Some(raw) = serde_json::to_string(result).ok().and_then(|text| Raw::parse(&text).ok())
    else {
        return Given::error("the server's result cannot be read");
    };
    let doc = raw.doc();
    let root = doc.root();
    let mut parts = Parts::default();
    for block in root.get("content").into_iter().flat_map(Val::items) {
        parts.add(block);
    }
    let structured = root.some("structuredContent").filter(|_| parts.texts.is_empty());
    let result = match structured.and_then(|value| Raw::parse(value.raw()).ok()) {
        Some(value) => value,
        None if parts.texts.is_empty() && parts.media.is_empty() => Raw::string("[no output]"),
        None => Raw::string(&parts.texts.join("\n")),
    };
    let is_error = root.bool("isError") == Some(true);
    Given { result, is_error, media: parts.media, change: None }
}

#[derive(Default)]
struct Parts {
    texts: Vec<String>,
    media: Vec<Media>,
}

impl Parts {
    fn add(&mut self, block: Val<'_>) {
        match block.text("type").as_deref() {
            Some("text") => self.texts.extend(block.string("text")),
            Some("image" | "audio") => self.media(block, "data"),
            Some("resource") => {
                if let Some(resource) = block.get("resource") {
                    match resource.string("text") {
                        Some(text) => self.texts.push(text),
                        None => self.media(resource, "blob"),
                    }
                }
            }
            Some("resource_link") => {
                let word = |key| block.text(key).unwrap_or_default();
                self.texts.push(format!("[resource {}: {}]", word("name"), word("uri")));
            }
            // A block of an unknown type is passed on as JSON.
            _ => self.texts.push(block.raw().to_owned()),
        }
    }

    fn media(&mut self, block: Val<'_>, key: &str) {
        let media_type = block.string("mimeType").unwrap_or_default();
        self.texts
            .push(format!("[{}]", if media_type.is_empty() { "a file" } else { &media_type }));
        let source = MediaSource::Data(block.string(key).unwrap_or_default());
        self.media.push(Media { media_type, source, extra: Extra::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Given {
        given(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn every_kind_of_result_has_a_neutral_form() {
        let text = read(r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#);
        assert_eq!(text, Given::text("a\nb"));
        let failed = read(r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#);
        assert_eq!(failed, Given::error("no"));
        let structured = read(r#"{"content":[],"structuredContent":{"b":1,"a":[2]}}"#);
        assert_eq!(structured.result.doc().root().get("b").unwrap().as_u64(), Some(1));
        let both = read(r#"{"content":[{"type":"text","text":"{}"}],"structuredContent":{}}"#);
        assert_eq!(both, Given::text("{}"));
        assert_eq!(read(r#"{"content":[]}"#), Given::text("[no output]"));
        let image = read(r#"{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}"#);
        assert_eq!(image.result, Raw::string("[image/png]"));
        assert_eq!(image.media[0].source, MediaSource::Data("AAAA".into()));
        let file = r#"{"content":[{"type":"resource","resource":{"uri":"x:y","text":"inside"}},{"type":"resource_link","uri":"u:v","name":"n"}]}"#;
        assert_eq!(read(file), Given::text("inside\n[resource n: u:v]"));
    }
}
