//! The scanner between a decoder and the fold.

use super::{Random, named};
use crate::answer::Answer;
use crate::content::{Block, Parameters, Text, Thinking, ToolCall};
use crate::event::{Event, Fold, Sink};
use crate::json::{Doc, Extra, Raw};
use crate::problem::{Problem, ProblemCode};
use crate::tags::{Options, Start, TagFilter};
use crate::wire::{self, Dialect};

fn call() -> ToolCall {
    ToolCall {
        id: Some("c1".to_owned()),
        name: "get".to_owned(),
        parameters: Parameters::Json(Raw::parse("{}").unwrap()),
        signature: None,
        extra: Extra::default(),
    }
}

fn thinking(thought: &str) -> Block {
    Block::Thinking(Thinking::new(thought, "think_tags"))
}

fn partial(thought: &str) -> Block {
    Block::Thinking(Thinking { partial: true, ..Thinking::new(thought, "think_tags") })
}

/// Runs a script of events through a filter and folds the output. Blocks must be numbered without holes and begun
/// before they go on.
fn run(family: &str, options: Options, script: impl FnOnce(&mut dyn Sink)) -> Answer {
    let mut filter = TagFilter::new(&named(family), options);
    let mut fold = Fold::new();
    let mut begun = 0;
    let mut checked = |event: Event<'_>| {
        match event {
            Event::TextStart { block }
            | Event::ThinkingStart { block, .. }
            | Event::ToolCallStart { block, .. }
            | Event::Whole { block, .. } => {
                assert_eq!(block, begun, "{event:?}");
                begun += 1;
            }
            Event::TextDelta { block, .. }
            | Event::TextEnd { block, .. }
            | Event::ThinkingDelta { block, .. }
            | Event::ThinkingEnd { block, .. } => assert!(block < begun, "{event:?}"),
            _ => {}
        }
        fold.event(event);
    };
    script(&mut |event: Event<'_>| filter.event(event, &mut checked));
    filter.end(&mut checked);
    fold.finish()
}

fn say(sink: &mut dyn Sink, block: usize, deltas: &[&str]) {
    sink.event(Event::TextStart { block });
    for delta in deltas {
        sink.event(Event::TextDelta { block, delta });
    }
    sink.event(Event::TextEnd { block, text: &Text::default(), whole: None });
}

fn finish(sink: &mut dyn Sink, reason: &str) {
    sink.event(Event::Finish { finish_reason: Some(reason), model: None });
}

#[test]
fn thoughts_in_the_text_become_blocks_in_their_place() {
    let answer = run("think", Options::default(), |sink| {
        say(sink, 0, &["one<thi", "nk>a</think>two", "<think>b</think>three"]);
        sink.event(Event::ToolCallStart { block: 1, call: &ToolCall::new(Some("c1"), "get") });
        sink.event(Event::ToolCallDelta { block: 1, delta: "{}" });
        sink.event(Event::ToolCallEnd { block: 1, call: &call() });
        finish(sink, "tool_calls");
    });
    let expected = [
        Block::text("one"),
        thinking("a"),
        Block::text("two"),
        thinking("b"),
        Block::text("three"),
        Block::ToolCall(call()),
    ];
    assert_eq!(answer.blocks, expected);
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_calls"));
}

#[test]
fn what_is_held_back_is_said_before_the_next_block_begins() {
    // It is unknown whether the first text is a thought until the tool call begins; the text is not even ended.
    let answer = run("think", Options::default(), |sink| {
        sink.event(Event::TextStart { block: 0 });
        sink.event(Event::TextDelta { block: 0, delta: "I look. <thi" });
        sink.event(Event::ToolCallStart { block: 1, call: &ToolCall::new(Some("c1"), "get") });
        sink.event(Event::TextDelta { block: 0, delta: "more" });
        sink.event(Event::ToolCallEnd { block: 1, call: &call() });
        sink.event(Event::TextEnd { block: 0, text: &Text::default(), whole: None });
        finish(sink, "stop");
    });
    assert_eq!(answer.blocks, [Block::text("I look. <thimore"), Block::ToolCall(call())]);
}

#[test]
fn a_provider_that_separates_thoughts_itself_leaves_no_text_inside_one() {
    let answer = run("deepseekr1", Options::default(), |sink| {
        sink.event(Event::ThinkingStart { block: 0, source_field: "reasoning_content" });
        sink.event(Event::ThinkingDelta { block: 0, delta: "own" });
        let end = Thinking::new("", "reasoning_content");
        sink.event(Event::ThinkingEnd { block: 0, thinking: &end, thought: None });
        say(sink, 1, &["text<think>leak</think>end"]);
        finish(sink, "stop");
    });
    let own = Block::Thinking(Thinking::new("own", "reasoning_content"));
    assert_eq!(answer.blocks, [own, Block::text("text"), thinking("leak"), Block::text("end")]);
    let answer = run("deepseekr1", Options::default(), |sink| say(sink, 0, &["a</think>b"]));
    assert_eq!(answer.blocks, [thinking("a"), Block::text("b")]);
}

#[test]
fn a_thought_without_its_end_is_partial_only_if_the_answer_was_cut() {
    let ended = |end: &dyn Fn(&mut dyn Sink)| {
        run("qwen3", Options::default(), |sink| {
            say(sink, 0, &["<think>a</th"]);
            end(sink);
        })
        .blocks
    };
    let cut = Problem::new(ProblemCode::Truncated, "the stream broke off");
    assert_eq!(ended(&|sink| finish(sink, "stop")), [thinking("a</th")]);
    assert_eq!(ended(&|sink| finish(sink, "length")), [partial("a</th")]);
    assert_eq!(ended(&|sink| sink.event(Event::Problem(&cut))), [partial("a</th")]);
    assert_eq!(ended(&|_| {}), [partial("a</th")]);
    // A tool call ends it as a closing tag would.
    let called = ended(&|sink| {
        sink.event(Event::ToolCallStart { block: 1, call: &ToolCall::new(None, "get") });
        sink.event(Event::ToolCallEnd { block: 1, call: &call() });
    });
    assert_eq!(called, [thinking("a</th"), Block::ToolCall(call())]);
}

#[test]
fn a_payload_on_the_text_stays_on_the_last_text() {
    let signed = Text { signature: Some("sig".to_owned()), ..Text::default() };
    let end = |deltas: &[&str]| {
        run("think", Options::default(), |sink| {
            sink.event(Event::TextStart { block: 0 });
            for delta in deltas {
                sink.event(Event::TextDelta { block: 0, delta });
            }
            sink.event(Event::TextEnd { block: 0, text: &signed, whole: None });
        })
        .blocks
    };
    let with = |text: &str| Block::Text(Text { text: text.to_owned(), ..signed.clone() });
    assert_eq!(end(&["x<think>a</think>b"]), [Block::text("x"), thinking("a"), with("b")]);
    assert_eq!(end(&["<think>a</think>"]), [thinking("a"), with("")]);
    assert_eq!(end(&[]), [with("")]);
    assert_eq!(run("think", Options::default(), |sink| say(sink, 0, &[])).blocks, []);
}

#[test]
fn the_wires_last_word_replaces_a_text_without_thoughts() {
    let end = |delta: &str, whole: &str| {
        run("think", Options { start: Start::Text, ..Options::default() }, |sink| {
            sink.event(Event::TextStart { block: 0 });
            sink.event(Event::TextDelta { block: 0, delta });
            let whole = Some(whole);
            sink.event(Event::TextEnd { block: 0, text: &Text::default(), whole });
        })
        .blocks
    };
    assert_eq!(end("ab", "abc"), [Block::text("abc")]);
    assert_eq!(end("<think>a</think>b", "<think>a</think>bc"), [thinking("a"), Block::text("b")]);
    assert_eq!(end("", "<think>a</think>bc"), [thinking("a"), Block::text("bc")]);
}

#[test]
fn where_nobody_said_that_there_are_tags_only_the_first_thing_is_a_thought() {
    let options = Options { start: Start::Leading, ..Options::default() };
    let read = |deltas: &[&str]| run("think", options, |sink| say(sink, 0, deltas)).blocks;
    assert_eq!(read(&["\n<th", "ink>a</think>b"]), [thinking("a"), Block::text("b")]);
    assert_eq!(read(&["<think>a</think>b <think>c"]), [thinking("a"), Block::text("b <think>c")]);
    for text in ["Put <think>a</think> first.", "</think>b", "`<think>` is a tag", "<thing"] {
        assert_eq!(read(&[text]), [Block::text(text)]);
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(read(&letters), [Block::text(text)]);
    }
    // The server separates thoughts by itself.
    let beside = run("think", options, |sink| {
        sink.event(Event::ThinkingStart { block: 0, source_field: "think_tags" });
        sink.event(Event::ThinkingDelta { block: 0, delta: "a" });
        let thinking = Thinking::new("", "think_tags");
        sink.event(Event::ThinkingEnd { block: 0, thinking: &thinking, thought: None });
        say(sink, 1, &["<think>b</think>c"]);
    });
    assert_eq!(beside.blocks, [thinking("a"), Block::text("<think>b</think>c")]);
}

#[test]
fn further_choices_are_messages_of_their_own() {
    let answer = run("think", Options::default(), |sink| {
        sink.event(Event::TextStart { block: 0 });
        let mut other = |event: Event<'_>| sink.event(Event::Choice { index: 1, event: &event });
        say(&mut other, 0, &["<think>b</think>c"]);
        sink.event(Event::TextDelta { block: 0, delta: "<think>a</think>b" });
        sink.event(Event::TextEnd { block: 0, text: &Text::default(), whole: None });
    });
    assert_eq!(answer.blocks, [thinking("a"), Block::text("b")]);
    let second = answer.choices.first().map(|answer| answer.blocks.clone());
    assert_eq!(second, Some(vec![thinking("b"), Block::text("c")]));
}

#[test]
fn joined_families_give_one_thought_and_one_text() {
    let answer = run("extract-reasoning-middleware", Options::default(), |sink| {
        say(sink, 0, &["<think>a</think>x<think>b</think>y"]);
        finish(sink, "stop");
    });
    assert_eq!(answer.blocks, [thinking("a\nb"), Block::text("x\ny")]);
}

#[test]
fn it_sits_behind_any_decoder() {
    let body = r#"{"choices":[{"message":{"role":"assistant","content":"<think>\nadd\n</think>\n\n4"},
        "finish_reason":"stop"}]}"#;
    let doc = Doc::parse_str(body).unwrap();
    let wire = wire::find("chat-completions").unwrap();
    let answer = run("think", Options::default(), |sink| {
        wire.read_response(doc.root(), &Dialect::default(), sink);
    });
    assert_eq!(answer.blocks, [thinking("\nadd\n"), Block::text("\n\n4")]);
}

#[test]
fn any_cut_of_the_deltas_gives_the_same_answer() {
    let text = "a `<think>` b<think>c</think>d\n<think>e `</think>` f</think>\n\ng<think>h";
    let cuts: Vec<usize> = text.char_indices().map(|(at, _)| at).skip(1).collect();
    let answer = |pieces: &[&str]| {
        run("think", Options::default(), |sink| {
            say(sink, 0, pieces);
            finish(sink, "stop");
        })
    };
    let whole = answer(&[text]);
    assert_eq!(whole.blocks.len(), 6);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for _ in 0..200 {
        let pieces = random.pieces(text, &cuts);
        assert_eq!(answer(&pieces), whole, "{pieces:?}");
    }
}
