//! Runs questions in the background and reports their events.

use super::here::Here;
use super::host::Connection;
use super::teller::{News, SoFar, Teller};
use crate::agent::{AskError, Control, MAX_ROUNDS, Outcome, Setup, Watch, run};
use crate::cover::Cover;
use crate::ending::Ending;
use crate::failure::Attempt;
use crate::gate::Gate;
use crate::session::{Ended, Message, Permission, Progress, Question, RunId};
use crate::tools::{self, Approve, Given, Pending, ToolKind, Toolbox};
use crate::traced::{Traced, Tracer};
use std::sync::{Arc, Mutex, PoisonError};
use thinkthrough_client::Retry;
use thinkthrough_core::content::{Content, Origin, Speaker, ToolResponse, ToolResult};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// The command that sends the last question again.
const AGAIN: &str = "`/retry`";

/// Events for the main loop, besides keys.
#[derive(Debug)]
pub(super) enum Inbound {
    /// For the session.
    Message(Message),
    /// A model was chosen.
    Chosen(Box<Connection>),
    /// An answer begins. The store task begins a draft.
    Begins(Origin),
    /// The partial answer so far.
    Draft(SoFar),
}

/// Runs questions.
pub(super) struct Engine {
    inbox: mpsc::UnboundedSender<Inbound>,
    tools: Option<Arc<Toolbox>>,
    gate: Arc<Gate>,
    cover: Cover,
    running: Option<(RunId, Control)>,
    /// The last request to the utility model.
    aside: Option<(RunId, Control)>,
    /// The last command of the user.
    shell: Option<(RunId, CancellationToken)>,
    /// The store of traces, and the conversation that names them.
    traces: Option<(Tracer, Here)>,
    desk: Arc<Desk>,
}

/// Holds a tool call until the user answers.
#[derive(Debug)]
struct Desk {
    inbox: mpsc::UnboundedSender<Inbound>,
    cover: Cover,
    waiting: Mutex<Option<oneshot::Sender<tools::Verdict>>>,
    run: Mutex<RunId>,
}

impl Desk {
    fn waiting(&self) -> std::sync::MutexGuard<'_, Option<oneshot::Sender<tools::Verdict>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) -> std::sync::MutexGuard<'_, RunId> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Approve for Desk {
    fn approve<'a>(&'a self, question: &'a tools::Question) -> Pending<'a, tools::Verdict> {
        Box::pin(async move {
            let (sender, receiver) = oneshot::channel();
            *self.waiting() = Some(sender);
            let asks = Progress::Asks(permission(&self.cover.question(question)));
            let run = *self.run();
            drop(self.inbox.send(Inbound::Message(Message::Progress(run, asks))));
            // Stopping the question drops the sender.
            receiver.await.unwrap_or_else(|_| tools::Verdict::Deny(String::new()))
        })
    }
}

fn permission(question: &tools::Question) -> Permission {
    let (detail, language) = match &question.change {
        Some(change) => {
            (difference(change.old.as_deref().unwrap_or_default(), &change.new), "diff")
        }
        None => (String::new(), ""),
    };
    let reason = question.reason.as_ref().map_or_else(String::new, |it| format!(" ({it})"));
    Permission {
        call_id: question.call_id.clone(),
        tool: question.tool.clone(),
        title: format!("{}?{reason}", question.title),
        detail,
        language: language.to_owned(),
        grant: question.grant.clone(),
        reads_only: matches!(question.kind, ToolKind::Read | ToolKind::Search),
    }
}

/// The lines that differ between two texts, without the common lines at both ends.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let (old, new) = (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count();
    let gone = old.iter().take(old.len() - tail).map(|line| format!("-{line}"));
    let come = new.iter().take(new.len() - tail).map(|line| format!("+{line}"));
    let at = format!("@@ line {} @@", head + 1);
    std::iter::once(at).chain(gone).chain(come).collect::<Vec<_>>().join("\n")
}

impl Engine {
    pub(super) fn new(
        inbox: mpsc::UnboundedSender<Inbound>,
        tools: Option<Arc<Toolbox>>,
        (gate, cover): (Gate, Cover),
        traces: Option<(Tracer, Here)>,
    ) -> Self {
        let (waiting, run) = (Mutex::default(), Mutex::default());
        let desk = Desk { inbox: inbox.clone(), cover: cover.clone(), waiting, run };
        let (gate, desk) = (Arc::new(gate), Arc::new(desk));
        Engine { inbox, tools, gate, cover, traces, running: None, aside: None, shell: None, desk }
    }

    /// Continues with the budget of a stored conversation, including its earlier thoughts.
    pub(super) fn resume(&self, conversation: &[Content]) {
        self.gate.resume(conversation);
    }

    /// Lists the tools on offer, which may start servers.
    pub(super) fn look_for_tools(&self) {
        let Some(tools) = self.tools.clone() else { return };
        let inbox = self.inbox.clone();
        tokio::spawn(async move {
            let offers = tools.offers().await;
            drop(inbox.send(Inbound::Message(Message::Tools(offers))));
        });
    }

    /// Runs a command of the user, as the shell tool runs one.
    pub(super) fn shell(&mut self, run: RunId, command: String) {
        let stop = CancellationToken::new();
        self.shell = Some((run, stop.clone()));
        let (tools, inbox) = (self.tools.clone(), self.inbox.clone());
        tokio::spawn(async move {
            let given = match tools {
                Some(tools) => tools.command(&command, &stop).await,
                None => Given::error("this session has no shell"),
            };
            let output = ToolResult::from(given.result).text();
            drop(inbox.send(Inbound::Message(Message::Ran(run, output, given.is_error))));
        });
    }

    /// Sends a page about the tools, or about their servers.
    pub(super) fn list_tools(&self, of_servers: bool) {
        let (tools, inbox) = (self.tools.clone(), self.inbox.clone());
        tokio::spawn(async move {
            let (title, none) = if of_servers {
                (
                    "MCP servers",
                    "No server is configured; `[mcp.NAME]` in the configuration adds one.",
                )
            } else {
                ("Tools", "This session has no tools.")
            };
            let lines = match tools {
                Some(tools) if of_servers => tools.servers().await,
                Some(tools) => tools.lines().await,
                None => Vec::new(),
            };
            let text = if lines.is_empty() { none.to_owned() } else { lines.join("\n") };
            drop(inbox.send(Inbound::Message(Message::Page(title, text))));
        });
    }

    /// Lets only tools that read run, or all tools.
    pub(super) fn plan(&self, is_on: bool) {
        self.tools.iter().for_each(|tools| tools.plan(is_on));
    }

    /// Takes back the changes to files of these questions, and reports them.
    pub(super) fn undo_files(&self, runs: &[RunId]) {
        let lines = self.tools.iter().flat_map(|tools| tools.changes().undo(runs));
        let lines: Vec<String> = lines.collect();
        if !lines.is_empty() {
            drop(self.inbox.send(Inbound::Message(Message::Said(Ok(lines.join("\n"))))));
        }
    }

    /// Waits until all traces are written.
    pub(super) async fn traced(&self) -> usize {
        match &self.traces {
            Some((tracer, _)) => tracer.end().await,
            None => 0,
        }
    }

    /// Ends the programs that the tools started.
    pub(super) async fn close(&self) {
        if let Some(tools) = &self.tools {
            tools.close().await;
        }
    }

    /// Begins a question as soon as the messages before it are stored.
    pub(super) fn ask(
        &mut self,
        question: Question,
        connection: Connection,
        is_kept: impl Future<Output = ()> + Send + 'static,
    ) {
        let control = Control::new();
        self.running = Some((question.run, control.clone()));
        *self.desk.run() = question.run;
        self.tools.iter().for_each(|tools| tools.changes().begin(question.run));
        let (inbox, tools, gate) = (self.inbox.clone(), self.tools.clone(), Arc::clone(&self.gate));
        gate.limit(&question.target.provider, connection.limits);
        let (desk, traces) = (Arc::clone(&self.desk), self.traces.clone());
        let cover = self.cover.clone();
        tokio::spawn(async move {
            is_kept.await;
            let traced = traced(traces.as_ref());
            let news = News::default();
            let origin = question.target.origin(None);
            let shown = (origin, cover.clone());
            let mut teller = Teller::new(question.run, inbox.clone(), shown, news.clone());
            let setup = Setup {
                auth: connection.auth,
                tools: tools.as_deref(),
                approve: desk.as_ref(),
                gate: Some(&gate),
                traced: traced.as_ref(),
                max_rounds: MAX_ROUNDS,
                ..Setup::new(&question.target, &question.settings, &connection.transport)
            };
            let mut contents = question.contents;
            let outcome = tokio::select! {
                outcome = run(&setup, &mut contents, &control, &mut teller) => outcome,
                () = news.hand_on(inbox) => return,
            };
            let asked = Attempt {
                model: &question.model,
                key_from: connection.key_from.as_deref(),
                again: Some(AGAIN),
            };
            let is_stopped = control.is_stopped();
            let ended = ended(&asked, outcome, is_stopped);
            teller.tell(Progress::Done(covered(&cover, ended)));
        });
    }

    /// Asks a side question without tools. Only the visible text of the answer is used. A stopped question reports no
    /// text.
    pub(super) fn aside(
        &mut self,
        question: Question,
        connection: Connection,
        then: impl FnOnce(Result<String, String>) -> Message + Send + 'static,
    ) {
        let control = Control::new();
        self.aside = Some((question.run, control.clone()));
        let (inbox, gate) = (self.inbox.clone(), Arc::clone(&self.gate));
        gate.limit(&question.target.provider, connection.limits);
        let traced = traced(self.traces.as_ref());
        tokio::spawn(async move {
            let setup = Setup {
                auth: connection.auth,
                gate: Some(&gate),
                traced: traced.as_ref(),
                max_rounds: 1,
                ..Setup::new(&question.target, &question.settings, &connection.transport)
            };
            let mut contents = question.contents;
            let outcome = run(&setup, &mut contents, &control, &mut Silent).await;
            let rounds = outcome.as_ref().map(|it| it.rounds.as_slice()).unwrap_or_default();
            for round in rounds {
                let usage = round.answer.usage.clone();
                let paid = Message::Paid(question.model.clone(), usage);
                drop(inbox.send(Inbound::Message(paid)));
            }
            if control.is_stopped() {
                return;
            }
            let asked = Attempt {
                model: &question.model,
                key_from: connection.key_from.as_deref(),
                again: None,
            };
            let said = match outcome {
                Ok(outcome) => match outcome.failure {
                    Some(failure) => Err(asked.refused(&failure)),
                    None => Ok(outcome
                        .added
                        .iter()
                        .filter(|content| content.speaker == Speaker::Ai)
                        .map(Content::visible_text)
                        .collect()),
                },
                Err(error) => Err(asked.unreached(&error)),
            };
            drop(inbox.send(Inbound::Message(then(said))));
        });
    }

    /// Stops a question, a side request, or a command of the user.
    pub(super) fn stop(&mut self, run: RunId) {
        if let Some((_, stop)) = self.shell.as_ref().filter(|(id, _)| *id == run) {
            return stop.cancel();
        }
        for (id, control) in self.running.iter().chain(&self.aside) {
            if *id == run {
                control.stop();
            }
        }
        drop(self.desk.waiting().take());
    }

    /// Passes the user's decision to the waiting tool.
    pub(super) fn decide(&self, verdict: tools::Verdict) {
        if let Some(sender) = self.desk.waiting().take() {
            drop(sender.send(verdict));
        }
    }
}

/// The trace context of a question. A conversation that is not stored has none.
fn traced(traces: Option<&(Tracer, Here)>) -> Option<Traced> {
    let (tracer, here) = traces?;
    tracer.question(&here.id()?)
}

/// Describes the end of a question in sentences for the user.
fn ended(asked: &Attempt<'_>, outcome: Result<Outcome, AskError>, is_stopped: bool) -> Ended {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            return Ended { failure: Some(asked.unreached(&error)), is_stopped, note: None };
        }
    };
    let note = Ending::of(&outcome).map(|ending| ending.to_string());
    let failure = outcome.failure.as_ref().map(|failure| asked.refused(failure));
    let refused = || outcome.refused.map(|refused| refused.to_string());
    let unfinished = || {
        outcome.is_unfinished.then(|| {
            format!(
                "the model still called tools after {MAX_ROUNDS} requests; say `go on` to let it"
            )
        })
    };
    let failure = failure.or_else(refused).or_else(unfinished);
    Ended { failure, note, is_stopped: outcome.is_stopped }
}

/// The provider's refusal may quote a secret.
fn covered(cover: &Cover, ended: Ended) -> Ended {
    let text = |text: String| cover.text(&text).into_owned();
    Ended { failure: ended.failure.map(text), note: ended.note.map(text), ..ended }
}

/// A watch that ignores all events.
struct Silent;

impl Watch for Silent {
    fn event(&mut self, _: usize, _: Event<'_>) {}
    fn outgoing(&mut self, _: usize, _: &Outgoing) {}
    fn retry(&mut self, _: &Retry<'_>) {}
    fn tool_response(&mut self, _: usize, _: &ToolResponse) {}
}
