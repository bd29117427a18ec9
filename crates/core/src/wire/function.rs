//! Functions on offer and calls to them in the shape `{"type":"function","function":{...}}`, which wires share
//! that are not Chat Completions.

use crate::content::{Parameters, ToolCall};
use crate::json::{Extra, Raw, Val, Writer};
use crate::request::Tool;

/// Reads a tool; every other kind than a plain function is kept unchanged.
pub(crate) fn read_tool(wire: &'static str, tool: Val<'_>) -> Tool {
    read_function(wire, tool).unwrap_or_else(|| Tool::Other { wire, raw: Raw::from(tool) })
}

fn read_function(wire: &'static str, tool: Val<'_>) -> Option<Tool> {
    let is_plain = tool.text("type").as_deref() == Some("function")
        && tool.entries().all(|(key, _)| key == "type" || key == "function");
    let function = tool.get("function").filter(|function| is_plain && function.is_object())?;
    let description = function.string("description");
    let parameters = function.some("parameters").map(Raw::from);
    let mut known = vec!["name"];
    known.extend(description.is_some().then_some("description"));
    known.extend(parameters.is_some().then_some("parameters"));
    let extra = Extra::collect(wire, function, &known);
    Some(Tool::Function { name: function.string("name")?, description, parameters, extra })
}

/// Writes the tools that this wire has a form for; `lost` hears that there were others.
pub(crate) fn tools(wire: &'static str, tools: &[Tool], lost: &mut dyn FnMut()) -> Option<Raw> {
    let mut written = Vec::new();
    for tool in tools {
        match tool {
            Tool::Function { name, description, parameters, extra } => {
                written.push(Raw::build(|w| {
                    w.object(|w| {
                        w.field_str("type", "function");
                        w.key("function").object(|w| {
                            w.field_str("name", name);
                            w.opt_str("description", description.as_deref());
                            if let Some(schema) = parameters {
                                w.field_raw("parameters", schema);
                            }
                            w.extra(extra, wire);
                        });
                    });
                }));
            }
            Tool::Other { wire: from, raw } if *from == wire => written.push(raw.clone()),
            Tool::Other { .. } => lost(),
        }
    }
    let list = || Raw::build(|w| w.array(|w| written.iter().for_each(|tool| w.raw(tool))));
    (!written.is_empty()).then(list)
}

/// Reads a call and the text of its arguments. Arguments in the form of JSON are in the call instead.
pub(crate) fn read_call(wire: &'static str, call: Val<'_>, known: &[&str]) -> (ToolCall, String) {
    let function = call.get("function").filter(|function| function.is_object());
    let inner = function.unwrap_or(call);
    let known: Vec<&str> = known.iter().copied().chain(["id", "function"]).collect();
    let mut extra = Extra::collect(wire, call, &known);
    let rest = function.map(|function| Extra::collect(wire, function, &["name", "arguments"]));
    if let Some(rest) = rest.filter(|rest| !rest.is_empty()) {
        extra.insert(wire, "function", Raw::build(|w| w.object(|w| w.extra(&rest, wire))));
    }
    let arguments = inner.some("arguments");
    let text = arguments.and_then(Val::as_str);
    let parameters = match arguments {
        Some(value) if text.is_none() => Parameters::Json(Raw::from(value)),
        Some(_) | None => Parameters::default(),
    };
    let call = ToolCall {
        id: call.string("id"),
        name: inner.string("name").unwrap_or_default(),
        parameters,
        signature: None,
        extra,
    };
    (call, text.unwrap_or_default().into_owned())
}

/// The call with the arguments of its text.
pub(crate) fn with_text((mut call, text): (ToolCall, String)) -> ToolCall {
    if !text.is_empty() {
        call.parameters = Parameters::from_text(&text);
    }
    call
}

/// Writes a call's members inside its object, without `id` and `type`.
pub(crate) fn call_members(w: &mut Writer, wire: &str, call: &ToolCall, arguments: Option<&Raw>) {
    let rest = call.extra.get(wire, "function");
    w.key("function").object(|w| {
        w.field_str("name", &call.name);
        if let Some(arguments) = arguments {
            w.field_raw("arguments", arguments);
        }
        let doc = rest.map(Raw::doc);
        for (key, value) in doc.iter().flat_map(|doc| doc.root().entries()) {
            if key != "name" && key != "arguments" {
                w.key(&key).raw_str(value.raw());
            }
        }
    });
    for (key, value) in call.extra.of(wire).iter().filter(|(key, _)| key != "function") {
        w.field_raw(key, value);
    }
}
