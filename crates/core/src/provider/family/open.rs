//! Open weights on servers that hand thoughts to the model's own template. They refuse no request for its thoughts,
//! and the template decides what it renders, so all thoughts go back, under the name that the server reads.

use crate::contract::{Contract, Return};
use crate::provider::{ModelRule, ThinkingForm};

use super::THREE;

/// Thoughts in the wire's own place.
pub(in crate::provider) const fn own_place(source: &'static str) -> Contract {
    Contract { returns: Return::All, ..Contract::NONE }.stated(source)
}

/// Thoughts beside the content.
pub(in crate::provider) const fn sibling(source: &'static str) -> Contract {
    Contract::plain(Return::All, "reasoning_content").stated(source)
}

/// Rules of a server that renders templates itself and reads thoughts in `field`.
pub(in crate::provider) const fn templated(
    field: Option<&'static str>,
    source: &'static str,
) -> [ModelRule; 7] {
    let contract = Contract { field, ..own_place(source) };
    [
        ModelRule::new("*gpt-oss*", 131_072, contract, EFFORT),
        ModelRule::new("*gemma-4*", 0, contract, ON_REQUEST),
        ModelRule::new("*qwen3*", 0, contract, SWITCH),
        ModelRule::new("*glm-*", 0, contract, SWITCH),
        ModelRule::new("*granite*", 0, contract, THINKING),
        ModelRule::new("*deepseek-v3.1*", 0, contract, THINKING),
        ModelRule::new("*", 0, contract, ThinkingForm::NONE),
    ]
}

const EFFORT: ThinkingForm = ThinkingForm::ON.effort("reasoning_effort", THREE);

const SWITCH: ThinkingForm =
    ThinkingForm::ON.off(r#"{"chat_template_kwargs":{"enable_thinking":false}}"#);

const ON_REQUEST: ThinkingForm =
    ThinkingForm::on(r#"{"chat_template_kwargs":{"enable_thinking":true}}"#);

const THINKING: ThinkingForm = ThinkingForm::on(r#"{"chat_template_kwargs":{"thinking":true}}"#);

/// The reasoning of the turn under way, which harmony's template renders.
pub(in crate::provider) const HARMONY: Contract = Contract::plain(Return::CurrentTurn, "reasoning")
    .stated("https://cookbook.openai.com/articles/gpt-oss/handle-raw-cot");

/// Harmony cannot be switched off.
pub(in crate::provider) const HARMONY_THINKING: ThinkingForm = EFFORT;
