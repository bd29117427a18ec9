//! How the providers of the family differ, as data.

use serde_json::Value;

use crate::json::Keyed;

/// One provider's way of speaking Chat Completions.
#[derive(Debug)]
pub(crate) struct ChatDialect {
    /// Whose error bodies and words.
    pub(crate) house: House,
    /// Where thoughts travel.
    pub(crate) carrier: Carrier,
    /// Which thoughts must or must not come back.
    pub(crate) contract: Contract,
    /// The look of call ids.
    pub(crate) ids: Ids,
    /// Where usage stands in a stream.
    pub(crate) usage: UsageAt,
    /// How thinking is switched off.
    pub(crate) switch: Switch,
}

/// The provider whose error bodies are used.
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

/// Where a thought stands in an answer and in the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// `reasoning_content` beside `content`.
    ReasoningContent,
    /// `reasoning` beside `content`.
    Reasoning,
    /// `<think>` at the head of `content`, or `reasoning_details` with `reasoning_split`.
    ThinkTags,
    /// A `thinking` chunk in the array `content`.
    Chunks,
    /// `<thought>` at the head of `content` on request; the signature on the first call.
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
    /// Every assistant message with tool calls must have its thought; `exact`: unchanged to the byte.
    ToolCalls { exact: bool },
    /// As `ToolCalls`, and the loss of any other thought is noted: the model preserves them all.
    Preserved,
    /// Every assistant message of a turn in which tools were called must have the field, for good.
    ToolTurns { indexed: bool },
    /// Every assistant message must have the field, with words in it.
    Everywhere,
    /// The signed details of the running tool loop must come back unchanged.
    SignedDetails,
    /// In the running turn, the first call of every message must carry its signature.
    CallSignature,
    /// The field in the input is an error.
    Forbidden,
    /// A message with a field of the wrong name is an error; the right name is optional.
    WrongNameRefused,
    /// Unknown fields of messages and request are errors (HTTP 422); chunks are optional.
    ExtraForbidden,
    /// Content and a thought exclude each other beside calls: an error with the status of a failure.
    Apart,
    /// Never an error, but the model gets worse without its thoughts.
    Optional,
}

/// How call ids look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ids {
    /// `functions.NAME:N`, N counting over the conversation.
    Counted,
    /// `NAME:N`, N counting within the message, so that ids repeat every turn.
    Repeating,
    /// A prefix and so many letters.
    Prefixed { prefix: &'static str, length: usize },
    /// `call_N`, N counting within the message, so that ids repeat every turn.
    Position,
}

/// Where usage stands in a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageAt {
    /// On the chunk with the finish reason.
    Finish,
    /// On the chunk with the finish reason, and again under `x_groq`.
    FinishTwice,
    /// On a chunk without choices, when `stream_options.include_usage` asks for it.
    Separate,
    /// On one more chunk after the finish reason, with a choice that says nothing.
    AfterFinish,
}

/// How thinking is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Switch {
    /// It is always on, and `thinking.type = "disabled"` is an error.
    AlwaysOn { keep: bool },
    /// It is always on, and the attempt to switch it off is ignored.
    AlwaysOnQuietly,
    /// `thinking.type = "disabled"`.
    ThinkingType,
    /// `reasoning_effort = "none"`.
    EffortNone,
    /// `enable_thinking = false`.
    EnableThinking,
    /// `reasoning.effort = "none"` or `reasoning.enabled = false`.
    Reasoning,
    /// `reasoning_effort = "none"` or `chat_template_kwargs.enable_thinking = false`.
    Template,
}

impl ChatDialect {
    /// How many choices a request may ask for, as the provider documents its `n`: one where it documents none.
    pub(crate) fn most_choices(&self) -> u64 {
        match self.house {
            // They name no limit; this one is ours.
            // Sources: docs.vllm.ai, "Sampling parameters"; docs.mistral.ai, "Sampling", "N"; docs.x.ai, "Chat
            // completions".
            House::Vllm | House::Mistral | House::Xai => 8,
            // Source: platform.kimi.ai, "Parameter comparison": 5 for K2; fixed for the models behind it.
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

    /// The wire by its public name.
    pub(crate) fn wire_name(&self) -> &'static str {
        if self.house == House::Mistral { "mistral-chat" } else { "chat-completions" }
    }

    /// The usage object tells the reasoning tokens.
    pub(crate) fn counts_reasoning(&self) -> bool {
        !matches!(self.house, House::Mistral | House::MiniMax | House::Vllm | House::LlamaCpp)
    }

    /// The thoughts of earlier turns are put before the model too, so that their loss makes it worse.
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

    /// Queued requests get comment lines.
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
