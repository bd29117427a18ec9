//! Takes the thoughts between tags out of a text.
//!
//! `cargo run --example split_tags`

use thinkthrough::text::{SplitOptions, TagSpec, split};

fn main() -> Result<(), &'static str> {
    let family = TagSpec::named("reasoning").ok_or("no such family")?;
    let text = "<REASONING>\nStep 1: fetch the balance.\n</REASONING>\nIt grew by 12.";
    let split = split(text, &SplitOptions::new(family));
    assert_eq!(
        split.to_json(),
        r#"{"visible":"It grew by 12.","reasoning":{"text":"Step 1: fetch the balance.","tokensEst":7}}"#
    );
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(str::to_owned), Ok(()));
}
