//! Reads a recorded stream of any wire and prints its thoughts and its answer.
//!
//! `cargo run --example read_a_stream`

use thinkthrough::read::{Event, Fold, Form, Reader, Tee};
use thinkthrough::wire::{self, Dialect};

const STREAM: &str = r#"data: {"choices":[{"delta":{"reasoning_content":"Two and two "}}]}

data: {"choices":[{"delta":{"reasoning_content":"are four."}}]}

data: {"choices":[{"delta":{"content":"4"},"finish_reason":"stop"}]}

data: [DONE]

"#;

fn main() -> Result<(), &'static str> {
    let wire = wire::find("chat-completions").ok_or("no such wire")?;
    let mut reader = Reader::new(wire, &Dialect::PLAIN, Form::Auto);
    let mut fold = Fold::new();
    let mut live = String::new();
    let mut watch = |event: Event<'_>| {
        if let Event::ThinkingDelta { delta, .. } = event {
            live.push_str(delta);
        }
    };
    for piece in STREAM.as_bytes().chunks(7) {
        reader.push(piece, &mut Tee(&mut fold, &mut watch));
    }
    reader.end(&mut Tee(&mut fold, &mut watch));
    let answer = fold.finish();
    assert_eq!(live, "Two and two are four.");
    assert_eq!(answer.text(), "4");
    assert!(answer.is_complete());
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(str::to_owned), Ok(()));
}
