//! The tools that the model may call, and their permissions.

mod builtin;
mod changes;
mod permission;
mod source;

pub use builtin::{Builtin, ToolboxError};
pub(crate) use builtin::{Walk, speaks_of_secrets};
pub use changes::Changes;
pub use permission::{Approve, FileChange, Nobody, Permission, Question, ToolKind, Verdict};
pub use source::{Given, Job, Pending, Source, Weighed};

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use thinkthrough_core::content::{Parameters, ToolCall};
use thinkthrough_core::request::Tool;
use thinkthrough_json::Raw;
use tokio_util::sync::CancellationToken;

/// The tools of a session and their permissions.
#[derive(Debug)]
pub struct Toolbox {
    sources: Vec<Box<dyn Source>>,
    configured: BTreeMap<String, Permission>,
    is_attended: bool,
    /// Grants for the rest of the session.
    granted: Mutex<BTreeSet<String>>,
    /// Only tools that read run.
    is_planning: AtomicBool,
    changes: Changes,
}

/// The result of a call that plan mode refuses.
const PLANNING: &str =
    "plan mode is on, so only tools that read run; say what you would do, and the user decides";

/// The decision about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The call runs.
    Allow {
        /// The user accepted the reason against the call, such as a path outside the working folder.
        may_leave: bool,
    },
    /// The user decides.
    Ask(Box<Question>),
    /// The call does not run. The text is the result for the model.
    Deny(String),
}

impl Toolbox {
    /// The built-in tools for files in `folder` and below.
    ///
    /// # Errors
    /// If the folder does not exist.
    pub fn new(folder: &Path) -> Result<Self, ToolboxError> {
        Ok(Toolbox::empty().with(Box::new(Builtin::new(folder)?)))
    }

    /// A toolbox without tools.
    #[must_use]
    pub fn empty() -> Self {
        Toolbox {
            sources: Vec::new(),
            configured: BTreeMap::new(),
            is_attended: false,
            granted: Mutex::default(),
            is_planning: AtomicBool::new(false),
            changes: Changes::default(),
        }
    }

    /// Adds the tools of a source.
    #[must_use]
    pub fn with(mut self, source: Box<dyn Source>) -> Self {
        self.sources.push(source);
        self
    }

    /// Sets the configured permission for a tool, or for all tools of an MCP server by `mcp__SERVER`.
    #[must_use]
    pub fn permit(mut self, tool: impl Into<String>, permission: Permission) -> Self {
        self.configured.insert(tool.into(), permission);
        self
    }

    /// Declares that a user can be asked, so that tools that need a permission are offered too.
    #[must_use]
    pub fn attended(mut self) -> Self {
        self.is_attended = true;
        self
    }

    /// The tools for a request, without denied ones. Without a user, also without tools that need a permission.
    pub async fn offers(&self) -> Vec<Tool> {
        let mut offers = Vec::new();
        for source in &self.sources {
            let all = source.offers().await;
            offers.extend(all.into_iter().filter(|(tool, default)| {
                match name(tool).and_then(|name| self.configured(name)).unwrap_or(*default) {
                    Permission::Allow => true,
                    Permission::Ask => self.is_attended,
                    Permission::Deny => false,
                }
            }));
        }
        offers.into_iter().map(|(tool, _)| tool).collect()
    }

    /// Names of MCP tools that are not offered because their permission needs a user.
    pub async fn withheld(&self) -> Vec<String> {
        let mut withheld = Vec::new();
        for source in self.sources.iter().filter(|_| !self.is_attended) {
            let all = source.offers().await;
            withheld.extend(all.iter().filter_map(|(tool, default)| {
                let name = name(tool).filter(|name| name.starts_with("mcp__"))?;
                let permission = self.configured(name).unwrap_or(*default);
                (permission == Permission::Ask).then(|| name.to_owned())
            }));
        }
        withheld
    }

    /// Decides about a call.
    pub async fn rule(&self, call: &ToolCall) -> Rule {
        let Some((_, weighed)) = self.find(call).await else {
            return Rule::Deny(self.unknown(call).await);
        };
        if let Some(fault) = weighed.fault {
            return Rule::Deny(fault);
        }
        let reads = matches!(weighed.kind, ToolKind::Read | ToolKind::Search);
        if self.is_planning.load(Ordering::Relaxed) && !reads {
            return Rule::Deny(PLANNING.to_owned());
        }
        let configured = self.configured(&call.name).unwrap_or(weighed.permission);
        let is_granted = self.granted().contains(&weighed.grant);
        match configured {
            Permission::Deny => {
                Rule::Deny(format!("the user does not allow `{}`; go on without it", call.name))
            }
            Permission::Allow if weighed.reason.is_none() => Rule::Allow { may_leave: false },
            Permission::Allow | Permission::Ask if is_granted => {
                Rule::Allow { may_leave: weighed.reason.is_some() }
            }
            Permission::Allow | Permission::Ask => Rule::Ask(Box::new(Question {
                call_id: call.id.clone(),
                index: 0,
                tool: call.name.clone(),
                kind: weighed.kind,
                title: weighed.title,
                reason: weighed.reason,
                change: weighed.change,
                grant: weighed.grant,
            })),
        }
    }

    /// The kind of a call, and a line about it for the user.
    pub async fn describe(&self, call: &ToolCall) -> (ToolKind, String) {
        match self.find(call).await {
            Some((_, weighed)) => (weighed.kind, weighed.title),
            None => (ToolKind::Other, call.name.clone()),
        }
    }

    /// Allows the question's grant until the session ends.
    pub fn always(&self, question: &Question) {
        self.granted().insert(question.grant.clone());
    }

    /// Runs an allowed call. An error becomes the result for the model.
    pub async fn run(&self, call: &ToolCall, job: Job<'_>) -> Given {
        match self.find(call).await {
            Some((source, _)) => {
                let given = source.run(call, job).await;
                self.changes.note(given.change.as_ref());
                given
            }
            None => Given::error(&self.unknown(call).await),
        }
    }

    /// Lets only tools that read run, or all tools.
    pub fn plan(&self, is_on: bool) {
        self.is_planning.store(is_on, Ordering::Relaxed);
    }

    /// The changes that its tools made to files.
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.changes
    }

    /// Runs a command of the user, who needs no permission.
    pub async fn command(&self, command: &str, stop: &CancellationToken) -> Given {
        let parameters = Raw::build(|w| {
            w.object(|w| {
                w.field_str("command", command);
                w.field_u64("timeout_seconds", builtin::MAX_SECONDS);
            });
        });
        let call = ToolCall {
            parameters: Parameters::Json(parameters),
            ..ToolCall::new(None, builtin::SHELL)
        };
        self.run(&call, Job { stop, output: &|_| {}, may_leave: true }).await
    }

    /// A line of Markdown for each tool: its name, its permission, and the first sentence of its description.
    pub async fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for source in &self.sources {
            for (tool, default) in source.offers().await {
                let Tool::Function { name, description, .. } = tool else { continue };
                let permission = self.configured(&name).unwrap_or(default).as_str();
                let about = description.as_deref().unwrap_or_default();
                let about = about.split_inclusive(". ").next().unwrap_or_default().trim();
                lines.push(format!("- `{name}` ({permission}): {about}"));
            }
        }
        lines
    }

    /// A line of Markdown for each MCP server.
    pub async fn servers(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for source in &self.sources {
            lines.extend(source.servers().await);
        }
        lines
    }

    /// Stops the MCP servers.
    pub async fn close(&self) {
        for source in &self.sources {
            source.close().await;
        }
    }

    async fn find(&self, call: &ToolCall) -> Option<(&dyn Source, Weighed)> {
        for source in &self.sources {
            if let Some(weighed) = source.weigh(call).await {
                return Some((source.as_ref(), weighed));
            }
        }
        None
    }

    async fn unknown(&self, call: &ToolCall) -> String {
        let known: Vec<_> =
            self.offers().await.iter().filter_map(name).map(str::to_owned).collect();
        format!("there is no tool `{}`; there are {}", call.name, known.join(", "))
    }

    /// The configured permission of a tool, or else of its server.
    fn configured(&self, name: &str) -> Option<Permission> {
        let of_server = || {
            let server = name.strip_prefix("mcp__")?.split("__").next()?;
            self.configured.get(&format!("mcp__{server}"))
        };
        self.configured.get(name).or_else(of_server).copied()
    }

    fn granted(&self) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
        self.granted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(tool: &Tool) -> Option<&str> {
    match tool {
        Tool::Function { name, .. } => Some(name),
        Tool::Other { .. } => None,
    }
}

#[cfg(test)]
mod tests;
