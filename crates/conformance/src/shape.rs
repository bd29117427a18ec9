//! Checks the types of JSON fields.

use serde_json::{Value, json};

/// A type that a field may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Flag,
    Number,
    List,
    Map,
    TextOrList,
    TextOrMap,
}

impl Kind {
    fn takes(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::List => value.is_array(),
            Self::Map => value.is_object(),
            Self::TextOrList => value.is_string() || value.is_array(),
            Self::TextOrMap => value.is_string() || value.is_object(),
        }
    }

    /// The name of the type in the error texts of most providers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Flag => "boolean",
            Self::Number => "number",
            Self::List => "array",
            Self::Map => "object",
            Self::TextOrList => "string or array",
            Self::TextOrMap => "string or object",
        }
    }

    /// The name of the type in Python's validators.
    pub(crate) fn python(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Flag => "boolean",
            Self::Number => "number",
            Self::List => "list",
            Self::Map => "dictionary",
            Self::TextOrList => "string or list",
            Self::TextOrMap => "string or dictionary",
        }
    }
}

/// A field with a wrong type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wrong {
    steps: Vec<Value>,
    /// The expected type.
    pub(crate) kind: Kind,
    /// The value of the field.
    pub(crate) found: Value,
}

impl Wrong {
    /// The path in the form `messages.1.content`.
    pub(crate) fn dotted(&self) -> String {
        let steps = self
            .steps
            .iter()
            .map(|step| step.as_str().map_or_else(|| step.to_string(), str::to_owned));
        steps.collect::<Vec<_>>().join(".")
    }

    /// The path in the form `messages[1].content`.
    pub(crate) fn bracketed(&self) -> String {
        let mut out = String::new();
        for step in &self.steps {
            match step.as_str() {
                Some(key) if out.is_empty() => out.push_str(key),
                Some(key) => {
                    out.push('.');
                    out.push_str(key);
                }
                None => out.push_str(&format!("[{step}]")),
            }
        }
        out
    }

    /// The path as a list of keys and indices that begins with `body`.
    pub(crate) fn location(&self) -> Value {
        Value::Array(std::iter::once(json!("body")).chain(self.steps.iter().cloned()).collect())
    }

    /// The name of the type that was found.
    pub(crate) fn found_name(&self) -> &'static str {
        match self.found {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }
}

/// The first field with a wrong type. A rule is a path with `*` for every element of an array.
/// Absent fields and `null` are left to other checks.
pub(crate) fn wrong(body: &Value, rules: &[(&str, Kind)]) -> Option<Wrong> {
    rules.iter().find_map(|(path, kind)| {
        let parts: Vec<&str> = path.split('.').collect();
        walk(body, &parts, *kind, &mut Vec::new())
    })
}

fn walk(value: &Value, parts: &[&str], kind: Kind, steps: &mut Vec<Value>) -> Option<Wrong> {
    let Some((part, rest)) = parts.split_first() else {
        let fits = value.is_null() || kind.takes(value);
        return (!fits).then(|| Wrong { steps: steps.clone(), kind, found: value.clone() });
    };
    if *part == "*" {
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            steps.push(json!(index));
            let found = walk(item, rest, kind, steps);
            steps.pop();
            if found.is_some() {
                return found;
            }
        }
        return None;
    }
    let item = value.get(part)?;
    steps.push(json!(part));
    let found = walk(item, rest, kind, steps);
    steps.pop();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_wrong_field_is_found_and_named() {
        let rules = [
            ("messages.*", Kind::Map),
            ("messages.*.content", Kind::TextOrList),
            ("stream", Kind::Flag),
        ];
        let body = json!({"messages": [{"content": "x"}, {"content": 7}], "stream": null});
        let found = wrong(&body, &rules).unwrap();
        assert_eq!(found.dotted(), "messages.1.content");
        assert_eq!(found.bracketed(), "messages[1].content");
        assert_eq!(found.location(), json!(["body", "messages", 1, "content"]));
        assert_eq!((found.kind.name(), found.found_name()), ("string or array", "integer"));
        assert_eq!(wrong(&json!({"messages": [{"content": []}]}), &rules), None);
        assert_eq!(wrong(&json!({"messages": [7]}), &rules).unwrap().dotted(), "messages.0");
    }
}
