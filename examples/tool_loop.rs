//! A tool loop with any model, what it thought, and a switch of models in the middle of the conversation.
//!
//! `cargo run --example tool_loop`

use std::error::Error;
use std::io::{Write, stdout};
use thinkthrough::content::{Block, Content, Request, Speaker, Tool, ToolCall, ToolResponse};
use thinkthrough::exchange::{Ended, Turn};
use thinkthrough::json::Raw;
use thinkthrough::model::Target;
use thinkthrough::read::Event;
use thinkthrough::settings::Resolved;
use thinkthrough_conformance::{SimRequest, Simulator};

fn main() -> Result<(), Box<dyn Error>> {
    let models = [
        ("deepseek", "deepseek-v4-pro", "http://sim.localhost/deepseek-v4"),
        ("anthropic", "claude-sonnet-4-5", "http://sim.localhost/anthropic-manual"),
        ("moonshotai", "kimi-k3", "http://sim.localhost/kimi-k3"),
    ];
    let (mut conversation, mut out) = (Vec::new(), stdout());
    for (provider, model, address) in models {
        let target =
            Target { base_url: address.into(), ..Target::built_in(provider, None, model)? };
        conversation.push(Content::text(Speaker::Human, "Use alpha and then use beta."));
        loop {
            let answer = ask(&conversation, &target)?;
            for thought in answer.thoughts() {
                writeln!(out, "{model} thought: {}", thought.thought)?;
            }
            let calls: Vec<ToolCall> = answer.tool_calls().cloned().collect();
            conversation.push(answer);
            if calls.is_empty() {
                break;
            }
            conversation.extend(calls.iter().map(run));
        }
    }
    let last = conversation.last().ok_or("somebody answered")?;
    writeln!(out, "{}", last.visible_text())?;
    Ok(())
}

/// Asks a model. The turn decides which thoughts of the conversation the model gets. If the model refuses one, the
/// repaired turn goes out once more.
fn ask(conversation: &[Content], target: &Target) -> Result<Content, Box<dyn Error>> {
    let schema = Raw::parse(r#"{"type":"object","properties":{}}"#)?;
    let tools = ["alpha", "beta"].map(|name| Tool::function(name, "", schema.clone()));
    let contents = conversation.to_vec();
    let request = Request { contents, tools: tools.into(), ..Request::default() };
    let mut turn = Turn::begin(&request, target, &Resolved::default());
    loop {
        let (status, body) = send(&turn)?;
        turn.head(status);
        turn.push(&body, &mut |_: Event<'_>| {});
        match turn.end(None, &mut |_: Event<'_>| {}) {
            Ended::Again(repaired) => turn = *repaired,
            Ended::Done(finished) => {
                let refused = finished.failure.map(|failure| failure.message);
                return Ok(finished.content.ok_or(refused.unwrap_or_default())?);
            }
        }
    }
}

/// Runs a tool.
fn run(call: &ToolCall) -> Content {
    let result = ToolResponse::of(call, format!("{} is fine", call.name).as_str());
    Content::new(Speaker::Tool, vec![Block::ToolResponse(result)])
}

/// Sends a request. Here strict simulators answer; yours goes to `outgoing.url` with a credential.
fn send(turn: &Turn<'_>) -> Result<(u16, Vec<u8>), Box<dyn Error>> {
    let outgoing = turn.outgoing();
    let path = outgoing.url.splitn(4, '/').nth(3).ok_or("no path")?;
    let (id, _) = path.split_once('/').ok_or("no simulator")?;
    let simulator = Simulator::find(id).ok_or("no such simulator")?;
    let key = ("authorization".to_owned(), "Bearer simulated".to_owned());
    let request = SimRequest {
        method: "POST".into(),
        path: format!("/{path}"),
        headers: outgoing.headers.iter().cloned().chain([key]).collect(),
        body: outgoing.body.clone().into_bytes(),
    };
    let said = simulator.handle(&request);
    Ok((said.status, said.bytes().to_vec()))
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(|error| error.to_string()), Ok(()));
}
