//! Where tools come from: the interface between the toolbox and those who really run them.

use crate::tools::permission::{FileChange, Permission, ToolKind};
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use thinkthrough_core::content::{Media, ToolCall};
use thinkthrough_core::request::Tool;
use thinkthrough_json::Raw;
use tokio_util::sync::CancellationToken;

/// Something that will be there later.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A family of tools: the built-in ones, or those of a server.
pub trait Source: Debug + Send + Sync {
    /// What is on offer now, and what holds for it where the configuration says nothing; a source that has to be started is started by this.
    fn offers(&self) -> Pending<'_, Vec<(Tool, Permission)>>;

    /// What a call would do; `None` when the tool is not one of this source.
    fn weigh<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Option<Weighed>>;

    /// Runs a call that was allowed. Dropping the future stops it; `job` says when it is better to stop by itself.
    fn run<'a>(&'a self, call: &'a ToolCall, job: Job<'a>) -> Pending<'a, Given>;

    /// A line of Markdown for each server of this source.
    fn servers(&self) -> Pending<'_, Vec<String>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Ends what was started, in order.
    fn close(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What a call would do, as its source sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// What holds where the configuration says nothing.
    pub permission: Permission,
    /// What the tool does to the world.
    pub kind: ToolKind,
    /// What would happen, in a line.
    pub title: String,
    /// Why it must be asked even if the tool is allowed.
    pub reason: Option<String>,
    /// The change that would be made.
    pub change: Option<FileChange>,
    /// What "always in this session" would allow, in words.
    pub grant: String,
    /// Why the call cannot work. It is not run then, whatever is allowed: what it would do is not known.
    pub fault: Option<String>,
}

/// What a running call may use.
#[derive(Clone, Copy)]
pub struct Job<'a> {
    /// Is cancelled when the call should stop and give what it has.
    pub stop: &'a CancellationToken,
    /// Takes what a long call says while it runs.
    pub output: &'a (dyn Fn(&str) + Send + Sync),
    /// The reason that [`Weighed`] gave was accepted: the call may leave the working folder.
    pub may_leave: bool,
}

/// What a tool gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The result: a JSON string, or whatever structure the tool gives.
    pub result: Raw,
    /// The tool failed.
    pub is_error: bool,
    /// Images and other media that came with the result.
    pub media: Vec<Media>,
    /// The change that was made to a file.
    pub change: Option<FileChange>,
}

impl Given {
    /// A text.
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
