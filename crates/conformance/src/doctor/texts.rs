//! The 24 refusals that users report, and silent losses.

use super::scenario::{Act, Expect, Habit, Scenario};

const ASK: Act = Act::User("What is in this folder, and what does the readme say?");
const AGAIN: Act = Act::User("Thanks. What is in the folder now?");
/// Two turns with tools. The first one has two rounds.
pub(super) const TURNS: &[Act] = &[ASK, Act::Loop, AGAIN, Act::Loop];

const V4: &str = "The `reasoning_content` in the thinking mode must be passed back to the API.";

/// A side question with thinking switched off, in the middle of a tool loop.
pub(super) const ASIDE: &[Act] = &[
    ASK,
    Act::Send,
    Act::Tools,
    Act::Keep(1),
    Act::Extra(r#"{"thinking":{"type":"disabled"}}"#),
    Act::Send,
    Act::Back(1),
    Act::Loop,
];

/// All scenarios of this file, in the order of the list.
pub(super) fn all() -> Vec<Scenario> {
    [chats(), signed(), items(), names(), silent()].concat()
}

fn chats() -> Vec<Scenario> {
    let forgets = |id: &'static str, says: &'static str, sim, text| {
        Scenario::new(id, says, sim, TURNS).refused(text)
    };
    vec![
        forgets("text-01", "DeepSeek V4 wants reasoning_content back", "deepseek-v4", V4),
        forgets(
            "text-02",
            "DeepSeek V3.2 names the message that lost its reasoning_content",
            "deepseek-v32",
            "Missing `reasoning_content` field in the assistant message at message index",
        ),
        forgets(
            "text-03",
            "DeepSeek's Responses want reasoning_text back",
            "deepseek-v4-responses",
            "The `reasoning_text` in the thinking mode must be passed back to the API.",
        ),
        forgets(
            "text-04",
            "DeepSeek's Messages want the thinking block back",
            "deepseek-v4-messages",
            "The content[].thinking in the thinking mode must be passed back to the API",
        ),
        forgets("text-05", "MiMo says Param Incorrect", "mimo", "Param Incorrect"),
        forgets(
            "text-06",
            "Kimi wants reasoning_content at every message with calls",
            "kimi-k2",
            "thinking is enabled but reasoning_content is missing in assistant tool call message at index",
        ),
        forgets(
            "text-07",
            "Gemini 3 wants the signature at the first call",
            "gemini-3",
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly",
        ),
        forgets(
            "text-08",
            "Vertex wants the signature at the first call",
            "vertex-gemini-3",
            "in the 2. content block is missing a `thought_signature`",
        ),
    ]
}

fn signed() -> Vec<Scenario> {
    let claude = |id: &'static str, says: &'static str, habits, text| {
        Scenario::new(id, says, "anthropic-manual", TURNS).with(habits).refused(text)
    };
    vec![
        Scenario::new("text-09", "a signature that was changed on its way", "gemini-3", TURNS)
            .with(&[Habit::Seal("CpwBAAAA")])
            .refused("Corrupted thought signature."),
        claude(
            "text-10",
            "Anthropic wants the running tool loop to begin with thinking",
            &[Habit::Forget],
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
        claude(
            "text-11",
            "thinking came back without its signature",
            &[Habit::NoSignature],
            "thinking.signature: Field required",
        ),
        claude(
            "text-12",
            "thinking came back with other words",
            &[Habit::Rewrite],
            "blocks in the latest assistant message cannot be modified",
        ),
        claude(
            "text-13",
            "thinking came back with a signature of somebody else",
            &[Habit::Seal("EqQBCgIYAhIkAAAA")],
            "Invalid `signature` in `thinking` block",
        ),
        Scenario::new(
            "text-14",
            "thinking is bound to a system text that changed since",
            "anthropic-bound",
            TURNS,
        )
        .with(&[Habit::Clock])
        .refused("The block is bound to a different conversation."),
        Scenario::new(
            "text-15",
            "thinking is sent though it is switched off",
            "anthropic-manual",
            ASIDE,
        )
        .with(&[Habit::KeepAll])
        .refused("When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`"),
        claude(
            "text-16",
            "a thinking budget above the cap",
            &[Habit::Budget],
            "`max_tokens` must be greater than `thinking.budget_tokens`",
        )
        .may_pass_on(),
    ]
}

fn items() -> Vec<Scenario> {
    let openai = |id: &'static str, says: &'static str, habits, text| {
        Scenario::new(id, says, "responses-stateless", TURNS).with(habits).refused(text)
    };
    vec![
        openai(
            "text-17",
            "a reasoning item whose follower lost its id",
            &[Habit::NoIds],
            "of type 'reasoning' was provided without its required following item.",
        ),
        openai(
            "text-18",
            "a call that lost its reasoning item",
            &[Habit::ForgetButIds],
            "of type 'function_call' was provided without its required 'reasoning' item",
        ),
        openai(
            "text-19",
            "a reasoning item without its payload, where nothing is stored",
            &[Habit::NoPayload],
            "not found. Items are not persisted when `store` is set to false.",
        ),
        openai(
            "text-20",
            "an encrypted payload that was changed on its way",
            &[Habit::Seal("gAAAAABnonsense")],
            "could not be verified.",
        ),
        Scenario::new("text-21", "a reasoning item without its summary", "xai", TURNS)
            .with(&[Habit::NoSummary])
            .refused("missing required field `summary`")
            .may_pass_on(),
        Scenario::new("text-22", "an encrypted payload that xAI cannot read", "xai", TURNS)
            .with(&[Habit::Seal("gAAAAABnonsense")])
            .refused("Could not decode the compaction blob.")
            .may_pass_on(),
    ]
}

fn names() -> Vec<Scenario> {
    vec![
        Scenario::new("text-23", "a thought under a name that Groq refuses", "groq", TURNS)
            .with(&[Habit::OldName])
            .refused("property 'reasoning_content' is unsupported"),
        Scenario::new("text-24", "a thought under a name that Mistral refuses", "mistral", TURNS)
            .with(&[Habit::OldName])
            .refused("extra_forbidden"),
    ]
}

fn silent() -> Vec<Scenario> {
    let lost = |id: &'static str, says: &'static str, sim| {
        Scenario::new(id, says, sim, TURNS).expecting(Expect::Lost)
    };
    vec![
        lost("silent-vllm", "vLLM answers worse without the thoughts of the loop", "vllm"),
        lost("silent-vllm-name", "vLLM does not read the old name", "vllm").with(&[Habit::OldName]),
        lost("silent-minimax", "MiniMax answers worse without its think tags", "minimax-tags"),
        lost("silent-glm", "GLM answers worse without the thoughts of the loop", "zai"),
        lost("silent-qwen", "Qwen answers worse without the thoughts of the loop", "qwen"),
        lost("silent-grok", "Grok answers worse without its reasoning items", "xai"),
        lost("silent-ollama", "Ollama answers worse without the thoughts of the loop", "ollama"),
    ]
}
