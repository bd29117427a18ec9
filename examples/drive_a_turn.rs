//! Drives a turn by hand: whoever owns the socket moves the bytes.
//!
//! `cargo run --example drive_a_turn`

use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::event::Event;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::Resolved;
use thinkthrough_core::turn::Turn;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = Target::built_in("moonshotai", Some("chat-completions"), "kimi-k2-thinking")?;
    let contents = vec![Content::text(Speaker::Human, "What is 2 + 2?")];
    let request = Request { contents, stream: true, ..Request::default() };
    let mut turn = Turn::begin(&request, &target, &Resolved::default());
    assert!(turn.outgoing().url.ends_with("/chat/completions"));

    // Here the request would be sent; this is what came back.
    let answer =
        b"data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"Easy.\",\"content\":\"4\"},\
                   \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let mut sink = |_: Event<'_>| {};
    turn.head(200);
    turn.push(answer, &mut sink);
    let finished = turn.end(None, &mut sink);
    let content = finished.content.ok_or("something was said")?;
    assert_eq!(content.visible_text(), "4");
    assert_eq!(content.thoughts().next().ok_or("it thought")?.thought, "Easy.");
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(|error| error.to_string()), Ok(()));
}
