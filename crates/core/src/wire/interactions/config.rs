//! `generation_config` and `response_format` in neutral words.

use super::ID;
use super::write_step::{flag, members};
use crate::json::{Extra, Raw, Val};
use crate::request::{AnswerFormat, ReasoningAsk, Request, ToolChoice};
use crate::settings::Effort;

/// The meaning of a configuration in the neutral form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Config {
    max_tokens: Option<u64>,
    temperature: Option<Raw>,
    top_p: Option<Raw>,
    stop: Vec<String>,
    effort: Option<Effort>,
    enabled: Option<bool>,
    show: Option<bool>,
    tool_choice: Option<ToolChoice>,
}

impl Config {
    /// Reads a configuration.
    pub(super) fn read(config: Val<'_>) -> Self {
        let effort = config.text("thinking_level").and_then(|level| Effort::parse(&level));
        let stop = config.get("stop_sequences");
        let show = config.text("thinking_summaries");
        Config {
            max_tokens: config.u64("max_output_tokens"),
            temperature: config.some("temperature").map(Raw::from),
            top_p: config.some("top_p").map(Raw::from),
            stop: stop
                .iter()
                .flat_map(|stop| stop.items())
                .filter_map(|text| Some(text.as_str()?.into_owned()))
                .collect(),
            effort,
            enabled: effort.map(|effort| effort != Effort::None),
            show: show.map(|show| show != "none"),
            tool_choice: config.some("tool_choice").map(tool_choice),
        }
    }

    /// The configuration that a request asks for.
    pub(super) fn of(request: &Request) -> Self {
        Config {
            max_tokens: request.max_tokens,
            temperature: request.temperature.clone(),
            top_p: request.top_p.clone(),
            stop: request.stop.clone(),
            effort: request.reasoning.effort,
            enabled: request.reasoning.enabled,
            show: request.reasoning.show,
            tool_choice: request.tool_choice.clone(),
        }
    }

    /// Copies the values into a request.
    pub(super) fn apply(self, request: &mut Request) {
        request.max_tokens = self.max_tokens;
        request.temperature = self.temperature;
        request.top_p = self.top_p;
        request.stop = self.stop;
        request.tool_choice = self.tool_choice;
        request.reasoning = ReasoningAsk {
            enabled: self.enabled,
            effort: self.effort,
            show: self.show,
            ..ReasoningAsk::default()
        };
    }

    /// The configuration that came, with the values that changed since.
    pub(super) fn write(&self, came: Option<&Raw>, lost: &mut Vec<String>) -> Extra {
        let doc = came.map(Raw::doc);
        let root = doc.as_ref().map(crate::json::Doc::root);
        let said = root.map(Config::read).unwrap_or_default();
        let mut out = members(root);
        let number = |tokens: u64| Raw::build(|w| w.u64(tokens));
        let mut set = |key: &str, differs: bool, value: Option<Raw>| match value {
            _ if !differs => {}
            Some(value) => out.insert(ID, key, value),
            None => out.fields.retain(|(name, _)| name != key),
        };
        let differs = self.max_tokens != said.max_tokens;
        set("max_output_tokens", differs, self.max_tokens.map(number));
        set("temperature", self.temperature != said.temperature, self.temperature.clone());
        set("top_p", self.top_p != said.top_p, self.top_p.clone());
        let stop = (!self.stop.is_empty())
            .then(|| Raw::build(|w| w.array(|w| self.stop.iter().for_each(|text| w.str(text)))));
        set("stop_sequences", self.stop != said.stop, stop);
        let differs = (self.effort, self.enabled) != (said.effort, said.enabled);
        set("thinking_level", differs, self.level().map(Raw::string));
        let show = self.show.map(|show| Raw::string(if show { "auto" } else { "none" }));
        set("thinking_summaries", self.show != said.show, show);
        let choice = self.tool_choice.as_ref().and_then(|choice| choice_raw(choice, lost));
        set("tool_choice", self.tool_choice != said.tool_choice, choice);
        out
    }

    /// The nearest thinking level that the API has.
    fn level(&self) -> Option<&'static str> {
        match (self.enabled, self.effort) {
            (Some(false), _) | (_, Some(Effort::None | Effort::Minimal)) => Some("minimal"),
            (_, Some(Effort::Low)) => Some("low"),
            (_, Some(Effort::Medium)) => Some("medium"),
            (_, Some(Effort::High | Effort::Xhigh | Effort::Max)) => Some("high"),
            (_, None) => None,
        }
    }
}

fn tool_choice(value: Val<'_>) -> ToolChoice {
    match value.as_str().as_deref() {
        Some("auto") => return ToolChoice::Auto,
        Some("any") => return ToolChoice::Required,
        Some("none") => return ToolChoice::None,
        _ => {}
    }
    let allowed = value.get("allowed_tools");
    let tools: Vec<Val<'_>> =
        allowed.and_then(|a| a.get("tools")).iter().flat_map(|t| t.items()).collect();
    let is_any = allowed.and_then(|a| a.text("mode")).is_some_and(|mode| mode == "any");
    match (tools.as_slice(), allowed) {
        ([only], Some(allowed)) if is_any && allowed.entries().count() == 2 => {
            match only.as_str() {
                Some(name) => ToolChoice::Tool(name.into_owned()),
                None => ToolChoice::Other { wire: ID, raw: Raw::from(value) },
            }
        }
        _ => ToolChoice::Other { wire: ID, raw: Raw::from(value) },
    }
}

fn choice_raw(choice: &ToolChoice, lost: &mut Vec<String>) -> Option<Raw> {
    Some(match choice {
        ToolChoice::Auto => Raw::string("auto"),
        ToolChoice::None => Raw::string("none"),
        ToolChoice::Required => Raw::string("any"),
        ToolChoice::Tool(name) => Raw::build(|w| {
            w.object(|w| {
                w.key("allowed_tools").object(|w| {
                    w.field_str("mode", "any");
                    w.key("tools").array(|w| w.str(name));
                });
            });
        }),
        ToolChoice::Other { wire, raw } if *wire == ID => raw.clone(),
        ToolChoice::Other { .. } => {
            lost.push("tool_choice".to_owned());
            return None;
        }
    })
}

/// The form of the answer that `response_format` asks for: JSON, or another form unchanged.
pub(super) fn format(value: Val<'_>) -> AnswerFormat {
    let only = if value.is_array() && value.items().count() == 1 {
        value.items().next().unwrap_or(value)
    } else {
        value
    };
    let is_json = only.text("type").is_some_and(|kind| kind == "text")
        && only.text("mime_type").is_some_and(|mime| mime == "application/json");
    match only.some("schema") {
        Some(schema) if is_json => {
            AnswerFormat::Schema { name: None, schema: Raw::from(schema), strict: None }
        }
        None if is_json => AnswerFormat::Json,
        _ => AnswerFormat::Other { wire: ID, raw: Raw::from(value) },
    }
}

/// `response_format` for the form that is wanted.
pub(super) fn format_raw(format: &AnswerFormat, lost: &mut Vec<String>) -> Option<Raw> {
    let schema = match format {
        AnswerFormat::Json => None,
        AnswerFormat::Schema { schema, .. } => Some(schema),
        AnswerFormat::Other { wire, raw } if *wire == ID => return Some(raw.clone()),
        AnswerFormat::Other { .. } => {
            lost.push("format".to_owned());
            return None;
        }
    };
    Some(Raw::build(|w| {
        w.object(|w| {
            w.field_str("type", "text");
            w.field_str("mime_type", "application/json");
            if let Some(schema) = schema {
                w.field_raw("schema", schema);
            }
        });
    }))
}

/// Marks the presence of a field that its neutral form would not show.
pub(super) fn mark(extra: &mut Extra, key: &str) {
    extra.note(ID, key, flag());
}
