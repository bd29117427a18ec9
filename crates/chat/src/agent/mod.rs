//! The loop of requests, answers and tool calls for one question.

mod calls;
mod clock;
mod control;
mod ear;
mod unread_tags;
mod unsent;
mod watch;

pub use calls::Called;
pub use control::Control;
pub use watch::Watch;

use crate::gate::{Admission, Gate, Notice};
use crate::tools::{Approve, Nobody, Toolbox};
use crate::traced::{Generation, Traced};
use calls::run_calls;
use clock::Clock;
use ear::Ear;
use std::borrow::Cow;
use std::fmt;
use std::time::{Duration, SystemTime};
use thinkthrough_client::{
    Auth, ClientError, Request as Send, Retry, RetryPolicy, Transport, mark_private,
};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Content, ToolCall, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::exchange::{Ended, Finished, Own, Repair, Turn};
use thinkthrough_core::outgoing::{Outgoing, without_usage};
use thinkthrough_core::pipeline::Failure;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::{Request, Tool};
use thinkthrough_core::settings::{Effort, Resolved};
use thinkthrough_core::why::{Prepared, Way, Why};
use thinkthrough_limits::BudgetRefusal;
use thinkthrough_limits::runaway::{Circles, Runaway};

/// The parts of a question that are the same in all rounds.
#[derive(Clone)]
pub struct Setup<'a> {
    /// The model, and the endpoint of the requests.
    pub target: &'a Target,
    /// The settings in effect.
    pub settings: &'a Resolved,
    /// The HTTP client, or a simulator.
    pub transport: &'a Transport,
    /// The credential.
    pub auth: Auth,
    /// The tools of the requests, if any.
    pub tools: Option<&'a Toolbox>,
    /// Answers questions about tools that need a permission.
    pub approve: &'a dyn Approve,
    /// Checks the budget and limits before each request.
    pub gate: Option<&'a Gate>,
    /// Stores a trace of each request.
    pub traced: Option<&'a Traced>,
    /// The most requests that one question may need.
    pub max_rounds: usize,
    /// Further parameters of each request, such as a temperature or a format of the answer.
    pub wish: Request,
}

impl<'a> Setup<'a> {
    /// A setup without tools, without a gate, and without anyone who could permit a call.
    #[must_use]
    pub fn new(target: &'a Target, settings: &'a Resolved, transport: &'a Transport) -> Self {
        let (auth, tools, approve, gate) = (Auth::None, None, &Nobody, None);
        let (traced, max_rounds) = (None, MAX_ROUNDS);
        let wish = Request::default();
        Setup { target, settings, transport, auth, tools, approve, gate, traced, max_rounds, wish }
    }
}

/// Default of [`Setup::max_rounds`].
pub const MAX_ROUNDS: usize = 24;

/// One request with its answer and the results of its tool calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The answer of the model.
    pub answer: Answer,
    /// The results of the tool calls, in the order of the calls.
    pub tool_responses: Vec<ToolResponse>,
    /// Names of the tools whose calls were not allowed.
    pub refused: Vec<String>,
    /// Time from the request to the end of its answer.
    pub took: Duration,
    /// The part of `took` that the model spent on thoughts.
    pub thinking: Duration,
    /// Time that the tools took after the answer, including questions to the user.
    pub tools: Duration,
    /// The id of the trace, if one was stored.
    pub trace: Option<String>,
}

/// The result of a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The rounds, in order.
    pub rounds: Vec<Round>,
    /// The messages that were added to the conversation.
    pub added: Vec<Content>,
    /// The refusal of the provider, or the error that broke the answer off.
    pub failure: Option<Failure>,
    /// The refusal of the session's budget.
    pub refused: Option<BudgetRefusal>,
    /// The model still called tools after the last allowed round.
    pub is_unfinished: bool,
    /// The user stopped it. `added` has the answer up to then, marked partial.
    pub is_stopped: bool,
}

impl Outcome {
    /// Time that the model spent on thoughts in all rounds, without the time of tools.
    #[must_use]
    pub fn thinking(&self) -> Duration {
        self.rounds.iter().map(|round| round.thinking).sum()
    }
}

/// An error before the answer began.
#[derive(Debug)]
pub enum AskError {
    /// The upstream could not be reached, or broke the protocol.
    Client(ClientError),
    /// The provider's entry has an invalid header.
    Header(String),
}

impl fmt::Display for AskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskError::Client(error) => error.fmt(f),
            AskError::Header(name) => {
                write!(f, "`{name}` is no header; change the provider's entry")
            }
        }
    }
}

impl std::error::Error for AskError {}

impl From<ClientError> for AskError {
    fn from(error: ClientError) -> Self {
        AskError::Client(error)
    }
}

/// Asks the last question of `conversation` and runs tools until the model has answered.
///
/// `control` stops it at any point: the connection is dropped, running tools end, and the answer up to then stays in
/// the conversation, so that the user can continue.
///
/// # Errors
/// If the upstream cannot be reached before the answer begins. A refusal by the provider, or an answer that breaks
/// off, gives an [`Outcome`] with a failure, so that the received part is not lost.
pub async fn run(
    setup: &Setup<'_>,
    conversation: &mut Vec<Content>,
    control: &Control,
    watch: &mut (dyn Watch + std::marker::Send),
) -> Result<Outcome, AskError> {
    let (outcome, why) = (Outcome::default(), Why::default());
    let target = match setup.gate {
        Some(gate) => gate.lessons().taught(setup.target),
        None => Cow::Borrowed(setup.target),
    };
    let is_off = false;
    let mut run = Run { setup, target, is_off, control, watch, conversation, outcome, why };
    for round in 0..setup.max_rounds.max(1) {
        if !run.round(round).await? {
            break;
        }
    }
    run.outcome.is_stopped = control.is_stopped();
    Ok(run.outcome)
}

/// A question in progress.
struct Run<'a> {
    setup: &'a Setup<'a>,
    /// The model with the facts that its refusals taught.
    target: Cow<'a, Target>,
    /// The rest of the turn goes on without thinking.
    is_off: bool,
    control: &'a Control,
    watch: &'a mut (dyn Watch + std::marker::Send),
    conversation: &'a mut Vec<Content>,
    outcome: Outcome,
    /// The trace's explanation of the current request.
    why: Why,
}

impl Run<'_> {
    /// Sends one request, reads its answer and runs its tools. Returns whether another request must follow.
    async fn round(&mut self, round: usize) -> Result<bool, AskError> {
        self.outcome.is_unfinished = false;
        let stop = self.control.token();
        let offers = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(false),
            offers = offers(self.setup.tools) => offers,
        };
        let contents = self.conversation.clone();
        let wish = self.setup.wish.clone();
        let request = Request { contents, tools: offers, stream: true, ..wish };
        let Some(admission) = self.admit(&request).await else { return Ok(false) };
        let (mut clock, at) = (Clock::start(), SystemTime::now());
        let asked = self.ask(round, &request, admission.settings(self.setup), &mut clock).await;
        let answer = asked.as_ref().ok().and_then(|finished| finished.as_ref());
        self.settle(admission, answer.map(|finished| &finished.answer));
        let finished = match asked {
            Ok(Some(finished)) => finished,
            Ok(None) => {
                self.leave_trace(at, None, None);
                return Ok(false);
            }
            Err(error) => {
                self.why.failed("not_reached");
                self.leave_trace(at, None, Some(error.to_string()));
                return Err(error);
            }
        };
        if finished.failure.is_some() && finished.content.is_none() {
            self.why.failed("refused");
        }
        let why = finished.failure.as_ref().map(|failure| failure.message.clone());
        let problem = finished.answer.problems.last().filter(|_| !finished.end.is_complete());
        let why = why.or_else(|| problem.map(|problem| problem.message.clone()));
        let trace = self.leave_trace(at, Some(&finished), why);
        let Finished { answer, end, mut content, failure, .. } = finished;
        let form = &self.target.rule.thinking;
        let is_said =
            self.setup.settings.enabled.value && (form.effort.is_some() || form.budget.is_some());
        let effort = self.setup.settings.effort.value.filter(|_| is_said).map(Effort::as_str);
        let (took, thinking) = clock.stop(content.as_mut(), effort);
        if !stop.is_cancelled() || failure.is_some() {
            let broken_off = || broken_off(&answer).filter(|_| !end.is_complete());
            self.outcome.failure = failure.or_else(broken_off);
        }
        let calls: Vec<ToolCall> = match &content {
            Some(content) if end.is_complete() => content.tool_calls().cloned().collect(),
            _ => Vec::new(),
        };
        if let Some(content) = content {
            self.add(round, content);
        }
        let started = tokio::time::Instant::now();
        let (tool_responses, refused) = self.call(round, &calls).await;
        let has_called = !tool_responses.is_empty();
        let tools = started.elapsed();
        let done = Round { answer, tool_responses, refused, took, thinking, tools, trace };
        self.watch.round_over(round, &done);
        self.outcome.rounds.push(done);
        self.outcome.is_unfinished = has_called;
        Ok(has_called && !stop.is_cancelled())
    }

    /// Stores the trace of a finished, failed or stopped request. Returns its id.
    fn leave_trace(
        &mut self,
        at: SystemTime,
        finished: Option<&Finished>,
        error: Option<String>,
    ) -> Option<String> {
        let is_whole = finished.is_some_and(|it| it.end.is_complete() && it.failure.is_none());
        let generation = Generation {
            target: &self.target,
            at,
            took: at.elapsed().unwrap_or_default(),
            contents: self.conversation,
            effort: self.setup.settings.effort.value,
            answer: finished.map(|finished| &finished.answer),
            is_whole,
            is_stopped: !is_whole && self.control.is_stopped(),
            error,
            refusal: finished.and_then(|it| Some(it.failure.as_ref()?.message.as_str())),
            why: std::mem::take(&mut self.why),
        };
        self.setup.traced?.leave(generation)
    }

    /// Records the request and its reasons, if a trace will be stored.
    fn explain(&mut self, turn: &Turn<'_>) {
        if self.setup.traced.is_some() {
            let repairs = [None, turn.repaired()];
            let way = Way::of(turn.target(), repairs, turn.prepared().without);
            self.why.went(way, Prepared::of_own(turn));
        }
    }

    /// Runs the tool calls of an answer, and returns their results and the names of refused tools. Without own tools,
    /// the calls are left to the reader of the output.
    async fn call(&mut self, round: usize, calls: &[ToolCall]) -> (Vec<ToolResponse>, Vec<String>) {
        let Some(tools) = self.setup.tools.filter(|_| !calls.is_empty()) else {
            return Default::default();
        };
        let (approve, stop) = (self.setup.approve, self.control.token());
        let called = run_calls(tools, approve, stop, (round, calls), self.watch).await;
        for called in &called {
            self.watch.tool_response(round, &called.response);
            self.add(round, called.content());
        }
        // Messages that the user wrote meanwhile follow the results, because results must stand right after their
        // calls.
        if !stop.is_cancelled() {
            for said in self.control.take() {
                self.add(round, said);
            }
        }
        let refused = called.iter().filter(|it| it.is_refused).map(|it| it.call.name.clone());
        let refused = refused.collect();
        (called.into_iter().map(|called| called.response).collect(), refused)
    }

    fn add(&mut self, round: usize, content: Content) {
        self.watch.added(round, &content);
        self.tell_unread_tags(&content);
        self.conversation.push(content.clone());
        self.outcome.added.push(content);
    }

    /// Waits until the gate admits the request. Returns `None` if the gate refuses it or the user stops it.
    async fn admit(&mut self, request: &Request) -> Option<Admitted> {
        let Setup { gate, settings, .. } = *self.setup;
        let Some(gate) = gate else { return Some(Admitted(None)) };
        let (stop, watch) = (self.control.token(), &mut *self.watch);
        let mut notice = |notice: Notice| watch.notice(&notice);
        let admission = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            admission = gate.admit(&self.target, settings, request, &mut notice) => admission,
        };
        match admission {
            Ok(admission) => Some(Admitted(Some(admission))),
            Err(refused) => {
                self.outcome.refused = Some(refused);
                None
            }
        }
    }

    /// Charges the request to the budget and limits.
    fn settle(&mut self, admitted: Admitted, answer: Option<&Answer>) {
        let (Some(gate), Some(admission)) = (self.setup.gate, admitted.0) else { return };
        for notice in gate.settle(admission, answer) {
            self.watch.notice(&notice);
        }
        self.watch.spent(gate.used());
    }

    /// Sends the request and reads its answer. If the provider refuses it for its thoughts, sends it once more with a
    /// repair. Returns `None` if the user stops it before the answer begins.
    async fn ask(
        &mut self,
        round: usize,
        request: &Request,
        settings: &Resolved,
        clock: &mut Clock,
    ) -> Result<Option<Finished>, AskError> {
        let masker = self.setup.gate.and_then(Gate::masker);
        let is_compared = self.setup.traced.is_some();
        let mut own = Own { masker, is_compared, ..Own::new(request, &self.target, settings) };
        own.settings.enabled.value &= !self.is_off;
        let mut turn = Turn::of(own);
        loop {
            self.explain(&turn);
            self.watch.outgoing(round, turn.outgoing());
            self.tell_unsent(round, turn.outgoing());
            let Some(ended) = self.send(round, turn, clock).await? else { return Ok(None) };
            match ended {
                Ended::Again(next) => {
                    self.why.failed("refused");
                    turn = *next;
                }
                Ended::Done(finished) => {
                    if let Some(fact) = finished.fact {
                        self.learn(fact);
                    }
                    self.is_off |= finished.is_off;
                    return Ok(Some(*finished));
                }
            }
        }
    }

    /// Applies a fact from a refusal to all further requests.
    fn learn(&mut self, fact: Repair) {
        if let Some(taught) = fact.taught_to(&self.target) {
            self.target = Cow::Owned(taught);
            if let Some(gate) = self.setup.gate {
                gate.lessons().learn(self.setup.target, fact);
            }
        }
    }

    /// Sends one request and reads the response. Returns `None` if the user stops it before the response begins.
    async fn send<'d>(
        &mut self,
        round: usize,
        mut turn: Turn<'d>,
        clock: &mut Clock,
    ) -> Result<Option<Ended<'d>>, AskError> {
        let stop = self.control.token();
        let send = prepare(self.setup, turn.outgoing())?;
        let policy = RetryPolicy::default();
        let mut on_retry = |retry: &Retry<'_>| self.watch.retry(retry);
        let sending = self.setup.transport.send_with_retry(&send, &policy, &mut on_retry);
        // Dropping the request here, or the body below, closes the connection.
        let mut response = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(None),
            response = sending => response?,
        };
        turn.head(response.status.as_u16());
        clock.head();
        let runaway = self.setup.gate.map_or(Runaway::Off, Gate::runaway);
        let (watch, circles) = (&mut *self.watch, Circles::default());
        let mut ear = Ear { round, clock, watch, runaway, circles, found: None };
        let cut = loop {
            let chunk = tokio::select! {
                biased;
                () = stop.cancelled() => break Some(STOPPED.to_owned()),
                chunk = response.body.next() => chunk,
            };
            match chunk {
                Some(Ok(bytes)) => {
                    turn.push(&bytes, &mut |event: Event<'_>| ear.hear(event));
                    if let Some(why) = ear.cut() {
                        break Some(why);
                    }
                }
                Some(Err(error)) => break Some(error.to_string()),
                None => break None,
            }
        };
        drop(response);
        Ok(Some(turn.end(cut.as_deref(), &mut |event: Event<'_>| ear.hear(event))))
    }
}

/// An admitted request. Without a gate, all requests are admitted.
struct Admitted(Option<Admission>);

impl Admitted {
    fn settings<'s>(&'s self, setup: &'s Setup<'_>) -> &'s Resolved {
        self.0.as_ref().map_or(setup.settings, |admission| &admission.settings)
    }
}

const STOPPED: &str = "stopped by the user";

async fn offers(tools: Option<&Toolbox>) -> Vec<Tool> {
    match tools {
        Some(tools) => tools.offers().await,
        None => Vec::new(),
    }
}

fn prepare(setup: &Setup<'_>, outgoing: &Outgoing) -> Result<Send, AskError> {
    let mut send = Send::post(&outgoing.url, outgoing.body.clone())?;
    let json = [("content-type".to_owned(), "application/json".to_owned())];
    for (name, value) in outgoing.headers.iter().chain(&json) {
        let bad = || AskError::Header(name.clone());
        let name = http::HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        let mut value = http::HeaderValue::try_from(value.as_str()).map_err(|_| bad())?;
        mark_private(&name, &mut value);
        send.headers.insert(name, value);
    }
    send.auth = setup.auth.clone();
    send.plainer = setup.target.dialect.may_refuse_usage.then_some(without_usage);
    send.lasting = Some(|body| Repair::names_history(&String::from_utf8_lossy(body)));
    Ok(send)
}

fn broken_off(answer: &Answer) -> Option<Failure> {
    let problem = answer.problems.last()?;
    Some(Failure {
        status: 200,
        message: format!("the answer broke off: {}", problem.message),
        remedy: Some("what came is kept and marked partial".to_owned()),
    })
}

#[cfg(test)]
mod tests;
