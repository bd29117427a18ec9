use super::*;
use crate::content::{Block, Content, Media, MediaSource, Origin, Parameters, Speaker};
use crate::content::{Text, Thinking, ToolCall, ToolResponse};
use crate::json::{Extra, Raw};
use crate::usage::Usage;

#[test]
fn a_content_survives_its_own_json() {
    let content = Content {
        origin: Some(Origin { provider: "p".into(), ..Origin::default() }),
        partial: true,
        finish_reason: Some("stop".into()),
        signature: Some("m".into()),
        about_tools: true,
        effort: Some("low".into()),
        refused: vec!["mark".into()],
        usage: Some(Usage { reasoning_tokens: Some(0), ..Usage::default() }),
        ..Content::new(
            Speaker::Ai,
            vec![
                Block::Thinking(Thinking {
                    signature: Some(String::new()),
                    summary: Some(vec![]),
                    index: Some(0),
                    is_hidden: true,
                    duration_ms: Some(12),
                    effort: Some("high".into()),
                    ..Thinking::new("t\n", "thinking")
                }),
                Block::Text(Text { signature: Some("s".into()), ..Text::new("x") }),
                Block::ToolCall(ToolCall {
                    id: None,
                    name: "f".into(),
                    parameters: Parameters::Invalid("{".into()),
                    signature: None,
                    extra: Extra::default(),
                }),
                Block::ToolResponse(ToolResponse {
                    call_id: Some("c".into()),
                    name: None,
                    result: Raw::string("r").into(),
                    is_error: true,
                    extra: Extra::default(),
                }),
                Block::Media(Media {
                    media_type: "image/png".into(),
                    source: MediaSource::Data("AA==".into()),
                    extra: Extra::default(),
                }),
            ],
        )
    };
    let raw = Raw::build(|w| write_content(w, &content));
    assert_eq!(read_content(raw.doc().root()).unwrap(), content);
}

#[test]
fn what_a_wire_noted_about_forms_stands_apart_from_its_fields() {
    let text = |fields: &[(&str, &str)], notes: &[(&str, &str)]| {
        let mut extra = Extra::default();
        for (key, raw) in fields {
            extra.insert("responses", key, Raw::parse(raw).unwrap());
        }
        for (name, raw) in notes {
            extra.note("responses", name, Raw::parse(raw).unwrap());
        }
        Content::new(Speaker::Ai, vec![Block::Text(Text { extra, ..Text::new("x") })])
    };
    for (fields, notes, expected) in [
        (
            &[("id", r#""i""#)][..],
            &[("more", "true")][..],
            r#"{"responses":{"id":"i"},"form":{"more":true}}"#,
        ),
        (&[], &[("part", r#"{"n":1}"#)], r#"{"responses":{},"form":{"part":{"n":1}}}"#),
        (&[("id", r#""i""#)], &[], r#"{"responses":{"id":"i"}}"#),
        (&[("~more", "1")], &[], r#"{"responses":{"~more":1}}"#),
    ] {
        let content = text(fields, notes);
        let raw = Raw::build(|w| write_content(w, &content));
        let doc = raw.doc();
        let block = doc.root().get("blocks").unwrap().items().next().unwrap();
        assert_eq!(block.get("extra").unwrap().raw(), expected);
        assert_eq!(read_content(doc.root()).unwrap(), content);
    }
}

#[test]
fn a_broken_content_is_named() {
    let raw =
        Raw::parse(r#"{"speaker":"ai","blocks":[{"type":"text","text":"x"},{"type":"thinking"}]}"#)
            .unwrap();
    let error = read_content(raw.doc().root()).unwrap_err();
    assert_eq!(error.to_string(), "`blocks[1]`: needs the string `thought`");
}
