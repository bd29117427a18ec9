//! Why an answer ended, in neutral words.
//!
//! An answer keeps its provider's own word. A wire that passes it to callers translates a known word into its own,
//! and passes an unknown one unchanged.

/// Why an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The model finished its answer.
    Complete,
    /// The model's context is full.
    ContextFull,
    /// It ended before it was finished: the provider failed, or discarded a call that it could not read.
    Failed,
    /// The cap on generated tokens was reached.
    Length,
    /// The turn pauses and goes on when it is sent back.
    Pause,
    /// The model or a filter refused.
    Refused,
    /// A stop sequence came.
    StopSequence,
    /// The model asks for tools.
    ToolUse,
}

impl Ending {
    /// The meaning of a provider's word, if it is known. Case is ignored.
    pub(crate) fn of(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "complete" | "completed" | "end_turn" | "eos" | "stop" => Ending::Complete,
            "model_context_window_exceeded" => Ending::ContextFull,
            "error"
            | "insufficient_system_resource"
            | "malformed_function_call"
            | "malformed_model_output"
            | "malformed_response"
            | "malformed_tool_use"
            | "network_error"
            | "timeout"
            | "too_many_tool_calls"
            | "unexpected_tool_call" => Ending::Failed,
            "incomplete" | "length" | "max_output_tokens" | "max_tokens" | "model_length" => {
                Ending::Length
            }
            "pause_turn" => Ending::Pause,
            "blocklist"
            | "content_filter"
            | "content_filtered"
            | "error_toxic"
            | "guardrail_intervened"
            | "image_safety"
            | "prohibited_content"
            | "recitation"
            | "refusal"
            | "safety"
            | "sensitive"
            | "spii" => Ending::Refused,
            "stop_sequence" => Ending::StopSequence,
            "function_call" | "requires_action" | "tool_call" | "tool_calls" | "tool_use" => {
                Ending::ToolUse
            }
            _ => return None,
        })
    }

    /// The meaning of a finish reason. If it is absent or only means complete, tool calls in the answer take
    /// precedence.
    pub(crate) fn of_answer(word: Option<&str>, has_calls: bool) -> Option<Self> {
        match word.map(Ending::of) {
            Some(None) => None,
            None | Some(Some(Ending::Complete)) if has_calls => Some(Ending::ToolUse),
            None => Some(Ending::Complete),
            Some(known) => known,
        }
    }
}
