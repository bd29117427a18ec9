//! A tool loop with any model, what it thought, and a switch of models in the middle of the conversation.
//!
//! `cargo run --example tool_loop`

use std::error::Error;
use std::io::{Write, stdout};
use thinkthrough_conformance::{SimRequest, Simulator};
use thinkthrough_core::content::{Block, Content, Speaker, ToolCall, ToolResponse};
use thinkthrough_core::event::Event;
use thinkthrough_core::exchange::{Ended, Turn};
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::{Request, Tool};
use thinkthrough_core::settings::Resolved;
use thinkthrough_json::{Extra, Raw};

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
            conversation.extend(calls.into_iter().map(run));
        }
    }
    let last = conversation.last().ok_or("somebody answered")?;
    writeln!(out, "{}", last.visible_text())?;
    Ok(())
}

/// Asks a model. What of the conversation's thoughts it may, must or must not be sent is the engine's business, and so is a
/// refusal that is about them: then the same question goes out once more.
fn ask(conversation: &[Content], target: &Target) -> Result<Content, Box<dyn Error>> {
    let tools = ["alpha", "beta"].map(|name| Tool::Function {
        name: name.to_owned(),
        description: None,
        parameters: None,
        extra: Extra::default(),
    });
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
fn run(call: ToolCall) -> Content {
    let result = ToolResponse {
        call_id: call.id,
        result: Raw::string(&format!("{} is fine", call.name)).into(),
        name: Some(call.name),
        is_error: false,
        extra: Extra::default(),
    };
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
