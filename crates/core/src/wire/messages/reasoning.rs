//! `thinking` and `output_config`: what a caller says about reasoning, and the form of the answer.

use super::ID;
use crate::json::{Doc, Extra, Raw, Val};
use crate::request::{AnswerFormat, ReasoningAsk, Request};
use crate::settings::Effort;

/// The least budget that the API takes.
const LEAST_BUDGET: u64 = 1024;

/// What a request says, with the fields as they stood.
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

/// The neutral words for these fields, without the fields.
fn meaning(thinking: Option<Val<'_>>, config: Option<Val<'_>>) -> ReasoningAsk {
    let text = |object: Option<Val<'_>>, key: &str| object.and_then(|object| object.string(key));
    ReasoningAsk {
        enabled: match text(thinking, "type").as_deref() {
            Some("adaptive" | "enabled") => Some(true),
            Some("disabled") => Some(false),
            _ => None,
        },
        effort: text(config, "effort").and_then(|word| Effort::parse(&word)),
        max_tokens: thinking.and_then(|thinking| thinking.u64("budget_tokens")),
        show: match text(thinking, "display").as_deref() {
            Some("summarized" | "updates") => Some(true),
            Some("omitted") => Some(false),
            _ => None,
        },
        fields: Extra::default(),
    }
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

/// What is written of a request's words about reasoning and the answer's form.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// `thinking`.
    pub(super) thinking: Option<Raw>,
    /// `output_config`.
    pub(super) config: Option<Raw>,
    /// The budget in `thinking`.
    pub(super) budget: Option<u64>,
    /// What the wire cannot say.
    pub(super) untranslated: Vec<&'static str>,
}

/// The fields for a request: those of the caller as they stood while they still say the same, else new ones that
/// keep what nobody here understands.
pub(super) fn fields(request: &Request) -> Fields {
    let stood = &request.reasoning.fields;
    let thinking = stood.get(ID, "thinking");
    let config = stood.get(ID, "output_config");
    let (thinking_doc, config_doc) = (thinking.map(Raw::doc), config.map(Raw::doc));
    let old_thinking = thinking_doc.as_ref().map(Doc::root);
    let old_config = config_doc.as_ref().map(Doc::root);
    let was = meaning(old_thinking, old_config);
    let is_same = was == ReasoningAsk { fields: Extra::default(), ..request.reasoning.clone() };
    let mut fields = Fields::default();
    if is_same {
        fields.thinking = thinking.cloned();
        fields.budget = was.max_tokens;
    } else {
        set_thinking(&mut fields, request, old_thinking);
    }
    let is_same_format = old_config.and_then(format) == request.format;
    fields.config = match config {
        Some(config) if is_same && is_same_format => Some(config.clone()),
        _ => new_config(&mut fields, request, old_config),
    };
    fields
}

/// Says on, off or how much.
fn set_thinking(fields: &mut Fields, request: &Request, old: Option<Val<'_>>) {
    let ask = &request.reasoning;
    let is_off = ask.enabled == Some(false) || ask.effort == Some(Effort::None);
    let is_on = ask.enabled == Some(true) || ask.effort.is_some() || ask.max_tokens.is_some();
    if is_off {
        fields.thinking = Some(Raw::build(|w| w.object(|w| w.field_str("type", "disabled"))));
        return;
    }
    if !is_on {
        return;
    }
    // The budget is part of `max_tokens` and must be smaller.
    let cap = request.max_tokens.map_or(u64::MAX, |cap| cap.saturating_sub(1));
    let budget = ask.max_tokens.map(|budget| budget.max(LEAST_BUDGET).min(cap));
    if budget.is_some_and(|budget| budget < LEAST_BUDGET) {
        fields.untranslated.push("reasoning.maxTokens");
        return;
    }
    fields.budget = budget;
    fields.thinking = Some(Raw::build(|w| {
        w.object(|w| {
            w.field_str("type", if budget.is_some() { "enabled" } else { "adaptive" });
            if let Some(budget) = budget {
                w.field_u64("budget_tokens", budget);
            }
            if let Some(show) = ask.show {
                w.field_str("display", if show { "summarized" } else { "omitted" });
            }
            for (key, value) in old.into_iter().flat_map(Val::entries) {
                if !matches!(key.as_ref(), "type" | "budget_tokens" | "display") {
                    w.key(&key).raw_str(value.raw());
                }
            }
        });
    }));
}

/// `output_config` anew, with the members that stood in it and have no name here.
fn new_config(fields: &mut Fields, request: &Request, old: Option<Val<'_>>) -> Option<Raw> {
    let effort = match request.reasoning.effort {
        None | Some(Effort::None) => None,
        // The wire's ladder begins at `low`.
        Some(Effort::Minimal) => Some(Effort::Low.as_str()),
        Some(effort) => Some(effort.as_str()),
    };
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
            w.opt_str("effort", effort);
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
