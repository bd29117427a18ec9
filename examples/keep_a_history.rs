//! Writes a message as a line of a history file, and reads it back.
//!
//! `cargo run --example keep_a_history`

use thinkthrough::content::{Block, Content, Speaker, Thinking, read_content, write_content};
use thinkthrough::json::{Doc, Raw};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let thought =
        Thinking { signature: Some("EqQB...".to_owned()), ..Thinking::new("", "thinking") };
    let content = Content::new(Speaker::Ai, vec![Block::Thinking(thought), Block::text("Done.")]);
    let line = Raw::build(|w| write_content(w, &content));
    let read = read_content(Doc::parse_str(line.as_str())?.root())?;
    assert_eq!(read, content, "a thought without text but with a signature is real");
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(|error| error.to_string()), Ok(()));
}
