//! An answer that was told in words stays told when its turn is over.

use thinkthrough_core::content::{
    Block, Content, Origin, Speaker, Thinking, ToolCall, ToolResponse,
};
use thinkthrough_core::exchange::build;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::{Layer, Partial, Source, resolve};
use thinkthrough_json::{Extra, Raw};

fn said(origin: &Origin, thought: Thinking, block: Block) -> Content {
    Content {
        origin: Some(origin.clone()),
        ..Content::new(Speaker::Ai, vec![Block::Thinking(thought), block])
    }
}

fn called(origin: &Origin, thought: Thinking, id: &str) -> [Content; 2] {
    let call = said(origin, thought, Block::ToolCall(ToolCall::new(Some(id), "look")));
    let response = ToolResponse {
        call_id: Some(id.to_owned()),
        name: None,
        result: Raw::string("it").into(),
        is_error: false,
        extra: Extra::default(),
    };
    [call, Content::new(Speaker::Tool, vec![Block::ToolResponse(response)])]
}

#[test]
fn an_answer_of_another_model_is_told_in_the_same_words_when_its_turn_is_over() {
    let target = Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap();
    let (own, others) = (target.origin(None), {
        Target::built_in("deepseek", None, "deepseek-v4-pro").unwrap().origin(None)
    });
    let sealed = || Thinking {
        signature: Some("c2VhbGVkIGJ5IHRoaXMgb25l".to_owned()),
        ..Thinking::new("mine", "thinking")
    };
    let mut values = Partial::default();
    values.set("reasoning.enabled", "true").unwrap();
    let settings = resolve(&[Layer { source: Source::Session, values }]);
    let sent = |contents: &[Content]| {
        let contents = contents.to_vec();
        build(&Request { model: "m".into(), contents, ..Request::default() }, &target, &settings)
            .body
    };
    let mut contents = vec![Content::text(Speaker::Human, "Look.")];
    contents.extend(called(&others, Thinking::new("theirs", "reasoning_content"), "call_1"));
    contents.extend(called(&own, sealed(), "toolu_2"));
    let before = sent(&contents);
    assert!(before.contains("You used the tool `look`") && !before.contains("theirs"), "{before}");
    contents.push(said(&own, sealed(), Block::text("Done.")));
    contents.push(Content::text(Speaker::Human, "And now?"));
    let messages = |body: &str| {
        let value: serde_json::Value = serde_json::from_str(body).unwrap();
        value["messages"].as_array().unwrap().clone()
    };
    let (before, after) = (messages(&before), messages(&sent(&contents)));
    assert_eq!(after[..before.len()], before);
}
