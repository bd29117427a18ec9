//! JSON documents from bytes: every input is one, and many look like what callers and providers send.
//!
//! A template stands for one shape. In it `$` and a letter are a hole: `$b` a block, `$B` a list of blocks, `$m` a
//! message, `$M` a list of messages, `$n` a number, `$r` a role, `$s` text, `$v` any value, `$x` nothing or a member
//! that no wire knows.

const DOCUMENTS: &[&str] = &[
    r#"{"model":$s,"messages":$M$x}"#,
    r#"{"model":$s,"messages":$M,"max_tokens":$n,"system":$s,"thinking":{"type":"enabled","budget_tokens":$n}$x}"#,
    r#"{"model":$s,"messages":$M,"system":$B,"tools":[{"name":$s,"description":$s,"input_schema":$v$x}],"tool_choice":$v}"#,
    r#"{"model":$s,"messages":$M,"stream":true,"reasoning_effort":$s,"tools":[{"type":"function","function":{"name":$s,"parameters":$v}}]$x}"#,
    r#"{"model":$s,"input":$B,"instructions":$s,"reasoning":{"effort":$s,"summary":$s}$x}"#,
    r#"{"model":$s,"input":$M,"store":false,"include":["reasoning.encrypted_content"]$x}"#,
    r#"{"contents":$M,"systemInstruction":$m,"generationConfig":{"thinkingConfig":{"thinkingBudget":$n}}$x}"#,
    r#"{"messages":$M,"system":[{"text":$s}],"inferenceConfig":{"maxTokens":$n},"additionalModelRequestFields":$v}"#,
    r#"{"id":$s,"model":$s,"choices":[{"index":0,"message":$m,"finish_reason":$s$x}],"usage":{"prompt_tokens":$n,"completion_tokens":$n,"completion_tokens_details":{"reasoning_tokens":$n}}$x}"#,
    r#"{"choices":[{"index":1,"message":$m},{"index":0,"message":$m,"finish_reason":$s}]}"#,
    r#"{"id":$s,"type":"message","role":"assistant","model":$s,"content":$B,"stop_reason":$s,"usage":{"input_tokens":$n,"output_tokens":$n}$x}"#,
    r#"{"id":$s,"object":"response","model":$s,"status":$s,"output":$B,"usage":{"input_tokens":$n,"output_tokens":$n,"output_tokens_details":{"reasoning_tokens":$n}}$x}"#,
    r#"{"candidates":[{"content":$m,"finishReason":$s}],"usageMetadata":{"promptTokenCount":$n,"thoughtsTokenCount":$n}$x}"#,
    r#"{"output":{"message":$m},"stopReason":$s,"usage":{"inputTokens":$n,"outputTokens":$n}$x}"#,
    r#"{"model":$s,"message":$m,"done":true,"done_reason":$s,"eval_count":$n$x}"#,
    r#"{"id":$s,"message":$m,"finish_reason":$s,"usage":{"tokens":{"input_tokens":$n,"output_tokens":$n}}}"#,
    r#"{"id":$s,"status":$s,"outputs":$B,"steps":$B$x}"#,
    r#"{"error":{"type":$s,"message":$s,"code":$v}$x}"#,
    "$v",
];

const MESSAGES: &[&str] = &[
    r#"{"role":$r,"content":$s$x}"#,
    r#"{"role":$r,"content":$B$x}"#,
    r#"{"role":"user","content":$s}"#,
    r#"{"role":"assistant","content":$s,"reasoning_content":$s,"tool_calls":[{"id":$s,"type":"function","function":{"name":$s,"arguments":"{}"}$x}]$x}"#,
    r#"{"role":"assistant","content":null,"reasoning":$s,"reasoning_details":$B,"tool_calls":[{"id":$s,"type":"function","function":{"name":$s,"arguments":$s}}]}"#,
    r#"{"role":"assistant","content":$s,"thinking":$s,"tool_calls":[{"function":{"name":$s,"arguments":$v}}]}"#,
    r#"{"role":"assistant","content":$v,"tool_plan":$s,"refusal":$s}"#,
    r#"{"role":"tool","tool_call_id":$s,"content":$s$x}"#,
    r#"{"role":"tool","tool_name":$s,"content":$B}"#,
    r#"{"role":$r,"parts":$B$x}"#,
    "$v",
];

const BLOCKS: &[&str] = &[
    r#"{"type":"text","text":$s$x}"#,
    r#"{"type":"thinking","thinking":$s,"signature":$s$x}"#,
    r#"{"type":"thinking","thinking":[{"type":"text","text":$s}]}"#,
    r#"{"type":"redacted_thinking","data":$s$x}"#,
    r#"{"type":"tool_use","id":$s,"name":$s,"input":$v$x}"#,
    r#"{"type":"tool_result","tool_use_id":$s,"content":$B$x}"#,
    r#"{"type":"tool_result","tool_use_id":$s,"content":$s,"is_error":true}"#,
    r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":$s}}"#,
    r#"{"type":"image_url","image_url":{"url":$s}}"#,
    r#"{"type":"message","role":$r,"content":[{"type":"output_text","text":$s,"annotations":[]}]$x}"#,
    r#"{"type":"reasoning","id":$s,"summary":[{"type":"summary_text","text":$s}],"encrypted_content":$s$x}"#,
    r#"{"type":"reasoning","id":$s,"summary":[],"content":[{"type":"reasoning_text","text":$s}]}"#,
    r#"{"type":"function_call","id":$s,"call_id":$s,"name":$s,"arguments":"{}"$x}"#,
    r#"{"type":"function_call_output","call_id":$s,"output":$s}"#,
    r#"{"type":"reasoning.text","text":$s,"signature":$s,"format":$s,"index":$n}"#,
    r#"{"type":"reasoning.encrypted","data":$s,"id":$s,"index":$n$x}"#,
    r#"{"text":$s,"thought":true,"thoughtSignature":$s}"#,
    r#"{"text":$s,"thoughtSignature":$s$x}"#,
    r#"{"functionCall":{"name":$s,"args":$v,"id":$s},"thoughtSignature":$s}"#,
    r#"{"functionResponse":{"name":$s,"response":$v}}"#,
    r#"{"reasoningContent":{"reasoningText":{"text":$s,"signature":$s}}}"#,
    r#"{"reasoningContent":{"redactedContent":$s}}"#,
    r#"{"toolUse":{"toolUseId":$s,"name":$s,"input":$v}}"#,
    r#"{"toolResult":{"toolUseId":$s,"content":[{"text":$s}]}}"#,
    r#"{"type":"server_tool_use","id":$s,"name":$s,"input":$v}"#,
    r#"{"type":$s,"value":$v}"#,
    "$v",
];

const ROLES: &[&str] =
    &["user", "assistant", "user", "assistant", "system", "developer", "tool", "model"];

const TEXTS: &[&str] = &[
    "",
    " ",
    "a",
    "b c",
    "call_1",
    "call_2",
    "{}",
    r#"{\"a\":1}"#,
    "not json",
    r"\u00e9\n\t",
    r"\ud83d\ude00",
    "stop",
    "tool_calls",
    "end_turn",
    "completed",
    "high",
    "<think>x</think>",
    "EqQBCgIYAhIM",
];

const VALUES: &[&str] = &[
    "null",
    "true",
    "false",
    "0",
    "-1.5e2",
    "{}",
    "[]",
    "$s",
    "$n",
    "[$v,$v]",
    r#"{"a":$v,"b":$v}"#,
    r#"{"type":$s}"#,
];

/// A document that these bytes spell, whatever they are.
pub(crate) fn document(bytes: &[u8]) -> String {
    let mut out = String::new();
    fill(DOCUMENTS, &mut bytes.iter().copied(), &mut out, 0);
    out
}

fn fill(templates: &[&str], bytes: &mut dyn Iterator<Item = u8>, out: &mut String, depth: usize) {
    let choice = bytes.next().map_or(0, usize::from);
    let template = templates[choice % templates.len()];
    let mut parts = template.split('$');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (hole, rest) = part.split_at(1);
        fill_hole(hole, bytes, out, depth + 1);
        out.push_str(rest);
    }
}

fn fill_hole(hole: &str, bytes: &mut dyn Iterator<Item = u8>, out: &mut String, depth: usize) {
    let byte = bytes.next().unwrap_or_default();
    let is_deep = depth > 8;
    match hole {
        "n" => out.push_str(["0", "1", "42", "18446744073709551615", "-3"][usize::from(byte % 5)]),
        "r" => quote(ROLES, byte, out),
        "s" => quote(TEXTS, byte, out),
        "x" if byte.is_multiple_of(4) => out.push_str(r#","an_unknown_field":{"kept":[1,"x"]}"#),
        "x" => {}
        "B" | "M" => {
            out.push('[');
            for at in 0..if is_deep { 0 } else { byte % 5 } {
                out.push_str(if at > 0 { "," } else { "" });
                fill(if hole == "B" { BLOCKS } else { MESSAGES }, bytes, out, depth);
            }
            out.push(']');
        }
        _ if is_deep => out.push_str("null"),
        "b" => fill(BLOCKS, bytes, out, depth),
        "m" => fill(MESSAGES, bytes, out, depth),
        "v" => fill(VALUES, bytes, out, depth),
        hole => panic!("`${hole}` is no hole"),
    }
}

fn quote(texts: &[&str], byte: u8, out: &mut String) {
    out.extend(["\"", texts[usize::from(byte) % texts.len()], "\""]);
}

#[test]
fn every_input_spells_a_document() {
    for seed in 0..=255_u8 {
        let byte = |at: u8| at.wrapping_mul(31).wrapping_add(seed).wrapping_mul(seed | 1);
        let bytes: Vec<u8> = (0..200).map(byte).collect();
        let document = document(&bytes);
        let read = serde_json::from_str::<serde_json::Value>(&document);
        assert!(read.is_ok(), "{read:?}: {document}");
    }
}
