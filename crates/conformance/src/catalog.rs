//! The list of simulators, one row each.

use crate::chat::{self, ChatDialect};
use crate::gemini::{self, GeminiDialect};
use crate::messages::{self, MessagesDialect};
use crate::responses::{self, ResponsesDialect};

/// One simulator, as `think sim --list` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listed {
    /// The id: path prefix under `think sim`, and `sim/<id>` as a model.
    pub id: &'static str,
    /// The name of its wire.
    pub wire: &'static str,
    /// The configuration's id of the imitated provider. Empty if the simulator imitates none.
    pub provider: &'static str,
    /// The name of the simulated model.
    pub model: &'static str,
    /// Its rule about thoughts, in one sentence.
    pub rule: &'static str,
}

/// Lists all simulators in catalog order.
pub fn list() -> Vec<Listed> {
    PROFILES
        .iter()
        .map(|profile| Listed {
            id: profile.id,
            wire: profile.wire(),
            provider: profile.provider,
            model: profile.model,
            rule: profile.rule,
        })
        .collect()
}

#[derive(Debug)]
pub(crate) struct Profile {
    pub(crate) id: &'static str,
    pub(crate) provider: &'static str,
    pub(crate) model: &'static str,
    pub(crate) rule: &'static str,
    pub(crate) wire: Wire,
}

impl Profile {
    pub(crate) fn wire(&self) -> &'static str {
        match &self.wire {
            Wire::Chat(dialect) => dialect.wire_name(),
            Wire::Bedrock => "converse",
            Wire::Cohere => "cohere-chat",
            Wire::Gemini(_) => "generate-content",
            Wire::Interactions => "interactions",
            Wire::Messages(_) | Wire::Vertex => "messages",
            Wire::Ollama => "ollama-chat",
            Wire::Responses(_) => "responses",
        }
    }
}

/// The wire of a simulator, with its dialect.
#[derive(Debug)]
pub(crate) enum Wire {
    Bedrock,
    Chat(ChatDialect),
    Cohere,
    Gemini(GeminiDialect),
    Interactions,
    Messages(MessagesDialect),
    Ollama,
    Responses(ResponsesDialect),
    /// Messages on Google's platform.
    Vertex,
}

pub(crate) fn profile(id: &str) -> Option<&'static Profile> {
    PROFILES.iter().find(|profile| profile.id == id)
}

static PROFILES: &[Profile] = &[
    Profile {
        id: "default",
        provider: "",
        model: "simulated-thinker",
        rule: "every assistant message with tool calls must bring its reasoning_content back, unchanged to the byte",
        wire: Wire::Chat(chat::DEFAULT),
    },
    Profile {
        id: "kimi-k2",
        provider: "moonshotai",
        model: "kimi-k2-thinking",
        rule: "every assistant message with tool calls must carry its reasoning_content",
        wire: Wire::Chat(chat::KIMI_K2),
    },
    Profile {
        id: "kimi-k3",
        provider: "moonshotai",
        model: "kimi-k3",
        rule: "every assistant message with tool calls must carry its reasoning_content; the thoughts of the others are missed without an error, and call ids repeat every turn",
        wire: Wire::Chat(chat::KIMI_K3),
    },
    Profile {
        id: "deepseek-v4",
        provider: "deepseek",
        model: "deepseek-v4-pro",
        rule: "every assistant message of a turn that used tools must carry reasoning_content, in all later turns too",
        wire: Wire::Chat(chat::DEEPSEEK_V4),
    },
    Profile {
        id: "deepseek-v32",
        provider: "deepseek",
        model: "deepseek-v3.2",
        rule: "as deepseek-v4, and the refusal names the message",
        wire: Wire::Chat(chat::DEEPSEEK_V32),
    },
    Profile {
        id: "deepseek-v4-everywhere",
        provider: "deepseek",
        model: "deepseek-v4-pro",
        rule: "the strictest reading of deepseek-v4: every assistant message must carry reasoning_content with words in it",
        wire: Wire::Chat(chat::DEEPSEEK_EVERYWHERE),
    },
    Profile {
        id: "deepseek-v4-messages",
        provider: "deepseek",
        model: "deepseek-v4-pro",
        rule: "every assistant message of a turn that used tools must carry its thinking block, in all later turns too",
        wire: Wire::Messages(messages::DEEPSEEK),
    },
    Profile {
        id: "deepseek-v4-responses",
        provider: "deepseek",
        model: "deepseek-v4-pro",
        rule: "every answer of a turn that used tools must begin with its reasoning item with reasoning_text",
        wire: Wire::Responses(responses::DEEPSEEK),
    },
    Profile {
        id: "deepseek-r1",
        provider: "deepseek",
        model: "deepseek-r1-0528",
        rule: "reasoning_content in the input is refused",
        wire: Wire::Chat(chat::DEEPSEEK_R1),
    },
    Profile {
        id: "anthropic-manual",
        provider: "anthropic",
        model: "claude-sonnet-4-5",
        rule: "with thinking enabled, the running tool loop must begin with its signed thinking blocks, unmodified",
        wire: Wire::Messages(messages::MANUAL),
    },
    Profile {
        id: "anthropic-omitted",
        provider: "anthropic",
        model: "claude-sonnet-5",
        rule: "thoughts come as a signature without text; returned ones must be unmodified",
        wire: Wire::Messages(messages::OMITTED),
    },
    Profile {
        id: "anthropic-bound",
        provider: "anthropic",
        model: "claude-fable-5-1",
        rule: "a returned thought is valid only behind the unchanged system, tools, messages and thoughts it was made behind",
        wire: Wire::Messages(messages::BOUND),
    },
    Profile {
        id: "gemini-3",
        provider: "google",
        model: "gemini-3.1-pro",
        rule: "in the running turn, the first functionCall of every step must carry its thoughtSignature",
        wire: Wire::Gemini(gemini::STUDIO),
    },
    Profile {
        id: "gemini-3-chat",
        provider: "google",
        model: "gemini-3.1-pro",
        rule: "as gemini-3, on the OpenAI-compatible endpoint: the signature stands in extra_content of the first call",
        wire: Wire::Chat(chat::GOOGLE),
    },
    Profile {
        id: "vertex-gemini-3",
        provider: "vertexai",
        model: "gemini-3.1-pro",
        rule: "as gemini-3, with the paths and words of Vertex AI",
        wire: Wire::Gemini(gemini::VERTEX),
    },
    Profile {
        id: "responses-stateless",
        provider: "openai",
        model: "gpt-5.6-stateless",
        rule: "nothing is stored: reasoning items come back with their encrypted_content, and ids only in pairs",
        wire: Wire::Responses(responses::STATELESS),
    },
    Profile {
        id: "responses-stateful",
        provider: "openai",
        model: "gpt-5.6",
        rule: "responses are stored: continue by previous_response_id, or resend items whose ids form whole pairs",
        wire: Wire::Responses(responses::STATEFUL),
    },
    Profile {
        id: "groq",
        provider: "groq",
        model: "qwen/qwen3-32b",
        rule: "thoughts may come back as reasoning; the name reasoning_content is refused",
        wire: Wire::Chat(chat::GROQ),
    },
    Profile {
        id: "cerebras",
        provider: "cerebras",
        model: "gpt-oss-120b",
        rule: "thoughts may come back as reasoning; the name reasoning_content is refused",
        wire: Wire::Chat(chat::CEREBRAS),
    },
    Profile {
        id: "mistral",
        provider: "mistral",
        model: "mistral-medium-3.5",
        rule: "thoughts may come back as thinking chunks; any unknown field is refused with 422",
        wire: Wire::Chat(chat::MISTRAL),
    },
    Profile {
        id: "minimax-tags",
        provider: "minimax",
        model: "MiniMax-M2.5",
        rule: "thoughts stand in think tags at the head of content and are missed without an error in all of the history",
        wire: Wire::Chat(chat::MINIMAX),
    },
    Profile {
        id: "vllm",
        provider: "vllm",
        model: "Qwen/Qwen3-32B",
        rule: "only reasoning is read; reasoning_content is ignored without an error",
        wire: Wire::Chat(chat::VLLM),
    },
    Profile {
        id: "llamacpp-gpt-oss",
        provider: "llamacpp",
        model: "gpt-oss-120b",
        rule: "an answer with content, reasoning_content and calls fails with 500, as in the model's template; lost thoughts of the loop are missed without an error",
        wire: Wire::Chat(chat::LLAMACPP),
    },
    Profile {
        id: "mimo",
        provider: "",
        model: "mimo-v2-pro",
        rule: "as deepseek-v4, refused as `Param Incorrect`",
        wire: Wire::Chat(chat::MIMO),
    },
    Profile {
        id: "xai",
        provider: "xai",
        model: "grok-4.3",
        rule: "reasoning items that come back are unchanged and have a summary; lost ones are missed without an error",
        wire: Wire::Responses(responses::XAI),
    },
    Profile {
        id: "xai-chat",
        provider: "xai",
        model: "grok-3-mini",
        rule: "nothing has to come back; completion_tokens leave the thought out",
        wire: Wire::Chat(chat::XAI_CHAT),
    },
    Profile {
        id: "openrouter",
        provider: "openrouter",
        model: "anthropic/claude-sonnet-4.5",
        rule: "the signed reasoning_details of the running tool loop must come back unchanged",
        wire: Wire::Chat(chat::OPENROUTER),
    },
    Profile {
        id: "zai",
        provider: "zai",
        model: "glm-5.2",
        rule: "reasoning_content of the tool loop is missed without an error, with clear_thinking=false that of all turns",
        wire: Wire::Chat(chat::ZAI),
    },
    Profile {
        id: "qwen",
        provider: "alibaba",
        model: "qwen3.7-plus",
        rule: "reasoning_content of the tool loop is missed without an error, with preserve_thinking that of all turns",
        wire: Wire::Chat(chat::QWEN),
    },
    Profile {
        id: "bedrock",
        provider: "bedrock",
        model: "anthropic.claude-sonnet-4-5-20250929-v1:0",
        rule: "as anthropic-manual, in the shapes of Converse",
        wire: Wire::Bedrock,
    },
    Profile {
        id: "vertex-claude",
        provider: "vertexai",
        model: "claude-sonnet-4-5@20250929",
        rule: "as anthropic-manual, with the model in the address and `anthropic_version` in the body",
        wire: Wire::Vertex,
    },
    Profile {
        id: "cohere",
        provider: "cohere",
        model: "command-a-reasoning-08-2025",
        rule: "thinking content of the tool loop may come back and is missed without an error",
        wire: Wire::Cohere,
    },
    Profile {
        id: "ollama",
        provider: "ollama",
        model: "qwen3:8b",
        rule: "thinking of the tool loop may come back and is missed without an error",
        wire: Wire::Ollama,
    },
    Profile {
        id: "interactions",
        provider: "google",
        model: "gemini-3.1-pro",
        rule: "continue by previous_interaction_id or resend all steps; a returned thought must have its own signature",
        wire: Wire::Interactions,
    },
];
