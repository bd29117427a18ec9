//! Builds a request for a strict model and shows why each thought is in it.
//!
//! `cargo run --example explain_a_request`

use thinkthrough::content::{Block, Content, Request, Speaker, Thinking};
use thinkthrough::exchange::{Action, Why, build};
use thinkthrough::model::Target;
use thinkthrough::settings::Resolved;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = Target::built_in("deepseek", Some("chat-completions"), "deepseek-r1")?;
    let thought = Thinking::new("The user greets me.", "reasoning_content");
    let contents = vec![
        Content::text(Speaker::Human, "Hello"),
        Content::new(Speaker::Ai, vec![Block::Thinking(thought), Block::text("Hi!")]),
        Content::text(Speaker::Human, "How are you?"),
    ];
    let request = Request { contents, ..Request::default() };
    let outgoing = build(&request, &target, &Resolved::default());
    let decision = outgoing.decisions.first().ok_or("one thought, one decision")?;
    assert_eq!(decision.action, Action::Drop(Why::Forbidden), "{}", decision.reason);
    assert!(!outgoing.body.contains("greets"), "R1 refuses its own thoughts");
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(|error| error.to_string()), Ok(()));
}
