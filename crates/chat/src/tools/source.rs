//! The interface between the toolbox and the sources that run tools.

use crate::tools::permission::{FileChange, Permission, ToolKind};
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use thinkthrough_core::content::{Media, ToolCall};
use thinkthrough_core::request::Tool;
use thinkthrough_json::Raw;
use tokio_util::sync::CancellationToken;

/// A boxed future.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A family of tools: the built-in ones, or those of a server.
pub trait Source: Debug + Send + Sync {
    /// The tools on offer now, each with its permission if the configuration has none. This call starts a source that
    /// has to be started.
    fn offers(&self) -> Pending<'_, Vec<(Tool, Permission)>>;

    /// Describes the effect of a call. `None` if the tool does not belong to this source.
    fn weigh<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Option<Weighed>>;

    /// Runs an allowed call. Dropping the future stops it; `job` signals when the call should stop by itself.
    fn run<'a>(&'a self, call: &'a ToolCall, job: Job<'a>) -> Pending<'a, Given>;

    /// A line of Markdown for each server of this source.
    fn servers(&self) -> Pending<'_, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Ends all programs of this source, in order.
    fn close(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// The effect of a call, as its source sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// The permission if the configuration has none.
    pub permission: Permission,
    /// The kind of effect.
    pub kind: ToolKind,
    /// The effect, in a line.
    pub title: String,
    /// Why the user must be asked even if the tool is allowed.
    pub reason: Option<String>,
    /// The change that would be made.
    pub change: Option<FileChange>,
    /// The scope of "always in this session", in words.
    pub grant: String,
    /// Why the call cannot work. Such a call is not run even if it is allowed, because its effect is unknown.
    pub fault: Option<String>,
}

/// The means of a running call.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// Is cancelled when the call should stop and return its partial result.
    pub stop: &'a CancellationToken,
    /// Receives the output of a long call while it runs.
    pub output: &'a (dyn Fn(&str) + Send + Sync),
    /// The user accepted the reason that [`Weighed`] gave, so that the call may leave the working folder.
    pub may_leave: bool,
}

/// The result of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The result: a JSON string, or a structure of the tool.
    pub result: Raw,
    /// The tool failed.
    pub is_error: bool,
    /// Images and other media that came with the result.
    pub media: Vec<Media>,
    /// The change that was made to a file.
    pub change: Option<FileChange>,
}

impl Given {
    /// A text as the result.
    #[must_use]
    pub fn text(text: &str) -> Self {
        Given { result: Raw::string(text), is_error: false, media: Vec::new(), change: None }
    }

    /// A failure, in a sentence for the model.
    #[must_use]
    pub fn error(text: &str) -> Self {
        Given { is_error: true, ..Given::text(text) }
    }
}

impl From<Result<String, String>> for Given {
    fn from(outcome: Result<String, String>) -> Self {
        match outcome {
            Ok(text) => Given::text(&text),
            Err(error) => Given::error(&error),
        }
    }
}
