//! Writes requests.

use super::form::{Form, REASONING};
use super::media;
use super::request::{CAPS, read_choice, read_format, read_stop};
use super::write_message;
use crate::json::{Raw, Val, Writer};
use crate::request::{AnswerFormat, ReasoningAsk, Request, Tool, ToolChoice};
use crate::wire::tool_ids::Nameless;
use crate::wire::tool_result::names;
use crate::wire::{Dialect, Written};
use std::collections::BTreeMap;

/// State that is collected while a request is written.
pub(super) struct Target<'a> {
    pub(super) form: &'static Form,
    pub(super) dialect: &'a Dialect,
    /// Fields that this wire cannot express.
    pub(super) untranslated: Vec<String>,
    /// Ids for calls that came without one.
    pub(super) nameless: Nameless,
    /// The tools of the calls, by id.
    pub(super) names: BTreeMap<String, String>,
    /// Parts with the media of results, to be written behind them.
    pub(super) behind: Vec<Raw>,
    /// The last message has a result.
    pub(super) is_behind_results: bool,
}

impl Target<'_> {
    /// Notes a field that the wire cannot express.
    pub(super) fn lose(&mut self, what: &str) {
        if !self.untranslated.iter().any(|known| known == what) {
            self.untranslated.push(what.to_owned());
        }
    }

    pub(super) fn refuses(&self, field: &str) -> bool {
        self.dialect.refuses.contains(&field)
    }
}

pub(super) fn write(form: &'static Form, request: &Request, dialect: &Dialect) -> Written {
    let mut target = Target {
        form,
        dialect,
        untranslated: Vec::new(),
        nameless: Nameless::default(),
        names: names(&request.contents),
        behind: Vec::new(),
        is_behind_results: false,
    };
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("model", &request.model);
        w.key("messages").array(|w| {
            for content in &request.contents {
                write_message::write(w, content, &mut target);
            }
            write_message::media_behind(w, &mut target);
        });
        write_tools(w, &request.tools, &mut target);
        for (key, value) in settings(request, &mut target) {
            if !target.refuses(&key) {
                w.field_raw(&key, &value);
            }
        }
        write_reasoning(w, &request.reasoning, &mut target);
    });
    Written { body: w.finish(), untranslated: target.untranslated }
}

fn write_tools(w: &mut Writer, tools: &[Tool], target: &mut Target<'_>) {
    let form = target.form;
    let mut list = Vec::new();
    for tool in tools {
        match tool {
            Tool::Function { name, description, parameters, extra } => list.push(Raw::build(|w| {
                w.object(|w| {
                    w.field_str("type", "function");
                    w.key("function").object(|w| {
                        w.field_str("name", name);
                        w.opt_str("description", description.as_deref());
                        if let Some(parameters) = parameters {
                            w.field_raw("parameters", parameters);
                        }
                        media::rest(w, extra.get(form.id, "function"));
                    });
                    for (key, value) in
                        extra.of(form.id).iter().filter(|(key, _)| key != "function")
                    {
                        w.field_raw(key, value);
                    }
                });
            })),
            Tool::Other { wire, raw } if *wire == form.id => list.push(raw.clone()),
            Tool::Other { .. } => target.lose("tools"),
        }
    }
    if !list.is_empty() {
        w.key("tools").array(|w| list.iter().for_each(|tool| w.raw(tool)));
    }
}

/// The settings with their values, first the known ones, then the unknown ones.
fn settings(request: &Request, target: &mut Target<'_>) -> Vec<(String, Raw)> {
    let form = target.form;
    let kept = |key: &str| request.extra.get(form.id, key);
    let mut list: Vec<(String, Raw)> = Vec::new();
    let mut put =
        |key: &str, value: Option<Raw>| list.extend(value.map(|value| (key.to_owned(), value)));
    put("tool_choice", tool_choice(request, target));
    put(
        "parallel_tool_calls",
        request.parallel_tool_calls.map(|flag| Raw::build(|w| w.bool(flag))),
    );
    put("stream", request.stream.then(|| Raw::build(|w| w.bool(true))));
    if request.stream && target.dialect.asks_for_usage {
        put("stream_options", Some(usage_wanted(kept("stream_options"))));
    }
    put("temperature", request.temperature.clone());
    put("top_p", request.top_p.clone());
    let read = |stop: Val<'_>| Some(read_stop(stop)).filter(|stop| !stop.is_empty());
    let stop = (!request.stop.is_empty()).then_some(&request.stop);
    put("stop", spelled(kept("stop"), stop, read, |stop| texts(stop)));
    put("response_format", response_format(request, target));
    let renamed = target.dialect.max_tokens_field;
    let cap = renamed
        .or_else(|| CAPS.into_iter().find(|cap| kept(cap).is_some()))
        .unwrap_or("max_tokens");
    let read = |cap: Val<'_>| cap.as_u64();
    let number = |cap: &u64| Raw::build(|w| w.u64(*cap));
    put(cap, spelled(kept(cap), request.max_tokens.as_ref(), read, number));
    let read = ["stop", "tool_choice", "response_format"];
    for (key, value) in request.extra.of(form.id) {
        let is_moved = renamed.is_some() && CAPS.contains(&key.as_str());
        let is_said = read.contains(&key.as_str()) || list.iter().any(|(known, _)| known == key);
        let is_null = value.as_str() == "null";
        if (!is_said && !is_moved) || (is_null && !list.iter().any(|(known, _)| known == key)) {
            list.push((key.clone(), value.clone()));
        }
    }
    list
}

fn texts(list: &[String]) -> Raw {
    Raw::build(|w| w.array(|w| list.iter().for_each(|text| w.str(text))))
}

/// A value in its original form while its meaning is unchanged, else newly written.
fn spelled<T: PartialEq>(
    kept: Option<&Raw>,
    value: Option<&T>,
    read: impl Fn(Val<'_>) -> Option<T>,
    write: impl Fn(&T) -> Raw,
) -> Option<Raw> {
    let same = kept.filter(|kept| read(kept.doc().root()).as_ref() == value);
    same.cloned().or_else(|| value.map(write))
}

fn usage_wanted(kept: Option<&Raw>) -> Raw {
    Raw::build(|w| {
        w.object(|w| {
            w.field_bool("include_usage", true);
            if let Some(kept) = kept {
                for (key, value) in
                    kept.doc().root().entries().filter(|(key, _)| key != "include_usage")
                {
                    w.key(&key).raw_str(value.raw());
                }
            }
        });
    })
}

fn tool_choice(request: &Request, target: &mut Target<'_>) -> Option<Raw> {
    let form = target.form;
    let choice = match request.tool_choice.as_ref() {
        Some(ToolChoice::Other { wire, .. }) if *wire != form.id => {
            target.lose("tool_choice");
            None
        }
        other => other,
    };
    let read = |value: Val<'_>| (!value.is_null()).then(|| read_choice(form, value));
    spelled(request.extra.get(form.id, "tool_choice"), choice, read, |choice| match choice {
        ToolChoice::Auto => Raw::string("auto"),
        ToolChoice::None => Raw::string("none"),
        ToolChoice::Required => Raw::string(form.required_tool),
        ToolChoice::Tool(name) => Raw::build(|w| {
            w.object(|w| {
                w.field_str("type", "function");
                w.key("function").object(|w| w.field_str("name", name));
            });
        }),
        ToolChoice::Other { raw, .. } => raw.clone(),
    })
}

fn response_format(request: &Request, target: &mut Target<'_>) -> Option<Raw> {
    let form = target.form;
    let format = match request.format.as_ref() {
        Some(AnswerFormat::Other { wire, .. }) if *wire != form.id => {
            target.lose("response_format");
            None
        }
        other => other,
    };
    let read = |value: Val<'_>| (!value.is_null()).then(|| read_format(form, value));
    spelled(request.extra.get(form.id, "response_format"), format, read, |format| match format {
        AnswerFormat::Json => Raw::build(|w| w.object(|w| w.field_str("type", "json_object"))),
        AnswerFormat::Schema { name, schema, strict } => Raw::build(|w| {
            w.object(|w| {
                w.field_str("type", "json_schema");
                w.key("json_schema").object(|w| {
                    w.field_str("name", name.as_deref().unwrap_or("answer"));
                    w.field_raw("schema", schema);
                    if let Some(strict) = strict {
                        w.field_bool("strict", *strict);
                    }
                });
            });
        }),
        AnswerFormat::Other { raw, .. } => raw.clone(),
    })
}

/// The caller's own fields on this wire; for a caller on another wire, fields that every server of this wire may
/// understand.
fn write_reasoning(w: &mut Writer, ask: &ReasoningAsk, target: &mut Target<'_>) {
    let form = target.form;
    let fields = ask.fields.of(form.id);
    for (key, value) in fields.iter().filter(|(key, _)| !target.refuses(key)) {
        w.field_raw(key, value);
    }
    if !fields.is_empty() {
        return;
    }
    let effort = match (ask.effort, ask.enabled) {
        (Some(effort), _) => Some(effort.as_str()),
        (None, Some(false)) => Some("none"),
        (None, Some(true) | None) => None,
    };
    let [field, ..] = REASONING;
    if let Some(effort) = effort.filter(|_| !target.refuses(field)) {
        w.field_str(field, effort);
    }
    if ask.max_tokens.is_some() {
        target.lose("reasoning.max_tokens");
    }
}
