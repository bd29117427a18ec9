//! The neutral request.

use crate::content::Content;
use crate::json::{Extra, Raw};
use crate::settings::Effort;

/// A request to a model, on any wire. Contents are final: policies and contracts have been applied before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// The model's name as the upstream knows it.
    pub model: String,
    /// The messages; system messages keep their places.
    pub contents: Vec<Content>,
    /// The tools on offer.
    pub tools: Vec<Tool>,
    /// The tool that must or may be called.
    pub tool_choice: Option<ToolChoice>,
    /// Whether several calls may come at once.
    pub parallel_tool_calls: Option<bool>,
    /// Whether the answer should be streamed.
    pub stream: bool,
    /// The cap on generated tokens, reasoning included.
    pub max_tokens: Option<u64>,
    /// Sampling temperature, as it was written.
    pub temperature: Option<Raw>,
    /// Nucleus sampling, as it was written.
    pub top_p: Option<Raw>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
    /// The form that the answer must have.
    pub format: Option<AnswerFormat>,
    /// The caller's parameters about reasoning.
    pub reasoning: ReasoningAsk,
    /// The request is another program's: no default of ours asks for thoughts that it did not ask for.
    pub is_relayed: bool,
    /// Fields of the request that have no name here.
    pub extra: Extra,
}

impl Request {
    /// The same request with other messages.
    #[must_use]
    pub fn with_contents(&self, contents: Vec<Content>) -> Request {
        Request {
            contents,
            model: self.model.clone(),
            tools: self.tools.clone(),
            tool_choice: self.tool_choice.clone(),
            parallel_tool_calls: self.parallel_tool_calls,
            stream: self.stream,
            max_tokens: self.max_tokens,
            temperature: self.temperature.clone(),
            top_p: self.top_p.clone(),
            stop: self.stop.clone(),
            format: self.format.clone(),
            reasoning: self.reasoning.clone(),
            is_relayed: self.is_relayed,
            extra: self.extra.clone(),
        }
    }
}

/// A tool on offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tool {
    /// A function with JSON arguments.
    Function {
        /// Its name.
        name: String,
        /// The description of the tool.
        description: Option<String>,
        /// The JSON schema of its arguments.
        parameters: Option<Raw>,
        /// Fields that have no name here.
        extra: Extra,
    },
    /// Another kind of tool: the provider's own tools, custom tools. Kept raw.
    Other {
        /// The wire it is written for.
        wire: &'static str,
        /// The tool in its wire's form.
        raw: Raw,
    },
}

impl Tool {
    /// A function with this JSON schema of its arguments.
    ///
    /// ```
    /// use thinkthrough_core::request::Tool;
    /// use thinkthrough_json::Raw;
    ///
    /// let schema = Raw::parse(r#"{"type":"object","properties":{"path":{"type":"string"}}}"#).unwrap();
    /// let tool = Tool::function("read", "Reads a file.", schema);
    /// assert!(matches!(tool, Tool::Function { name, .. } if name == "read"));
    /// ```
    #[must_use]
    pub fn function(name: &str, description: &str, parameters: Raw) -> Self {
        Tool::Function {
            name: name.to_owned(),
            description: (!description.is_empty()).then(|| description.to_owned()),
            parameters: Some(parameters),
            extra: Extra::default(),
        }
    }
}

/// The tool that must or may be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    Auto,
    /// None may be called.
    None,
    /// Some tool must be called.
    Required,
    /// This tool must be called.
    Tool(String),
    /// A form that only one wire knows.
    Other {
        /// The wire.
        wire: &'static str,
        /// The value in its wire's form.
        raw: Raw,
    },
}

/// The form that the answer must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerFormat {
    /// Any JSON object.
    Json,
    /// JSON of this schema.
    Schema {
        /// The schema's name, if the wire wants one.
        name: Option<String>,
        /// The JSON schema.
        schema: Raw,
        /// Whether the schema binds strictly.
        strict: Option<bool>,
    },
    /// A form that only one wire knows.
    Other {
        /// The wire.
        wire: &'static str,
        /// The value in its wire's form.
        raw: Raw,
    },
}

/// The caller's parameters about reasoning, in the neutral form. A field is `None` unless the caller set it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReasoningAsk {
    /// Thinking on or off.
    pub enabled: Option<bool>,
    /// How much effort.
    pub effort: Option<Effort>,
    /// How many tokens the thought may take.
    pub max_tokens: Option<u64>,
    /// Whether readable thoughts are wanted (`include_thoughts`, `display`, `summary`).
    pub show: Option<bool>,
    /// The wire's own fields, unchanged, so that the same wire gets them back.
    pub fields: Extra,
}
