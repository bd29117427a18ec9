//! Reads a request of one wire and writes it for another.
//!
//! `cargo run --example convert_a_request`

use thinkthrough::json::Doc;
use thinkthrough::wire::{self, Dialect};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body = r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},
        {"role":"user","content":"Hello"}],"max_tokens":100}"#;
    let from = wire::find("chat-completions").ok_or("no such wire")?;
    let to = wire::find("messages").ok_or("no such wire")?;
    let request = from.read_request(Doc::parse(body.as_bytes())?.root())?;
    let written = to.write_request(&request, &Dialect::PLAIN);
    let written_doc = Doc::parse_str(&written.body)?;
    assert_eq!(written_doc.root().u64("max_tokens"), Some(100));
    assert!(written.body.contains("Be brief."));
    assert!(written.untranslated.is_empty());
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(|error| error.to_string()), Ok(()));
}
