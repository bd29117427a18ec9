//! `thinking` and `output_config`: a caller's parameters about reasoning, and the form of the answer.

use super::ID;
use crate::json::{Doc, Extra, Raw, Val};
use crate::request::{AnswerFormat, ReasoningAsk, Request};
use crate::wire::thinking_config::{effort_word, is_same_thinking, meaning, thinking};

/// The meaning of a request's reasoning members, with the members as they came.
pub(super) fn read(request: Val<'_>) -> (ReasoningAsk, Option<AnswerFormat>) {
    let [thinking, config] = ["thinking", "output_config"].map(|key| object(request, key));
    let mut ask = meaning(thinking, config);
    for (key, value) in [("thinking", thinking), ("output_config", config)] {
        if let Some(value) = value {
            ask.fields.insert(ID, key, Raw::from(value));
        }
    }
    (ask, config.and_then(format))
}

/// The member `key`, if it is an object.
fn object<'d>(value: Val<'d>, key: &str) -> Option<Val<'d>> {
    value.get(key).filter(|member| member.is_object())
}

fn format(config: Val<'_>) -> Option<AnswerFormat> {
    let format = config.some("format")?;
    let is_plain = format.text("type").as_deref() == Some("json_schema")
        && format.entries().all(|(key, _)| key == "type" || key == "schema");
    Some(match format.get("schema") {
        Some(schema) if is_plain => {
            AnswerFormat::Schema { name: None, schema: Raw::from(schema), strict: None }
        }
        _ => AnswerFormat::Other { wire: ID, raw: Raw::from(format) },
    })
}

/// The members about reasoning and the answer's form that are written.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// `thinking`.
    pub(super) thinking: Option<Raw>,
    /// `output_config`.
    pub(super) config: Option<Raw>,
    /// The budget in `thinking`.
    pub(super) budget: Option<u64>,
    /// Fields that the wire cannot express.
    pub(super) untranslated: Vec<&'static str>,
}

/// The fields for a request: the caller's own if their meaning has not changed, else new fields with the unknown
/// members kept.
pub(super) fn fields(request: &Request) -> Fields {
    let stood = &request.reasoning.fields;
    let old_thinking = stood.get(ID, "thinking");
    let old_config = stood.get(ID, "output_config");
    let (thinking_doc, config_doc) = (old_thinking.map(Raw::doc), old_config.map(Raw::doc));
    let (thinking_was, config_was) =
        (thinking_doc.as_ref().map(Doc::root), config_doc.as_ref().map(Doc::root));
    let was = meaning(thinking_was, config_was);
    let is_same = was == ReasoningAsk { fields: Extra::default(), ..request.reasoning.clone() };
    let mut fields = Fields::default();
    let was_said = old_thinking.is_some() || old_config.is_some();
    if is_same || was_said && is_same_thinking(&was, &request.reasoning) {
        fields.thinking = old_thinking.cloned();
        fields.budget = was.max_tokens;
    } else {
        let said = thinking(request, thinking_was);
        fields.untranslated.extend(said.is_lost.then_some("reasoning.maxTokens"));
        (fields.thinking, fields.budget) = (said.object, said.budget);
    }
    let is_same_format = config_was.and_then(format) == request.format;
    fields.config = match old_config {
        Some(config) if is_same && is_same_format => Some(config.clone()),
        _ => new_config(&mut fields, request, config_was),
    };
    fields
}

/// A new `output_config` with the unknown members of the old one.
fn new_config(fields: &mut Fields, request: &Request, old: Option<Val<'_>>) -> Option<Raw> {
    let format = match &request.format {
        None => None,
        Some(AnswerFormat::Schema { schema, .. }) => Some(Raw::build(|w| {
            w.object(|w| {
                w.field_str("type", "json_schema");
                w.field_raw("schema", schema);
            });
        })),
        Some(AnswerFormat::Other { wire, raw }) if *wire == ID => Some(raw.clone()),
        Some(AnswerFormat::Other { .. } | AnswerFormat::Json) => {
            fields.untranslated.push("format");
            None
        }
    };
    let raw = Raw::build(|w| {
        w.object(|w| {
            w.opt_str("effort", effort_word(request.reasoning.effort));
            if let Some(format) = &format {
                w.field_raw("format", format);
            }
            for (key, value) in old.into_iter().flat_map(Val::entries) {
                if key != "effort" && key != "format" {
                    w.key(&key).raw_str(value.raw());
                }
            }
        });
    });
    (raw.as_str() != "{}").then_some(raw)
}
