//! The `thinking` parameter: the accepted values of each generation, and their effect.

use serde_json::Value;

use super::{Generation, MessagesDialect, refusal};
use crate::exchange::SimRequest;
use crate::json::Keyed;
use crate::reply::Refusal;

/// The effective thinking of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thinking {
    pub(super) on: bool,
    pub(super) display: Display,
    /// Thoughts that do not fit their prefix are dropped instead of refused.
    pub(super) drop_block: bool,
    /// The caller asks for reports of dropped thoughts.
    pub(super) tells: bool,
}

/// Visibility of a thought's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Display {
    Summarized,
    Omitted,
}

impl Thinking {
    pub(super) fn shows_text(self) -> bool {
        self.display == Display::Summarized
    }
}

const BINDING: &str = "thinking-binding-controls-2026-08-01";
const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";

fn beta(request: &SimRequest, name: &str) -> bool {
    request
        .header("anthropic-beta")
        .is_some_and(|list| list.split(',').any(|item| item.trim() == name))
}

/// Reads and validates the parameter.
pub(super) fn thinking(
    dialect: &MessagesDialect,
    request: &SimRequest,
    body: &Value,
) -> Result<Thinking, Refusal> {
    let bad = |text: String| refusal(dialect, 400, &text);
    let generation = dialect.generation;
    let config = body.at("thinking");
    let kind = match config {
        Value::Null => None,
        _ => Some(config.at("type").as_str().unwrap_or_default()),
    };
    let on = match (generation, kind) {
        (Generation::Manual, None | Some("disabled")) => false,
        (Generation::Omitted | Generation::Bound | Generation::DeepSeek, None) => true,
        (Generation::Omitted | Generation::DeepSeek, Some("disabled")) => false,
        (Generation::Manual | Generation::DeepSeek, Some("enabled"))
        | (Generation::Omitted | Generation::Bound | Generation::DeepSeek, Some("adaptive")) => {
            true
        }
        (Generation::Manual, Some("adaptive")) => {
            return Err(bad("adaptive thinking is not supported on this model".to_owned()));
        }
        (Generation::Omitted | Generation::Bound, Some("enabled")) => {
            return Err(bad("\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.".to_owned()));
        }
        (Generation::Bound, Some("disabled")) => {
            return Err(bad("\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.".to_owned()));
        }
        (_, Some(other)) => {
            return Err(bad(format!(
                "thinking: Input tag '{other}' found using 'type' does not match any of the expected tags: 'adaptive', 'disabled', 'enabled'"
            )));
        }
    };
    if generation != Generation::DeepSeek {
        fields(dialect, request, config, kind.unwrap_or("adaptive"))?;
    }
    if generation == Generation::Manual && on {
        budget(dialect, request, body)?;
    }
    let display = match config.at("display").as_str() {
        Some("omitted") => Display::Omitted,
        Some("summarized") => Display::Summarized,
        Some(_) | None => match generation {
            Generation::Manual | Generation::DeepSeek => Display::Summarized,
            Generation::Omitted | Generation::Bound => Display::Omitted,
        },
    };
    Ok(Thinking {
        on,
        display,
        drop_block: config.at("block_binding").at("prefix_mismatch_behavior") == "drop_block",
        tells: beta(request, BINDING),
    })
}

/// Refuses unknown fields of the type, and unknown values of known fields.
fn fields(
    dialect: &MessagesDialect,
    request: &SimRequest,
    config: &Value,
    kind: &str,
) -> Result<(), Refusal> {
    let bad = |text: String| Err(refusal(dialect, 400, &text));
    for (key, value) in config.as_object().into_iter().flatten() {
        let known = match key.as_str() {
            "type" => true,
            "budget_tokens" => kind == "enabled",
            "display" => kind != "disabled",
            "block_binding" => beta(request, BINDING) && kind != "disabled",
            _ => false,
        };
        if !known {
            return bad(format!("thinking.{kind}.{key}: Extra inputs are not permitted"));
        }
        if key == "display" && !matches!(value.as_str(), Some("summarized" | "omitted")) {
            return bad(format!(
                "thinking.{kind}.display: Input should be 'summarized' or 'omitted'"
            ));
        }
        let behavior = value.at("prefix_mismatch_behavior").as_str();
        if key == "block_binding" && !matches!(behavior, Some("error" | "drop_block")) {
            return bad(format!(
                "thinking.{kind}.block_binding.prefix_mismatch_behavior: Input should be 'error' or 'drop_block'"
            ));
        }
    }
    Ok(())
}

fn budget(dialect: &MessagesDialect, request: &SimRequest, body: &Value) -> Result<(), Refusal> {
    let bad = |text: &str| Err(refusal(dialect, 400, text));
    let Some(budget) = body.at("thinking").at("budget_tokens").as_u64() else {
        return bad("thinking.enabled.budget_tokens: Field required");
    };
    if budget < 1024 {
        return bad(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        );
    }
    // With interleaved thinking the budget covers the whole turn, so that it may exceed the cap of
    // one answer.
    let spans_turn = beta(request, INTERLEAVED)
        && body.at("tools").as_array().is_some_and(|tools| !tools.is_empty());
    if body.at("max_tokens").as_u64().is_some_and(|cap| cap <= budget) && !spans_turn {
        return bad(
            "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#max-tokens-and-context-window-size",
        );
    }
    if body.at("temperature").as_f64().is_some_and(|value| (value - 1.0).abs() > f64::EPSILON) {
        return bad(
            "`temperature` may only be set to 1 when thinking is enabled. Please consult our documentation at https://docs.claude.com/en/docs/build-with-claude/extended-thinking#important-considerations-when-using-extended-thinking",
        );
    }
    if !body.at("top_k").is_null() {
        return bad("`top_k` must be unset when thinking is enabled.");
    }
    match body.at("tool_choice").at("type").as_str() {
        Some("any" | "tool") => {
            bad("Thinking may not be enabled when tool_choice forces tool use.")
        }
        Some(_) | None => Ok(()),
    }
}
