//! The wires: protocol formats, each in a folder of its own behind one trait, [`Wire`].
//!
//! A wire reads and writes requests and whole responses. For a response stream it makes a decoder ([`Decode`]: messages
//! in, events out) or an encoder ([`Encode`]: events in, bytes out). Between two wires an answer goes through the
//! neutral form, so that no wire knows another one. If both sides speak the same wire, the bytes pass unchanged except
//! for single spans ([`edit`](crate::edit)).
//!
//! No wire knows a provider, either. The deviations of a provider come as data, in a [`Dialect`].

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

/// The deviations of one provider within a wire. The default reads every known spelling and writes the wire's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dialect {
    /// The field of assistant messages for returned thoughts, on wires that leave it open. `None`: the wire's own
    /// place.
    pub field: Option<Cow<'static, str>>,
    /// The value of that field for a thought that is known to be empty.
    pub empty: Option<Cow<'static, str>>,
    /// Message and request fields that the provider refuses; they are not written.
    pub refuses: Cow<'static, [&'static str]>,
    /// The name of the cap on generated tokens, if it deviates (`max_completion_tokens`).
    pub max_tokens_field: Option<&'static str>,
    /// The base URL already has the version, so that the path's own version is left out.
    pub is_versioned: bool,
    /// Streams report usage only if `stream_options.include_usage` asks for it.
    pub asks_for_usage: bool,
    /// The server may refuse that question. It then gets the request without it.
    pub may_refuse_usage: bool,
    /// The provider reports cached tokens beside the other counts, so that a 0 there is a report. Routers also send a 0
    /// for hosts that count no cached tokens. Recorded traffic has both cases.
    pub reports_cached_at_top: bool,
    /// The provider accepts any text as the id of a tool call, although the wire's own API accepts only few characters.
    pub takes_any_id: bool,
    /// The provider reads its client's bookkeeping lines in the system prompt (`bookkeeping`).
    pub reads_bookkeeping: bool,
    /// The provider accepts media only after the results of tools, although the wire also has media inside them.
    pub media_behind_results: bool,
    /// The API runs on another vendor's platform.
    pub hosted: Option<Hosted>,
}

/// The form of requests for an API on another vendor's platform. The address names the model and the method. The body
/// has a member for the version instead of `model`. The platform accepts no query parameters of the API itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hosted {
    /// The member of the body, and its default value.
    pub version: (&'static str, &'static str),
    /// The method that gives a whole answer.
    pub whole: &'static str,
    /// The method that gives a stream.
    pub stream: &'static str,
}

impl Dialect {
    /// A server without known rules. It gets the question for usage, and may refuse it.
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
    /// Names of neutral fields or blocks that the wire cannot express.
    pub untranslated: Vec<String>,
}

/// A caller's request that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestError {
    /// The error, and the correct form.
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

/// An error in neutral words, before it is written on the caller's wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorBody {
    /// The HTTP status.
    pub status: u16,
    /// A word for programs, like `invalid_request_error` or `reasoning_missing`.
    pub code: String,
    /// A sentence for people.
    pub message: String,
}

/// How a wire tells answers apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The beginning of the ids of answers.
    pub prefix: &'static str,
    /// The member for the time of the answer in seconds since 1970, if every answer has one.
    pub time: Option<&'static str>,
}

/// Whether an object has one of these members with something in it. A text is no message: services put their errors there.
fn has_any(body: Val<'_>, members: &[&str]) -> bool {
    let is_said = |it: Val<'_>| !it.is_object() || it.entries().next().is_some();
    members.iter().any(|member| {
        body.some(member).is_some_and(|it| match it.is_array() {
            true => it.items().any(is_said),
            false => is_said(it) && (*member != "message" || it.is_object()),
        })
    })
}

/// A protocol format. Implementations hold no state; streams do.
pub trait Wire: Sync + fmt::Debug {
    /// The public name.
    fn id(&self) -> &'static str;

    /// The framing of its streams.
    fn framing(&self) -> Framing;

    /// Whether its answers have the form of the providers.
    fn is_plain(&self) -> bool {
        true
    }

    /// Lists the spans of an answer, or of a message of its stream, in which the provider deviates from the wire's
    /// spelling. Each span comes with the wire's own spelling.
    fn respelled(&self, _message: Val<'_>) -> Vec<(Range<usize>, String)> {
        Vec::new()
    }

    /// Whether providers also answer in other forms: with an array in place of events, or with other spellings.
    fn has_forms(&self) -> bool {
        false
    }

    /// The path of the API, appended to a provider's base URL; it begins with a slash.
    fn path(&self, model: &str, stream: bool) -> String;

    /// The members of a request that cap each answer, as paths joined by dots. If a body has none and the dialect names
    /// no other, the first one is written.
    fn caps(&self) -> &'static [&'static str];

    /// Reads a request body.
    ///
    /// # Errors
    /// When the body is not a request of this wire; the error names the place.
    fn read_request(&self, body: Val<'_>) -> Result<Request, RequestError>;

    /// The error for a request that only this wire can serve, if it is such a request.
    fn asks_in_vain(&self, _request: &Request) -> Option<RequestError> {
        None
    }

    /// Rewrites the parts of a request that only this wire can express, because it goes out on another one.
    fn before_translation(&self, _request: &mut Request) {}

    /// Writes a request body. Thoughts in the contents are written as they are, because the decisions about them are
    /// made before.
    fn write_request(&self, request: &Request, dialect: &Dialect) -> Written;

    /// Every response has at least one of these members.
    fn answer_members(&self) -> &'static [&'static str];

    /// Whether a body is a response of this wire, judged by its members. A member with nothing in it does not count.
    fn is_answer(&self, body: Val<'_>) -> bool {
        has_any(body, self.answer_members())
    }

    /// Reads a whole response body that is not an error, as the same events that a stream would give.
    fn read_response(&self, body: Val<'_>, dialect: &Dialect, sink: &mut dyn Sink);

    /// A decoder for one response stream.
    fn decoder(&self, dialect: &Dialect) -> Box<dyn Decode>;

    /// The form of an answer's id, and its member for the time.
    fn identity(&self) -> Identity {
        Identity::default()
    }

    /// Writes a whole response body.
    fn write_response(&self, answer: &Answer) -> String;

    /// An encoder for one response stream.
    fn encoder(&self) -> Box<dyn Encode>;

    /// Writes an error body.
    fn write_error(&self, error: &ErrorBody) -> String;

    /// Whether a raw block is a thought as a whole, in a shape that the neutral form does not have.
    fn is_thought(&self, other: &Other) -> bool;

    /// Whether ids of calls must be nine letters and digits.
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

    /// Whether all results after an answer are one message.
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

/// Decodes the messages of one response stream. Decoders can be cloned and compared, so that tests can prove that cuts
/// in the stream make no difference.
pub trait Decode: fmt::Debug + Send {
    /// Receives one message of the stream: its data, and the event's name if the framing has one.
    fn message(&mut self, name: Option<&str>, data: &str, sink: &mut dyn Sink);

    /// Ends the stream: ends the open blocks and reports missing parts.
    fn end(&mut self, sink: &mut dyn Sink);

    /// Whether the wire's own end of stream was seen; a stream that ends before it is truncated.
    fn is_complete(&self) -> bool;

    /// Whether the wire's own last message was seen, so that no more can come. On wires without such a message this
    /// stays false, and the end of the body is the end.
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
    /// Continues a stream that another writer began as this answer. Events that name the answer use its id and model.
    /// If events have numbers, `said` is the last one.
    fn go_on(&mut self, _answer: &Answer, _said: Option<u64>) {}

    /// Appends the wire's form of this event, which is often empty.
    fn event(&mut self, event: Event<'_>, out: &mut Vec<u8>);

    /// Appends the end of the stream.
    fn end(&mut self, out: &mut Vec<u8>);

    /// The bytes of ended blocks that the end of the stream repeats.
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

        /// The name of an existing wire.
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

/// Members of messages and blocks that are reasoning or its payload. A name means the same on every wire, because
/// proxies copy members from one wire to another.
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
    /// The default wire.
    pub(crate) const FIRST: WireId = WireId::ChatCompletions;

    /// The public spelling.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.wire().id()
    }

    /// Parses the public spelling.
    ///
    /// # Errors
    ///
    /// If no wire has this name.
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

/// The error for an unknown wire name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWire {
    /// The unknown name.
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
///
/// If the body is not a request of its wire, or needs a feature that only its own wire has.
pub fn read_for(from: &dyn Wire, to: &dyn Wire, body: Val<'_>) -> Result<Request, RequestError> {
    let mut request = from.read_request(body)?;
    if from.id() == to.id() {
        return Ok(request);
    }
    from.before_translation(&mut request);
    from.asks_in_vain(&request).map_or(Ok(request), Err)
}

/// The wire of this name.
#[must_use]
pub fn find(id: &str) -> Option<&'static dyn Wire> {
    ALL.iter().copied().find(|wire| wire.id() == id)
}
