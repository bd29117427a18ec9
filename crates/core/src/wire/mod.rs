//! The wires: protocol formats, each in a folder of its own behind one trait, [`Wire`].
//!
//! A wire reads and writes requests and whole responses. For a response stream it makes a decoder ([`Decode`]: messages in,
//! events out) or an encoder ([`Encode`]: events in, bytes out). Between two wires an answer goes through the neutral form,
//! so that no wire knows another one. Where both sides speak the same wire, nothing is rewritten: the bytes pass, and at
//! most single spans of them change ([`edit`](crate::edit)).
//!
//! No wire knows a provider, either. What a provider does differently from the wire comes as data, in a [`Dialect`].

use crate::answer::Answer;
use crate::content::Other;
use crate::event::{Event, Sink};
use crate::json::Val;
use crate::request::Request;
use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

pub use crate::frame::Framing;

pub mod detect;
pub(crate) mod ending;
pub mod error;
pub(crate) mod foreign;
mod function;
pub mod headers;
mod open;
pub mod resource;
mod serial;
mod thinking_config;
mod tool_ids;
mod tool_result;

/// How one provider deviates within a wire. The default reads every known spelling and writes the wire's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The field of assistant messages that thoughts go back in, on wires that leave it open.
    /// `None`: the wire's own place.
    pub field: Option<Cow<'static, str>>,
    /// The value of that field for a thought that is known to be empty.
    pub empty: Option<Cow<'static, str>>,
    /// Message and request fields that the provider refuses; they are not written.
    pub refuses: Cow<'static, [&'static str]>,
    /// The name of the cap on generated tokens, where it deviates (`max_completion_tokens`).
    pub max_tokens_field: Option<&'static str>,
    /// The base URL names the version already, and the path goes on behind it.
    pub is_versioned: bool,
    /// Streams report usage only when asked to with `stream_options.include_usage`.
    pub asks_for_usage: bool,
    /// Whether the server takes that question is not known; one that refuses it is asked without.
    pub may_refuse_usage: bool,
    /// The provider reports cached tokens beside the other counts, so that a 0 there is a report. Routers fill that member
    /// with a 0 for hosts that count no cached tokens; recorded traffic has both.
    pub reports_cached_at_top: bool,
    /// Ids of tool calls may be any text, as its models write them, where the wire's own API takes few characters.
    pub takes_any_id: bool,
    /// The provider reads its client's bookkeeping lines in the system prompt (`bookkeeping`).
    pub reads_bookkeeping: bool,
    /// Results of tools hold no media, which stand behind them, where the wire has both forms.
    pub media_behind_results: bool,
    /// The API stands on another house's platform.
    pub hosted: Option<Hosted>,
}

/// How a platform takes requests of an API that is not its own: the address names the model and the method, and the body
/// has a member for the version in the place of its `model`. It takes no parameters of the API's own address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosted {
    /// The member of the body, and what it says unless the caller says something else.
    pub version: (&'static str, &'static str),
    /// The method that gives a whole answer.
    pub whole: &'static str,
    /// The method that gives a stream.
    pub stream: &'static str,
}

impl Dialect {
    /// A server that nothing is known about: it is asked for usage, and may refuse that.
    pub const UNKNOWN: Dialect = Dialect {
        asks_for_usage: true,
        may_refuse_usage: true,
        reports_cached_at_top: true,
        ..Dialect::PLAIN
    };

    /// No deviation.
    pub const PLAIN: Dialect = Dialect {
        field: None,
        empty: None,
        refuses: Cow::Borrowed(&[]),
        max_tokens_field: None,
        is_versioned: false,
        asks_for_usage: false,
        may_refuse_usage: false,
        reports_cached_at_top: false,
        takes_any_id: false,
        reads_bookkeeping: false,
        media_behind_results: false,
        hosted: None,
    };
}

/// A request in the form of a wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The JSON body.
    pub body: String,
    /// What the wire cannot say and was left out: names of neutral fields or blocks.
    pub untranslated: Vec<String>,
}

/// A caller's request that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// What is wrong and what would be right.
    pub message: String,
    /// The place in the body, like `messages[2].content`.
    pub at: String,
}

impl RequestError {
    /// An error at a place.
    #[must_use]
    pub fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        RequestError { message: message.into(), at: at.into() }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.at, self.message)
    }
}

impl std::error::Error for RequestError {}

/// An error in neutral words, to be written in the caller's wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    /// The HTTP status.
    pub status: u16,
    /// A word for programs, like `invalid_request_error` or `reasoning_missing`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// A protocol format. Implementations hold no state; streams do.
pub trait Wire: Sync + fmt::Debug {
    /// The public name.
    fn id(&self) -> &'static str;

    /// How its streams are framed.
    fn framing(&self) -> Framing;

    /// Whether its answers have the form in which providers send them.
    fn is_plain(&self) -> bool {
        true
    }

    /// Lists the spans of an answer, or of a message of its stream, that the provider does not spell as the wire does, each
    /// with the wire's own spelling.
    fn respelled(&self, _message: Val<'_>) -> Vec<(Range<usize>, String)> {
        Vec::new()
    }

    /// Whether providers answer in other forms, too: with an array in place of events, or with other spellings.
    fn has_forms(&self) -> bool {
        false
    }

    /// The path of the API, appended to a provider's base URL; it begins with a slash.
    fn path(&self, model: &str, stream: bool) -> String;

    /// The members of a request that cap each answer, as paths joined by dots. The first is the one that is written where
    /// a body has none and no dialect names another.
    fn caps(&self) -> &'static [&'static str];

    /// Reads a request body.
    ///
    /// # Errors
    /// When the body is not a request of this wire; the error names the place.
    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError>;

    /// Says what a request asks for that no other wire can give, if it does.
    fn asks_in_vain(&self, _request: &Request) -> Option<RequestError> {
        None
    }

    /// Writes a request body. Thoughts among the contents are written as they are: whether they belong there
    /// was decided before.
    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written;

    /// The members of which every response has one.
    fn answer_members(&self) -> &'static [&'static str];

    /// Whether a body is a response of this wire, as far as its members tell. An empty list says nothing.
    fn is_answer(&self, body: Val<'_>) -> bool {
        let is_said = |it: Val<'_>| !it.is_array() || it.items().next().is_some();
        self.answer_members().iter().any(|member| body.some(member).is_some_and(is_said))
    }

    /// Reads a whole response body that is not an error, as the same events that a stream would give.
    fn read_response(&self, body: Val<'_>, dialect: &Dialect, sink: &mut dyn Sink);

    /// A decoder for one response stream.
    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode>;

    /// Writes a whole response body.
    fn write_response(&self, answer: &Answer) -> String;

    /// An encoder for one response stream.
    fn encoder(&self) -> Box<dyn Encode>;

    /// Writes an error body.
    fn write_error(&self, error: &ErrorBody) -> String;

    /// Whether a block that is kept raw is a thought as a whole, in a shape that has no form of its own here.
    fn is_thought(&self, other: &Other) -> bool;

    /// Whether ids of calls are nine letters and digits, and no others are taken.
    fn has_short_ids(&self) -> bool {
        false
    }

    /// Whether every thought of an answer has a signature, which clients send back with it.
    fn wants_signatures(&self) -> bool {
        false
    }

    /// Returns whether a message shows the order of its thoughts, texts and calls.
    fn shows_order(&self) -> bool {
        true
    }

    /// Whether all results that stand behind an answer are one message.
    fn joins_results(&self) -> bool {
        false
    }

    /// The places of this API that name provider resources.
    fn resources(&self) -> resource::Resources {
        resource::Resources::NONE
    }

    /// The headers of callers that belong to this API.
    fn headers(&self) -> headers::Headers {
        headers::Headers::NONE
    }
}

/// Decodes the messages of one response stream. It can be cloned and compared, so that it can be shown that
/// no way of cutting the stream makes a difference.
pub trait Decode: fmt::Debug + Send {
    /// Takes one message of the stream: the event's name, where the framing has one, and its data.
    fn message(&mut self, name: Option<&str>, data: &str, sink: &mut dyn Sink);

    /// The stream is over. Ends what is open and reports what is missing.
    fn end(&mut self, sink: &mut dyn Sink);

    /// Whether the wire's own end of stream was seen; a stream that ends before it is truncated.
    fn is_complete(&self) -> bool;

    /// Whether nothing can come any more, because the wire's own last message was seen. On a wire that has none this
    /// is never so, and the end of the body is the end.
    fn is_over(&self) -> bool {
        self.is_complete()
    }

    /// A copy.
    fn boxed_clone(&self) -> Box<dyn Decode>;

    /// Whether `other` is in the same state.
    fn same(&self, other: &dyn Decode) -> bool;

    /// For comparison.
    fn as_any(&self) -> &dyn Any;
}

/// The three methods of [`Decode`] that are the same for every decoder.
macro_rules! decode_is_value {
    () => {
        fn boxed_clone(&self) -> Box<dyn $crate::wire::Decode> {
            Box::new(self.clone())
        }
        fn same(&self, other: &dyn $crate::wire::Decode) -> bool {
            other.as_any().downcast_ref::<Self>() == Some(self)
        }
        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    };
}
pub(crate) use decode_is_value;
pub(crate) use thinking_config::{LEAST_BUDGET, budget_below};

impl Clone for Box<dyn Decode> {
    fn clone(&self) -> Self {
        self.boxed_clone()
    }
}

impl PartialEq for dyn Decode {
    fn eq(&self, other: &Self) -> bool {
        self.same(other)
    }
}

/// Encodes events as one response stream, framing included.
pub trait Encode: fmt::Debug + Send {
    /// Others wrote the beginning of the stream, as this answer: where events name it, they go on to. Where they are
    /// numbered, `said` is the number of the last one.
    fn go_on(&mut self, _answer: &Answer, _said: Option<u64>) {}

    /// Appends what this event means on the wire; often nothing.
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>);

    /// Appends the end of the stream.
    fn end(&mut self, out: &mut Vec<u8>);

    /// Bytes of ended blocks that the end of the stream repeats.
    fn held(&self) -> usize {
        0
    }
}

/// Declares the wires and lists them: one line each.
macro_rules! wires {
    ($($module:ident: $wire:ident,)*) => {
        $(pub mod $module;)*

        /// Every wire.
        pub static ALL: &[&dyn Wire] = &[$(&$module::$wire),*];

        /// The name of a wire that there is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum WireId {
            $(#[doc = concat!("[`", stringify!($module), "`]")] $wire,)*
        }

        impl WireId {
            /// Every name.
            pub const ALL: &[WireId] = &[$(WireId::$wire),*];

            /// The wire of this name.
            #[must_use]
            pub fn wire(self) -> &'static dyn Wire {
                match self {
                    $(WireId::$wire => &$module::$wire,)*
                }
            }
        }
    };
}

wires! {
    chat_completions: ChatCompletions,
    cohere_chat: CohereChat,
    converse: Converse,
    generate_content: GenerateContent,
    interactions: Interactions,
    messages: Messages,
    mistral_chat: MistralChat,
    ollama_chat: OllamaChat,
    responses: Responses,
}

/// Members of messages and blocks that are reasoning, or a payload of it. The same names mean the same on every wire:
/// proxies carry them from one to the other.
const REASONING: [&str; 19] = [
    "encrypted_content",
    "reasoning",
    "reasoningContent",
    "reasoning_content",
    "reasoning_details",
    "reasoning_opaque",
    "reasoning_text",
    "redactedContent",
    "redacted_thinking",
    "signature",
    "thinking",
    "thinkingSignature",
    "thinking_blocks",
    "thinking_signature",
    "thought",
    "thoughtSignature",
    "thought_signature",
    "thought_signatures",
    "thoughts",
];

/// Whether a member of a message or a block is reasoning by its name.
pub(crate) fn is_reasoning(member: &str) -> bool {
    REASONING.contains(&member)
}

impl WireId {
    /// The wire that stands in where none is named.
    pub(crate) const FIRST: WireId = WireId::ChatCompletions;

    /// The public spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.wire().id()
    }

    /// The name of this spelling.
    ///
    /// # Errors
    /// When no wire has it.
    pub fn parse(text: &str) -> Result<Self, UnknownWire> {
        let named = WireId::ALL.iter().copied().find(|id| id.as_str() == text);
        named.ok_or_else(|| UnknownWire { id: text.to_owned() })
    }
}

impl fmt::Display for WireId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No wire has this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWire {
    /// The name that was asked for.
    pub id: String,
}

impl fmt::Display for UnknownWire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<_> = WireId::ALL.iter().map(|id| id.as_str()).collect();
        write!(f, "`{}` is no wire; known are {}", self.id, known.join(", "))
    }
}

impl std::error::Error for UnknownWire {}

/// Reads a request of the wire `from` that goes out on the wire `to`.
///
/// # Errors
/// When the body is not a request of its wire, or asks for what only its own wire can give.
pub fn read_for(from: &dyn Wire, to: &dyn Wire, body: Val<'_>) -> Result<Request, RequestError> {
    let request = from.read_request(body)?;
    match from.asks_in_vain(&request).filter(|_| from.id() != to.id()) {
        Some(error) => Err(error),
        None => Ok(request),
    }
}

/// The wire of this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Wire> {
    ALL.iter().copied().find(|wire| wire.id() == id)
}
