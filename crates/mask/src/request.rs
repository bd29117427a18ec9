//! Masks the caller's part of a model request, so that the caller's secrets do not reach the provider.

use super::Masker;
use super::body::{Edits, Opaque, walk, written};
use thinkthrough_json::{Doc, JsonError, Val};

/// Members of a request that its caller wrote as a whole.
const WRITTEN: [&str; 7] = [
    "system",
    "instructions",
    "prompt",
    "suffix",
    "systemInstruction",
    "system_instruction",
    "documents",
];

/// Members that hold a conversation.
const CONVERSATION: [&str; 3] = ["messages", "input", "contents"];

/// Masks the strings of a model request, of any wire, that its caller wrote: user, system and developer messages, and
/// tool results. Words of the model go back as they came, and so do ids, names, tools, media and cache markers.
/// Returns `None` if no secret was found.
///
/// The result depends on each string alone, so that a growing conversation keeps its beginning byte for byte, and is
/// found again by the text that was sent.
///
/// # Errors
/// Fails if the bytes are not JSON.
pub fn mask_request(masker: &Masker, body: &[u8]) -> Result<Option<Vec<u8>>, JsonError> {
    let doc = Doc::parse(body)?;
    let mut edits = Edits::new();
    for (name, value) in doc.root().members() {
        let Some(name) = name.as_str() else { continue };
        if WRITTEN.contains(&&*name) {
            walk(masker, value, &name, Opaque::Sent, &mut edits);
        } else if CONVERSATION.contains(&&*name) {
            conversation(masker, value, &mut edits);
        }
    }
    Ok(written(body, edits))
}

fn conversation(masker: &Masker, value: Val<'_>, edits: &mut Edits) {
    if !value.is_array() {
        // Responses and Interactions take one text, or one message, in the place of a list.
        if value.as_str().is_some() || is_authored(value) {
            walk(masker, value, "", Opaque::Sent, edits);
        }
        return;
    }
    for item in value.items().filter(|item| item.as_str().is_some() || is_authored(*item)) {
        walk(masker, item, "", Opaque::Sent, edits);
    }
}

/// Whether an entry of a conversation is not the model's. Entries of unknown types count as the model's, because a
/// model's words must go back as they came.
fn is_authored(item: Val<'_>) -> bool {
    match (item.text("role").as_deref(), item.text("type").as_deref()) {
        (Some("user" | "system" | "developer" | "tool" | "function"), _) => true,
        (Some(_), _) => false,
        // Gemini's contents need no role, and then are the user's.
        (None, None) => true,
        (None, Some("model_output")) => false,
        (None, Some(kind)) => {
            matches!(kind, "text" | "input_text" | "user_input" | "message")
                || kind.ends_with("_output")
                || kind.ends_with("_result")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tiers;

    fn masked(body: &str) -> String {
        let masker = Masker::new(Tiers::ALL, &[7; 32]);
        let masked = mask_request(&masker, body.as_bytes()).unwrap();
        masked.map_or_else(|| body.to_owned(), |bytes| String::from_utf8(bytes).unwrap())
    }

    /// A text that is covered, and its placeholder.
    fn secret() -> (String, String) {
        let secret = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
        let placeholder = Masker::new(Tiers::ALL, &[7; 32]).mask_text(&secret);
        (secret, placeholder)
    }

    #[test]
    fn what_a_caller_wrote_is_masked_on_every_wire() {
        let (secret, placeholder) = secret();
        for body in [
            r#"{"messages":[{"role":"system","content":"S"},{"role":"user","content":[{"type":"text","text":"S"}]},{"role":"tool","tool_call_id":"c","content":"S"}]}"#,
            r#"{"system":[{"type":"text","text":"S"}],"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"S"}]},{"type":"document","source":{"type":"text","media_type":"text/plain","data":"S"}}]}]}"#,
            r#"{"instructions":"S","input":[{"role":"developer","content":"S"},{"type":"function_call_output","call_id":"c","output":"S"},{"type":"message","role":"user","content":[{"type":"input_text","text":"S"}]}]}"#,
            r#"{"input":"S"}"#,
            r#"{"systemInstruction":{"parts":[{"text":"S"}]},"contents":[{"parts":[{"text":"S"}]},{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"r":"S"}}}]}]}"#,
            r#"{"system":"S","prompt":"S"}"#,
            r#"{"input":[{"type":"user_input","content":[{"type":"text","text":"S"}]},{"type":"function_result","call_id":"c","result":"S"}]}"#,
        ] {
            let body = body.replace("\"S\"", &format!("\"see {secret}.\""));
            assert_eq!(masked(&body), body.replace(&secret, &placeholder), "{body}");
        }
    }

    #[test]
    fn what_a_model_said_and_what_is_referred_to_goes_back_as_it_came() {
        let (secret, _) = secret();
        for body in [
            r#"{"messages":[{"role":"assistant","content":"S","reasoning_content":"S","tool_calls":[{"id":"S","function":{"name":"f","arguments":"S"}}]}]}"#,
            r#"{"messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"S","signature":"S"}]},{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://h/S"}},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"S"}},{"type":"tool_result","tool_use_id":"S","content":"x"}]}]}"#,
            r#"{"input":[{"type":"reasoning","summary":[{"text":"S"}],"encrypted_content":"S"},{"type":"function_call","call_id":"c","arguments":"S"},{"type":"message","role":"assistant","content":"S"},{"type":"model_output","content":"S"}]}"#,
            r#"{"contents":[{"role":"model","parts":[{"text":"S","thoughtSignature":"S"}]},{"role":"user","parts":[{"fileData":{"fileUri":"https://h/S"}},{"inlineData":{"mimeType":"image/png","data":"S"}}]}]}"#,
            r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://h/?sig=S"}}]}],"tools":[{"name":"S"}],"user":"S","metadata":{"a":"S"}}"#,
        ] {
            let body = body.replace('S', &secret);
            assert_eq!(masked(&body), body);
        }
    }

    #[test]
    fn a_conversation_that_grows_keeps_its_beginning() {
        let (secret, _) = secret();
        let one = format!(r#"{{"messages":[{{"role":"user","content":"{secret}"}}"#);
        let two = format!(
            r#"{one},{{"role":"assistant","content":"ok"}},{{"role":"user","content":"password=hunter2x"}}]}}"#
        );
        let first = masked(&format!("{one}]}}"));
        assert!(masked(&two).starts_with(first.strip_suffix("]}").unwrap()));
    }
}
