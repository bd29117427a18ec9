//! Compares the output of `think parse` with the expectation of a recording.

use serde_json::Value;

/// The names of a thought's members here and in the recordings.
const THOUGHT: [(&str, &str); 6] = [
    ("thought", "text"),
    ("signature", "signature"),
    ("redactedData", "data"),
    ("format", "format"),
    ("detailType", "detail_type"),
    ("index", "index"),
];

const CALL: [(&str, &str); 5] = [
    ("id", "id"),
    ("name", "name"),
    ("parameters", "arguments"),
    ("parametersRaw", "arguments_raw"),
    ("signature", "signature"),
];

/// Token counts. With the flag, a count that a recording lacks must be absent in the output.
const USAGE: [(&str, &str, bool); 7] = [
    ("inputTokens", "input", true),
    ("outputTokens", "output", true),
    ("reasoningTokens", "reasoning", true),
    ("raw", "raw", true),
    ("cacheReadTokens", "cache_read", false),
    ("cacheWriteTokens", "cache_write", false),
    ("totalTokens", "total", false),
];

/// Members of the answer. Without the flag, a member is compared only if the recording has it.
const ANSWER: [(&str, &str, bool); 6] = [
    ("toolPlan", "tool_plan", true),
    ("messageSignature", "message_signature", true),
    ("model", "model", false),
    ("responseId", "response_id", false),
    ("stopSequence", "stop_sequence", false),
    ("refusal", "refusal", false),
];

/// The differences. Empty if the answer is right.
pub(crate) fn differences(answer: &Value, expected: &Value) -> Vec<String> {
    [said_differences(answer, expected), other_differences(answer, expected)].concat()
}

/// The differences in thoughts, text and their order.
pub(crate) fn said_differences(answer: &Value, expected: &Value) -> Vec<String> {
    let mut judge = Judge { findings: Vec::new() };
    judge.thoughts(&of_kind(answer, "thinking"), list(&expected["thinking"]));
    judge.same("text", &answer["text"], &expected["text"]);
    if let Some(blocks) = expected["blocks"].as_array() {
        judge.order(list(&answer["blocks"]), blocks);
    }
    judge.findings
}

/// All other differences: calls, finish reason, usage, ids, problems.
pub(crate) fn other_differences(answer: &Value, expected: &Value) -> Vec<String> {
    let mut judge = Judge { findings: Vec::new() };
    judge.calls(&of_kind(answer, "tool_call"), list(&expected["tool_calls"]));
    judge.same("finish reason", &answer["finishReason"], &expected["finish_reason"]);
    for (ours, theirs, always) in USAGE {
        let wanted = expected["usage"].get(theirs);
        if always || wanted.is_some() {
            judge.same(ours, &answer["usage"][ours], wanted.unwrap_or(&Value::Null));
        }
    }
    for (ours, theirs, always) in ANSWER {
        if always || !expected[theirs].is_null() {
            judge.same(ours, &answer[ours], &expected[theirs]);
        }
    }
    judge.problems(&answer["problems"], !expected["error"].is_null());
    judge.findings
}

/// The differences of an answer whose thoughts were taken out of tags, as a model's rule demands.
pub(crate) fn tag_differences(answer: &Value, tagged: &Value) -> Vec<String> {
    let mut judge = Judge { findings: Vec::new() };
    let thoughts = of_kind(answer, "thinking");
    let thoughts: String = thoughts.iter().filter_map(|block| block["thought"].as_str()).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().trim().to_owned();
    judge.equal("thought between tags", thoughts.trim(), &text(&tagged["thinking"]));
    judge.equal("text beside tags", &text(&answer["text"]), &text(&tagged["text"]));
    judge.findings
}

/// Checks that each thought names its key of the wire. `quirks` are the recording's notes about its
/// fields.
pub(crate) fn source_differences(
    answer: &Value,
    expected: &Value,
    (wire, quirks): (&str, &[String]),
) -> Vec<String> {
    let mut judge = Judge { findings: Vec::new() };
    let told = |name: &str| quirks.iter().any(|quirk| quirk.strip_prefix("field:") == Some(name));
    let fields = ["reasoning_details", "reasoning_content", "reasoning"];
    for (is, should) in of_kind(answer, "thinking").iter().zip(list(&expected["thinking"])) {
        let field = match wire {
            "chat-completions" => fields.into_iter().find(|field| told(field)),
            "converse" => Some("reasoningContent"),
            "cohere-chat" | "messages" | "mistral-chat" | "ollama-chat" => Some("thinking"),
            "generate-content" | "interactions" => Some("thought"),
            "responses" if list(&should["content"]).is_empty() => Some("summary"),
            "responses" => Some("content"),
            _ => None,
        };
        judge.same("sourceField", &is["sourceField"], &field.into());
    }
    judge.findings
}

struct Judge {
    findings: Vec<String>,
}

impl Judge {
    fn same(&mut self, what: &str, is: &Value, should: &Value) {
        if is != should {
            self.findings.push(format!("{what}: {is} instead of {should}"));
        }
    }

    fn equal(&mut self, what: &str, is: &str, should: &str) {
        if is != should {
            self.findings.push(format!("{what}: {is:?} instead of {should:?}"));
        }
    }

    fn thoughts(&mut self, are: &[&Value], should: &[Value]) {
        self.same("thoughts", &are.len().into(), &should.len().into());
        for (is, should) in are.iter().zip(should) {
            for (ours, theirs) in THOUGHT {
                self.same(ours, &is[ours], &should[theirs]);
            }
            self.one_of("encryptedContent", is, should, ["encrypted", "encrypted_alternatives"]);
            self.one_of("id", is, should, ["id", "id_alternatives"]);
            for key in ["summary", "content"] {
                // The recordings do not distinguish absent parts from an empty list.
                let (is, should) = (list(&is[key]), list(&should[key]));
                self.same(key, &is.into(), &should.into());
            }
        }
    }

    fn one_of(&mut self, what: &str, is: &Value, should: &Value, [one, more]: [&str; 2]) {
        if !list(&should[more]).contains(&is[what]) {
            self.same(what, &is[what], &should[one]);
        }
    }

    fn calls(&mut self, are: &[&Value], should: &[Value]) {
        self.same("tool calls", &are.len().into(), &should.len().into());
        for (is, should) in are.iter().zip(should) {
            for (ours, theirs) in CALL {
                self.same(ours, &is[ours], &should[theirs]);
            }
        }
    }

    fn order(&mut self, are: &[Value], should: &[Value]) {
        let ours: Vec<String> = are.iter().map(|block| digest(block, "type", "thought")).collect();
        let theirs: Vec<String> =
            should.iter().map(|block| digest(block, "kind", "text")).collect();
        self.same("blocks", &ours.into(), &theirs.into());
    }

    fn problems(&mut self, problems: &Value, has_error: bool) {
        let codes: Vec<&str> =
            list(problems).iter().filter_map(|problem| problem["code"].as_str()).collect();
        match has_error {
            true if !codes.contains(&"upstream_error") => {
                self.findings.push(format!("the error is not reported: {problems}"));
            }
            false if !codes.is_empty() => self.findings.push(format!("problems: {problems}")),
            true | false => {}
        }
    }
}

/// A block's kind and what it says, in words that are the same here and in the recordings.
fn digest(block: &Value, kind: &str, thought: &str) -> String {
    match block["type"].as_str().unwrap_or_default() {
        "thinking" => format!("thinking {}", block[thought]),
        "text" => format!("text {} {}", block["text"], block["signature"]),
        "tool_call" => format!("tool_call {}", block["name"]),
        name => format!("other {}", block[kind].as_str().unwrap_or(name)),
    }
}

fn of_kind<'a>(answer: &'a Value, kind: &str) -> Vec<&'a Value> {
    list(&answer["blocks"]).iter().filter(|block| block["type"] == kind).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[test]
fn the_judge_finds_what_is_wrong() {
    use serde_json::json;
    let right = json!({
        "blocks": [
            {"type": "thinking", "thought": "hm", "sourceField": "thinking", "signature": "s"},
            {"type": "tool_call", "id": "1", "name": "f", "parameters": {"a": 1}},
        ],
        "text": "", "usage": {"inputTokens": 1, "raw": {"i": 1}}, "finishReason": "tool_use", "problems": [],
    });
    let expected = json!({
        "thinking": [{"text": "hm", "signature": "s"}],
        "text": "",
        "tool_calls": [{"id": "1", "name": "f", "arguments": {"a": 1}}],
        "usage": {"input": 1, "raw": {"i": 1}},
        "finish_reason": "tool_use",
        "blocks": [{"type": "thinking", "text": "hm"}, {"type": "tool_call", "name": "f"}],
    });
    assert_eq!(differences(&right, &expected), [""; 0]);
    for (pointer, wrong) in [
        ("/blocks/0/thought", json!("hmm")),
        ("/blocks/0/signature", json!("t")),
        ("/blocks/1/parameters", json!({"a": 2})),
        ("/blocks/1/id", json!("2")),
        ("/text", json!("x")),
        ("/usage/inputTokens", json!(0)),
        ("/usage/raw", json!({})),
        ("/finishReason", json!("stop")),
        ("/problems", json!([{"code": "unknown"}])),
    ] {
        let mut answer = right.clone();
        *answer.pointer_mut(pointer).unwrap() = wrong;
        assert!(!differences(&answer, &expected).is_empty(), "{pointer}");
    }
    let mut turned = right.clone();
    turned["blocks"].as_array_mut().unwrap().reverse();
    assert!(!differences(&turned, &expected).is_empty());
    let source = |answer: &Value, quirk: &str| {
        source_differences(answer, &expected, ("chat-completions", &[quirk.to_owned()]))
    };
    assert_eq!(source_differences(&right, &expected, ("messages", &[])), [""; 0]);
    assert_eq!(source(&right, "field:reasoning").len(), 1);
    assert_eq!(source(&right, "nothing of fields").len(), 1);
    let mut nowhere = right.clone();
    nowhere["blocks"][0]["sourceField"] = json!("");
    assert_eq!(source_differences(&nowhere, &expected, ("messages", &[])).len(), 1);
}
