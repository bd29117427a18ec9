//! The built-in tools: reading, searching and changing files, and the shell, in one folder.

mod capped;
mod diff;
mod edit;
mod folder;
mod list;
mod read;
mod search;
mod secrets;
mod shell;
mod walk;

pub use folder::ToolboxError;
pub(crate) use secrets::speaks_of_secrets;
pub(super) use shell::{MAX_SECONDS, NAME as SHELL};
pub(crate) use walk::Walk;

use crate::tools::permission::{FileChange, Permission, ToolKind};
use crate::tools::source::{Given, Job, Pending, Source, Weighed};
use folder::Folder;
use std::path::Path;
use std::sync::Arc;
use thinkthrough_core::content::{Parameters, ToolCall};
use thinkthrough_core::request::Tool;
use thinkthrough_json::{Extra, Raw, Val};

/// The built-in tools, bound to one folder.
#[derive(Debug)]
pub struct Builtin {
    folder: Arc<Folder>,
    hidden: Vec<String>,
}

/// A tool that works on files: its description for the model, and its functions.
struct Spec {
    name: &'static str,
    description: &'static str,
    parameters: &'static str,
    kind: ToolKind,
    permission: Permission,
    plan: fn(&Folder, Val<'_>) -> Result<Plan, String>,
    run: fn(&Folder, Val<'_>, may_leave: bool) -> Result<Given, String>,
}

/// The effect of a call.
struct Plan {
    title: String,
    reason: Option<String>,
    change: Option<FileChange>,
    grant: String,
}

const FILES: [Spec; 4] = [list::SPEC, read::SPEC, search::SPEC, edit::SPEC];

impl Builtin {
    /// Tools that work in `folder` and below it.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn new(folder: &Path) -> Result<Self, ToolboxError> {
        Ok(Builtin { folder: Arc::new(Folder::open(folder)?), hidden: Vec::new() })
    }

    /// The names of the built-in tools.
    pub fn names() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|tool| tool.name).chain([shell::NAME])
    }

    /// Hides these environment variables from commands, in addition to variables whose names speak of secrets.
    #[must_use]
    pub fn hiding(mut self, variables: impl IntoIterator<Item = String>) -> Self {
        self.hidden.extend(variables);
        self
    }

    /// Runs file operations on a blocking thread.
    async fn apart<T: Send + 'static>(
        &self,
        call: &ToolCall,
        work: impl FnOnce(&Folder, Val<'_>) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let Parameters::Json(arguments) = call.parameters.clone() else {
            return Err("the arguments are not JSON; call again with an object".to_owned());
        };
        let folder = Arc::clone(&self.folder);
        let work = move || work(&folder, arguments.doc().root());
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(format!("the tool broke off: {error}")))
    }
}

impl Source for Builtin {
    fn offers(&self) -> Pending<'_, Vec<(Tool, Permission)>> {
        let offer = |name: &str, description: &str, parameters: &str| Tool::Function {
            name: name.to_owned(),
            description: Some(description.to_owned()),
            parameters: Raw::parse(parameters).ok(),
            extra: Extra::default(),
        };
        let mut offers: Vec<_> = FILES
            .iter()
            .map(|it| (offer(it.name, it.description, it.parameters), it.permission))
            .collect();
        let shell = offer(shell::NAME, shell::DESCRIPTION, shell::PARAMETERS);
        offers.push((shell, Permission::Ask));
        Box::pin(std::future::ready(offers))
    }

    fn weigh<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Option<Weighed>> {
        Box::pin(async move {
            let (permission, kind, plan) = if call.name == shell::NAME {
                (Permission::Ask, ToolKind::Execute, shell::plan(&call.parameters))
            } else {
                let spec = find(&call.name)?;
                (spec.permission, spec.kind, self.apart(call, spec.plan).await)
            };
            Some(match plan {
                Ok(Plan { title, reason, change, grant }) => {
                    Weighed { permission, kind, title, reason, change, grant, fault: None }
                }
                Err(fault) => Weighed {
                    permission,
                    kind,
                    title: call.name.clone(),
                    reason: None,
                    change: None,
                    grant: format!("use {}", call.name),
                    fault: Some(fault),
                },
            })
        })
    }

    fn run<'a>(&'a self, call: &'a ToolCall, job: Job<'a>) -> Pending<'a, Given> {
        Box::pin(async move {
            if call.name == shell::NAME {
                return shell::run(self.folder.root(), &self.hidden, &call.parameters, job).await;
            }
            let Some(spec) = find(&call.name) else { return Given::error("there is no such tool") };
            let (run, may_leave) = (spec.run, job.may_leave);
            let done = self.apart(call, move |folder, arguments| run(folder, arguments, may_leave));
            done.await.unwrap_or_else(|error| Given::error(&error))
        })
    }
}

fn find(name: &str) -> Option<&'static Spec> {
    FILES.iter().find(|tool| tool.name == name)
}

/// The effect of a call that works on `path`, and whether the path leaves the folder.
fn planned(folder: &Folder, arguments: Val<'_>, verb: &str) -> Result<Plan, String> {
    let path = arguments.text("path").unwrap_or_default();
    let place = folder.place(&path)?;
    let shown = folder.shown(&place.real);
    let title = format!("{verb} `{shown}`");
    let reason = (!place.is_inside).then(|| folder::outside(&path));
    let grant =
        if place.is_inside { format!("{verb} in the working folder") } else { title.clone() };
    Ok(Plan { title, reason, change: None, grant })
}

/// A text cut to at most `limit` bytes at a character, with a note if it was cut.
fn clipped(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let total = text.len();
        let mut end = limit;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(&format!("\n[cut here: {total} bytes in all]"));
    }
    text
}
