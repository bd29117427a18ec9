//! Compares request bodies byte by byte.

use serde_json::Value;

use super::course::Trace;

/// All strings in a JSON body.
pub(super) fn strings(body: &[u8]) -> Vec<String> {
    let mut out = Vec::new();
    if let Ok(value) = serde_json::from_slice::<Value>(body) {
        collect(&value, &mut out);
    }
    out
}

fn collect(value: &Value, out: &mut Vec<String>) {
    match value {
        Value::String(text) => {
            out.push(text.clone());
        }
        Value::Array(list) => list.iter().for_each(|inner| collect(inner, out)),
        Value::Object(map) => map.values().for_each(|inner| collect(inner, out)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Compares the histories of successive requests. Returns a sentence about the first request that
/// does not only append to the history before it.
pub(super) fn grown(trace: &Trace) -> Option<String> {
    let bodies: Vec<String> = trace
        .rounds
        .iter()
        .filter_map(|round| round.arrived.as_ref())
        .map(|seen| String::from_utf8_lossy(&seen.body).into_owned())
        .collect();
    for (index, (before, after)) in bodies.iter().zip(bodies.iter().skip(1)).enumerate() {
        let (Some(old), Some(new)) = (history(before), history(after)) else {
            return Some(format!("request {} has no history", index + 1));
        };
        if !new.starts_with(old) {
            return Some(format!("request {} rewrites what request {} said", index + 2, index + 1));
        }
    }
    None
}

/// The bytes between the brackets of the history in a body.
fn history(body: &str) -> Option<&str> {
    let start = ["\"messages\":[", "\"input\":[", "\"contents\":["]
        .iter()
        .find_map(|key| body.find(key).map(|at| at + key.len()))?;
    let inside = body.get(start..)?;
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => depth += 1,
            b']' if depth == 0 => return inside.get(..at),
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Whether both bodies are equal, apart from the model's name and added thoughts.
pub(super) fn only_thoughts_were_added(sent: &[u8], arrived: &[u8]) -> bool {
    let (Ok(sent), Ok(arrived)) = (std::str::from_utf8(sent), std::str::from_utf8(arrived)) else {
        return false;
    };
    match (without_model(sent), without_model(arrived)) {
        (Some(sent), Some(arrived)) => sent == without_thoughts(&arrived),
        _ => false,
    }
}

/// Removes the value of `model`.
fn without_model(body: &str) -> Option<String> {
    let (head, rest) = body.split_once("\"model\":")?;
    Some(format!("{head}{}", rest.get(text_end(rest)?..)?))
}

/// Removes the members `reasoning_content`.
fn without_thoughts(body: &str) -> String {
    let (mut out, mut rest) = (String::new(), body);
    while let Some((head, tail)) = rest.split_once("\"reasoning_content\":") {
        let Some(after) = text_end(tail).and_then(|end| tail.get(end..)) else { break };
        // The comma of a member is before it, or after it if the member is the first.
        match (head.strip_suffix(','), after.strip_prefix(',')) {
            (Some(head), _) => {
                out.push_str(head);
                rest = after;
            }
            (None, Some(after)) => {
                out.push_str(head);
                rest = after;
            }
            (None, None) => {
                out.push_str(head);
                rest = after;
            }
        }
    }
    out + rest
}

/// The end of the JSON string at the start of `text`.
fn text_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    let open = text.find('"')?;
    for (at, byte) in text.bytes().enumerate().skip(open + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_may_gain_thoughts_and_another_model_and_nothing_else() {
        let sent =
            r#"{ "n" : 1.50E+400,"model":"a","messages":[{"role":"assistant","content":""}]}"#;
        for arrived in [
            r#"{ "n" : 1.50E+400,"model":"b","messages":[{"role":"assistant","content":"","reasoning_content":"x\"y"}]}"#,
            r#"{ "n" : 1.50E+400,"model":"b","messages":[{"reasoning_content":"x","role":"assistant","content":""}]}"#,
            sent,
        ] {
            assert!(only_thoughts_were_added(sent.as_bytes(), arrived.as_bytes()), "{arrived}");
        }
        for arrived in [
            r#"{"n" : 1.50E+400,"model":"a","messages":[{"role":"assistant","content":""}]}"#,
            r#"{ "n" : 1.5E+400,"model":"a","messages":[{"role":"assistant","content":""}]}"#,
            r#"{ "n" : 1.50E+400,"model":"a","messages":[{"role":"assistant","content":"","x":1}]}"#,
        ] {
            assert!(!only_thoughts_were_added(sent.as_bytes(), arrived.as_bytes()), "{arrived}");
        }
    }

    #[test]
    fn a_history_is_what_stands_between_its_brackets() {
        let body = r#"{"messages":[{"content":"a ] \" ["},{"content":[]}],"tools":[]}"#;
        assert_eq!(history(body), Some(r#"{"content":"a ] \" ["},{"content":[]}"#));
    }
}
