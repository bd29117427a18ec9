//! The tools that the model may call, and whether it may.

mod builtin;
mod permission;
mod source;

pub(crate) use builtin::speaks_of_secrets;
pub use builtin::{Builtin, ToolboxError};
pub use permission::{Approve, FileChange, Nobody, Permission, Question, ToolKind, Verdict};
pub use source::{Given, Job, Pending, Source, Weighed};

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use thinkthrough_core::content::ToolCall;
use thinkthrough_core::request::Tool;

/// The tools of a session, with what is allowed in it.
#[derive(Debug)]
pub struct Toolbox {
    sources: Vec<Box<dyn Source>>,
    configured: BTreeMap<String, Permission>,
    is_attended: bool,
    /// What was allowed for the rest of the session.
    granted: Mutex<BTreeSet<String>>,
}

/// What is to happen with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// It runs.
    Allow {
        /// What speaks against it was accepted before: it may leave the working folder.
        may_leave: bool,
    },
    /// Somebody is asked.
    Ask(Box<Question>),
    /// It does not run; the sentence is for the model.
    Deny(String),
}

impl Toolbox {
    /// The built-in tools, bound to `folder` and what is below it.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn new(folder: &Path) -> Result<Self, ToolboxError> {
        Ok(Toolbox::empty().with(Box::new(Builtin::new(folder)?)))
    }

    /// No tools yet.
    #[must_use]
    pub fn empty() -> Self {
        Toolbox {
            sources: Vec::new(),
            configured: BTreeMap::new(),
            is_attended: false,
            granted: Mutex::default(),
        }
    }

    /// With more tools.
    #[must_use]
    pub fn with(mut self, source: Box<dyn Source>) -> Self {
        self.sources.push(source);
        self
    }

    /// With what the configuration says about the tool of this name, or about all tools of an MCP server by
    /// `mcp__SERVER`.
    #[must_use]
    pub fn permit(mut self, tool: impl Into<String>, permission: Permission) -> Self {
        self.configured.insert(tool.into(), permission);
        self
    }

    /// With somebody there to be asked, so that tools are offered too that need to ask.
    #[must_use]
    pub fn attended(mut self) -> Self {
        self.is_attended = true;
        self
    }

    /// What a request offers: nothing that is denied, and nothing that would have to ask where nobody is there.
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

    /// The names of the tools of servers that are not offered because nobody is there to be asked.
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

    /// What is to happen with a call, now.
    pub async fn rule(&self, call: &ToolCall) -> Rule {
        let Some((_, weighed)) = self.find(call).await else {
            return Rule::Deny(self.unknown(call).await);
        };
        if let Some(fault) = weighed.fault {
            return Rule::Deny(fault);
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

    /// What the model wants, in a line for people, and what kind of thing it is.
    pub async fn describe(&self, call: &ToolCall) -> (ToolKind, String) {
        match self.find(call).await {
            Some((_, weighed)) => (weighed.kind, weighed.title),
            None => (ToolKind::Other, call.name.clone()),
        }
    }

    /// Allows what the question asks for, until the session ends.
    pub fn always(&self, question: &Question) {
        self.granted().insert(question.grant.clone());
    }

    /// Runs a call that was allowed. What goes wrong is told to the model.
    pub async fn run(&self, call: &ToolCall, job: Job<'_>) -> Given {
        match self.find(call).await {
            Some((source, _)) => source.run(call, job).await,
            None => Given::error(&self.unknown(call).await),
        }
    }

    /// Ends the servers that tools were started on.
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

    /// What the configuration says: under the tool's name, else under that of its server.
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
