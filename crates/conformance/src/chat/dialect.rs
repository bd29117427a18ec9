//! The differences between the providers of the family, as data.

use serde_json::Value;

use crate::json::Keyed;

/// The form of Chat Completions that one provider speaks.
#[derive(Debug)]
pub(crate) struct ChatDialect {
    /// The provider whose error bodies are used.
    pub(crate) house: House,
    /// The field of thoughts.
    pub(crate) carrier: Carrier,
    /// The rule about thoughts in the history.
    pub(crate) contract: Contract,
    pub(crate) ids: Ids,
    /// The place of usage in a stream.
    pub(crate) usage: UsageAt,
    /// The switch that turns thinking off.
    pub(crate) switch: Switch,
}

/// A provider, for its error bodies and its small deviations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum House {
    Kimi,
    DeepSeek,
    MiMo,
    Groq,
    Cerebras,
    Mistral,
    MiniMax,
    Vllm,
    LlamaCpp,
    OpenRouter,
    Zai,
    Qwen,
    Xai,
    Google,
}

/// The field of a thought, in an answer and in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// `reasoning_content`, next to `content`.
    ReasoningContent,
    /// `reasoning`, next to `content`.
    Reasoning,
    /// `<think>` tags at the start of `content`, or `reasoning_details` if the request sets
    /// `reasoning_split`.
    ThinkTags,
    /// A `thinking` chunk in the array `content`.
    Chunks,
    /// `<thought>` tags at the start of `content` on request, and a signature on the first call.
    ThoughtTags,
    /// `reasoning_details` with signatures, and the same text in `reasoning`.
    Details,
}

impl Carrier {
    pub(crate) fn field(self) -> &'static str {
        match self {
            Self::ReasoningContent => "reasoning_content",
            Self::Reasoning => "reasoning",
            Self::ThinkTags => "think_tags",
            Self::Chunks => "thinking",
            Self::Details => "reasoning_details",
            Self::ThoughtTags => "thought_signature",
        }
    }
}

/// The rule about thoughts in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contract {
    /// Every assistant message with tool calls must have its thought. With `exact`, the thought
    /// must also be unchanged.
    ToolCalls { exact: bool },
    /// Like `ToolCalls`. The loss of any other thought is logged, because the model reads them all.
    Preserved,
    /// In a turn with tool calls the assistant messages must have the field, also in later
    /// requests. With `indexed`, the refusal names the index of the message.
    ToolTurns { indexed: bool },
    /// Every assistant message must have the field, and the field must not be blank.
    Everywhere,
    /// The signed details of the running tool loop must come back unchanged.
    SignedDetails,
    /// In the running turn the first call of every message must have its signature.
    CallSignature,
    /// The field is an error in a request.
    Forbidden,
    /// A field with the wrong name is an error. The right one is optional.
    WrongNameRefused,
    /// Unknown fields of messages and request are errors (HTTP 422). Thinking chunks are optional.
    ExtraForbidden,
    /// A message with calls must not have both content and a thought. The refusal has the status of
    /// a server error.
    Apart,
    /// A missing thought is never an error, but the model gets worse.
    Optional,
}

/// The form of call ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// `functions.NAME:N`. N counts over the conversation.
    Counted,
    /// `NAME:N`. N counts within the message, so that ids repeat every turn.
    Repeating,
    /// A prefix and `length` letters and digits.
    Prefixed { prefix: &'static str, length: usize },
    /// `call_N`. N counts within the message, so that ids repeat every turn.
    Position,
}

/// The place of usage in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageAt {
    /// On the chunk with the finish reason.
    Finish,
    /// On the chunk with the finish reason, and a second time under `x_groq`.
    FinishTwice,
    /// On a chunk without choices, if `stream_options.include_usage` asks for it.
    Separate,
    /// On one more chunk after the finish reason. Its choice has no new content.
    AfterFinish,
}

/// The switch that turns thinking off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// None: thinking is always on, and `thinking.type = "disabled"` is an error. With `keep`, the
    /// request may have `thinking.keep`, and its temperature must be 1.
    AlwaysOn { keep: bool },
    /// None: thinking is always on, and a switch in the request is ignored.
    AlwaysOnQuietly,
    /// `thinking.type = "disabled"` or `reasoning_effort = "none"`.
    ThinkingType,
    /// `reasoning_effort = "none"`.
    EffortNone,
    /// `enable_thinking = false`.
    EnableThinking,
    /// Thinking is on if `reasoning` asks for it: by `enabled`, an effort or a budget. Source: the guide on reasoning
    /// tokens.
    Reasoning,
    /// `reasoning_effort = "none"`, or `enable_thinking` or `thinking` of `chat_template_kwargs`
    /// set to false.
    Template,
}

impl ChatDialect {
    /// The highest `n` of a request, by the provider's documentation. It is 1 if the provider
    /// documents no `n`.
    pub(crate) fn most_choices(&self) -> u64 {
        match self.house {
            // These providers document no limit; this one is ours. Sources: docs.vllm.ai, "Sampling
            // parameters"; docs.mistral.ai, "Sampling", "N"; docs.x.ai, "Chat completions".
            House::Vllm | House::Mistral | House::Xai => 8,
            // Source: platform.kimi.ai, "Parameter comparison": 5 for K2; the models after it have
            // a fixed `n`.
            House::Kimi if self.contract != Contract::Preserved => 5,
            House::Kimi
            | House::DeepSeek
            | House::MiMo
            | House::Groq
            | House::Cerebras
            | House::MiniMax
            | House::LlamaCpp
            | House::OpenRouter
            | House::Zai
            | House::Qwen
            | House::Google => 1,
        }
    }

    /// The public name of the wire.
    pub(crate) fn wire_name(&self) -> &'static str {
        if self.house == House::Mistral { "mistral-chat" } else { "chat-completions" }
    }

    /// Whether the usage object counts reasoning tokens.
    pub(crate) fn counts_reasoning(&self) -> bool {
        !matches!(self.house, House::Mistral | House::MiniMax | House::Vllm | House::LlamaCpp)
    }

    /// Whether the model also reads the thoughts of earlier turns, so that their loss makes it
    /// worse.
    pub(crate) fn reads_whole_history(&self, body: &Value) -> bool {
        match self.house {
            House::Kimi => self.contract == Contract::Preserved,
            House::MiniMax | House::OpenRouter => true,
            House::Zai => *body.at("thinking").at("clear_thinking") == false,
            House::Qwen => *body.at("preserve_thinking") == true,
            House::DeepSeek
            | House::MiMo
            | House::Groq
            | House::Cerebras
            | House::Mistral
            | House::Vllm
            | House::LlamaCpp
            | House::Xai
            | House::Google => false,
        }
    }

    /// Whether answers begin as for a queued request: a stream with a keep-alive comment, a body
    /// with empty lines.
    pub(crate) fn keeps_alive(&self) -> bool {
        self.house == House::DeepSeek
    }
}

const CALL_24: Ids = Ids::Prefixed { prefix: "call_", length: 24 };

pub(crate) const DEFAULT: ChatDialect = ChatDialect {
    house: House::Kimi,
    carrier: Carrier::ReasoningContent,
    contract: Contract::ToolCalls { exact: true },
    ids: CALL_24,
    usage: UsageAt::Finish,
    switch: Switch::ThinkingType,
};

pub(crate) const KIMI_K2: ChatDialect = ChatDialect {
    house: House::Kimi,
    carrier: Carrier::ReasoningContent,
    contract: Contract::ToolCalls { exact: false },
    ids: Ids::Counted,
    usage: UsageAt::Finish,
    switch: Switch::AlwaysOn { keep: false },
};

pub(crate) const KIMI_K3: ChatDialect = ChatDialect {
    house: House::Kimi,
    carrier: Carrier::ReasoningContent,
    contract: Contract::Preserved,
    ids: Ids::Repeating,
    usage: UsageAt::Finish,
    switch: Switch::AlwaysOn { keep: true },
};

pub(crate) const DEEPSEEK_V4: ChatDialect = ChatDialect {
    house: House::DeepSeek,
    carrier: Carrier::ReasoningContent,
    contract: Contract::ToolTurns { indexed: false },
    ids: Ids::Prefixed { prefix: "call_00_", length: 20 },
    usage: UsageAt::Finish,
    switch: Switch::ThinkingType,
};

pub(crate) const DEEPSEEK_V32: ChatDialect = ChatDialect {
    house: House::DeepSeek,
    carrier: Carrier::ReasoningContent,
    contract: Contract::ToolTurns { indexed: true },
    ids: Ids::Prefixed { prefix: "call_00_", length: 20 },
    usage: UsageAt::Finish,
    switch: Switch::ThinkingType,
};

pub(crate) const DEEPSEEK_R1: ChatDialect = ChatDialect {
    house: House::DeepSeek,
    carrier: Carrier::ReasoningContent,
    contract: Contract::Forbidden,
    ids: Ids::Prefixed { prefix: "call_0_", length: 20 },
    usage: UsageAt::Finish,
    switch: Switch::AlwaysOnQuietly,
};

pub(crate) const MIMO: ChatDialect = ChatDialect {
    house: House::MiMo,
    carrier: Carrier::ReasoningContent,
    contract: Contract::ToolTurns { indexed: false },
    ids: Ids::Position,
    usage: UsageAt::Separate,
    switch: Switch::ThinkingType,
};

pub(crate) const GROQ: ChatDialect = ChatDialect {
    house: House::Groq,
    carrier: Carrier::Reasoning,
    contract: Contract::WrongNameRefused,
    ids: Ids::Prefixed { prefix: "", length: 9 },
    usage: UsageAt::FinishTwice,
    switch: Switch::EffortNone,
};

pub(crate) const CEREBRAS: ChatDialect = ChatDialect {
    house: House::Cerebras,
    carrier: Carrier::Reasoning,
    contract: Contract::WrongNameRefused,
    ids: Ids::Prefixed { prefix: "", length: 9 },
    usage: UsageAt::Finish,
    switch: Switch::EffortNone,
};

pub(crate) const MISTRAL: ChatDialect = ChatDialect {
    house: House::Mistral,
    carrier: Carrier::Chunks,
    contract: Contract::ExtraForbidden,
    ids: Ids::Prefixed { prefix: "", length: 9 },
    usage: UsageAt::Finish,
    switch: Switch::EffortNone,
};

pub(crate) const MINIMAX: ChatDialect = ChatDialect {
    house: House::MiniMax,
    carrier: Carrier::ThinkTags,
    contract: Contract::Optional,
    ids: Ids::Prefixed { prefix: "call_function_", length: 12 },
    usage: UsageAt::Finish,
    switch: Switch::AlwaysOnQuietly,
};

pub(crate) const VLLM: ChatDialect = ChatDialect {
    house: House::Vllm,
    carrier: Carrier::Reasoning,
    contract: Contract::Optional,
    ids: Ids::Prefixed { prefix: "chatcmpl-tool-", length: 16 },
    usage: UsageAt::Separate,
    switch: Switch::Template,
};

pub(crate) const LLAMACPP: ChatDialect = ChatDialect {
    house: House::LlamaCpp,
    carrier: Carrier::ReasoningContent,
    contract: Contract::Apart,
    ids: Ids::Prefixed { prefix: "", length: 32 },
    usage: UsageAt::Separate,
    switch: Switch::AlwaysOnQuietly,
};

pub(crate) const DEEPSEEK_EVERYWHERE: ChatDialect = ChatDialect {
    house: House::DeepSeek,
    carrier: Carrier::ReasoningContent,
    contract: Contract::Everywhere,
    ids: Ids::Prefixed { prefix: "call_00_", length: 20 },
    usage: UsageAt::Finish,
    switch: Switch::ThinkingType,
};

pub(crate) const OPENROUTER: ChatDialect = ChatDialect {
    house: House::OpenRouter,
    carrier: Carrier::Details,
    contract: Contract::SignedDetails,
    ids: Ids::Prefixed { prefix: "toolu_", length: 24 },
    usage: UsageAt::AfterFinish,
    switch: Switch::Reasoning,
};

pub(crate) const ZAI: ChatDialect = ChatDialect {
    house: House::Zai,
    carrier: Carrier::ReasoningContent,
    contract: Contract::Optional,
    ids: Ids::Prefixed { prefix: "call_", length: 16 },
    usage: UsageAt::Finish,
    switch: Switch::ThinkingType,
};

pub(crate) const QWEN: ChatDialect = ChatDialect {
    house: House::Qwen,
    carrier: Carrier::ReasoningContent,
    contract: Contract::Optional,
    ids: CALL_24,
    usage: UsageAt::Separate,
    switch: Switch::EnableThinking,
};

pub(crate) const XAI_CHAT: ChatDialect = ChatDialect {
    house: House::Xai,
    carrier: Carrier::ReasoningContent,
    contract: Contract::Optional,
    ids: Ids::Prefixed { prefix: "call_", length: 8 },
    usage: UsageAt::Separate,
    switch: Switch::EffortNone,
};

pub(crate) const GOOGLE: ChatDialect = ChatDialect {
    house: House::Google,
    carrier: Carrier::ThoughtTags,
    contract: Contract::CallSignature,
    ids: Ids::Prefixed { prefix: "function-call-", length: 19 },
    usage: UsageAt::Finish,
    switch: Switch::AlwaysOnQuietly,
};
