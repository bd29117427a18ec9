//! The loop around requests and answers.

use crate::tools::Toolbox;
use std::fmt;
use thinkthrough_client::{Auth, ClientError, Request as Send, Retry, RetryPolicy, Transport};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Content, Speaker, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::Resolved;
use thinkthrough_core::turn::{Failure, Finished, Turn};

/// What stays the same over the rounds.
#[derive(Debug)]
pub struct Setup<'a> {
    /// Where requests go.
    pub target: &'a Target,
    /// The settings that hold.
    pub settings: &'a Resolved,
    /// How requests travel.
    pub transport: &'a Transport,
    /// The credential.
    pub auth: Auth,
    /// The tools on offer, if any.
    pub tools: Option<&'a Toolbox>,
    /// How many requests one question may take.
    pub max_rounds: usize,
}

/// Is told what happens, as it happens.
pub trait Watch {
    /// The answer says something. `round` counts the requests from 0.
    fn event(&mut self, round: usize, event: Event<'_>);

    /// A request goes out.
    fn outgoing(&mut self, round: usize, request: &Outgoing);

    /// A tool gave something.
    fn tool_response(&mut self, round: usize, response: &ToolResponse);

    /// A request is tried again.
    fn retry(&mut self, retry: &Retry<'_>);
}

/// One request and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Round {
    /// What the provider said.
    pub answer: Answer,
    /// What the tools gave that it called.
    pub tool_responses: Vec<ToolResponse>,
}

/// What a question came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The rounds.
    pub rounds: Vec<Round>,
    /// The messages that the conversation grew by.
    pub added: Vec<Content>,
    /// The provider refused, or the answer broke off.
    pub failure: Option<Failure>,
    /// The model still called tools when its rounds were used up.
    pub is_unfinished: bool,
}

/// Why a question could not be asked.
#[derive(Debug)]
pub enum AskError {
    /// The upstream could not be reached, or broke the protocol.
    Client(ClientError),
    /// A header that the provider's entry names is none.
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
/// # Errors
/// When the upstream cannot be reached before anything was said. What a provider refuses, and what breaks off in
/// the middle, is an [`Outcome`] with a failure: nothing that was said is lost.
pub async fn run(
    setup: &Setup<'_>,
    conversation: &mut Vec<Content>,
    watch: &mut (dyn Watch + std::marker::Send),
) -> Result<Outcome, AskError> {
    let mut outcome = Outcome::default();
    for round in 0..setup.max_rounds.max(1) {
        let finished = one_round(setup, round, conversation, watch).await?;
        let Finished { answer, content, failure } = finished;
        let is_broken = failure.is_some() || !answer.is_complete();
        outcome.failure = failure.or_else(|| broken_off(&answer));
        let mut responses = Vec::new();
        if let Some(content) = content {
            if !is_broken {
                responses = call_tools(setup.tools, &content, round, watch);
            }
            add(conversation, &mut outcome.added, content);
        }
        let has_called = !responses.is_empty();
        for response in &responses {
            let blocks = vec![Block::ToolResponse(response.clone())];
            add(conversation, &mut outcome.added, Content::new(Speaker::Tool, blocks));
        }
        outcome.rounds.push(Round { answer, tool_responses: responses });
        outcome.is_unfinished = has_called;
        if !has_called {
            break;
        }
    }
    Ok(outcome)
}

fn add(conversation: &mut Vec<Content>, added: &mut Vec<Content>, content: Content) {
    conversation.push(content.clone());
    added.push(content);
}

async fn one_round(
    setup: &Setup<'_>,
    round: usize,
    conversation: &[Content],
    watch: &mut (dyn Watch + std::marker::Send),
) -> Result<Finished, AskError> {
    let request = Request {
        contents: conversation.to_vec(),
        tools: setup.tools.map(Toolbox::offers).unwrap_or_default(),
        stream: true,
        ..Request::default()
    };
    let mut turn = Turn::begin(&request, setup.target, setup.settings);
    watch.outgoing(round, turn.outgoing());
    let send = prepare(setup, turn.outgoing())?;
    let policy = RetryPolicy::default();
    let mut on_retry = |retry: &Retry<'_>| watch.retry(retry);
    let mut response = setup.transport.send_with_retry(&send, &policy, &mut on_retry).await?;
    turn.head(response.status.as_u16());
    let mut cut = None;
    let mut sink = |event: Event<'_>| watch.event(round, event);
    while let Some(chunk) = response.body.next().await {
        match chunk {
            Ok(bytes) => turn.push(&bytes, &mut sink),
            Err(error) => {
                cut = Some(error.to_string());
                break;
            }
        }
    }
    Ok(turn.end(cut.as_deref(), &mut sink))
}

fn prepare(setup: &Setup<'_>, outgoing: &Outgoing) -> Result<Send, AskError> {
    let mut send = Send::post(&outgoing.url, outgoing.body.clone())?;
    let json = [("content-type".to_owned(), "application/json".to_owned())];
    for (name, value) in outgoing.headers.iter().chain(&json) {
        let bad = || AskError::Header(name.clone());
        let name = http::HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
        let value = http::HeaderValue::try_from(value.as_str()).map_err(|_| bad())?;
        send.headers.insert(name, value);
    }
    send.auth = setup.auth.clone();
    Ok(send)
}

/// Runs the tools that an answer calls; without tools of ours a call is for whoever reads the output.
fn call_tools(
    tools: Option<&Toolbox>,
    content: &Content,
    round: usize,
    watch: &mut (dyn Watch + std::marker::Send),
) -> Vec<ToolResponse> {
    let Some(tools) = tools else { return Vec::new() };
    let mut responses = Vec::new();
    for call in content.tool_calls() {
        let response = tools.call(call);
        watch.tool_response(round, &response);
        responses.push(response);
    }
    responses
}

fn broken_off(answer: &Answer) -> Option<Failure> {
    if answer.is_complete() {
        return None;
    }
    let problem = answer.problems.last()?;
    Some(Failure {
        status: 200,
        message: format!("the answer broke off: {}", problem.message),
        remedy: Some("what came is kept and marked partial".to_owned()),
    })
}
