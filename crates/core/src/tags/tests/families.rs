//! One line per fact about a family's format that the tag tables do not show.

use super::{check, cut, feed_all_ways, named, text, thought};
use crate::tags::{End, Options, Start, TagSpec};

#[test]
fn every_family_of_the_contract_is_there() {
    let contract = "reasoning think thinking thought cohere_command deepseekr1 deepseekv3 ernie45 \
        gemma4 glm4_moe granite harmony holo2 hunyuan hy_v3 ifm inkling apertus muse kimi_vl kimi_k2 \
        kimi_k3 minimax_m2 minimax_m2_append minimax_m3 mistral nemotron_v3 olmo3 open_thoughts qwen3 \
        seed_oss step3p5 extract-reasoning-middleware inline-split";
    let names: Vec<&str> = TagSpec::names().collect();
    assert_eq!(names, contract.split_whitespace().collect::<Vec<_>>());
}

#[test]
fn adr_tags_think_with_and_without_its_opening_tag() {
    for (family, tag) in [("think", "think"), ("thinking", "thinking"), ("thought", "Thought")] {
        check(family, &format!("<{tag}>a</{tag}>b"), &[thought("a"), text("b")]);
        check(family, &format!("a\n</{tag}>\n\nb"), &[thought("a\n"), text("\n\nb")]);
        check(family, &format!("</{tag}>b"), &[text("b")]);
        check(family, &format!("<{tag}>a"), &[thought("a")]);
    }
    check("think", "just text", &[text("just text")]);
    check("think", "a<b and `c`", &[text("a<b and `c`")]);
    check("think", "<thinking>a</thinking>b", &[text("<thinking>a</thinking>b")]);
}

#[test]
fn thoughts_between_texts_stay_where_they_are() {
    check(
        "think",
        "one<think>a</think>two<think>b</think>three",
        &[text("one"), thought("a"), text("two"), thought("b"), text("three")],
    );
}

#[test]
fn an_empty_thought_is_none() {
    check("qwen3", "<think>\n\n</think>\n\nHello", &[text("\n\nHello")]);
    check("think", "<think></think>Hello", &[text("Hello")]);
    check("hunyuan", "<think>\n\n</think>\n<answer>\nHi\n</answer>", &[text("Hi")]);
    // The tables of these two keep white space.
    check("olmo3", "<think>\n</think>Hi", &[thought("\n"), text("Hi")]);
    check("ifm", " \n</ifm|think>Hi", &[thought(" \n"), text("Hi")]);
}

#[test]
fn a_tool_call_ends_an_open_thought() {
    let call = "<tool_call>\n{}\n</tool_call>";
    for family in ["qwen3", "glm4_moe", "step3p5", "nemotron_v3"] {
        check(family, &format!("I look.\n{call}"), &[thought("I look.\n"), text(call)]);
        check(
            family,
            &format!("<think>a{call}</think>b"),
            &[thought("a"), text(&format!("{call}b"))],
        );
    }
    check(
        "kimi_k2",
        "a<|tool_calls_section_begin|>x",
        &[thought("a"), text("<|tool_calls_section_begin|>x")],
    );
    // A thought that only speaks of a call ends too early, but its end marker goes.
    check("qwen3", "the <tool_call> way</think>b", &[thought("the "), text("<tool_call> wayb")]);
    // If it is unknown whether a thought came first, a call does not decide it.
    check("hy_v3", &format!("I look.\n{call}"), &[text(&format!("I look.\n{call}"))]);
    check("ifm", "plan<ifm|tool_calls>x", &[thought("plan"), text("<ifm|tool_calls>x")]);
    check("ifm", "<ifm|think_fast>a</ifm|think_fast>b", &[thought("a"), text("b")]);
    check("ifm", "plain", &[text("plain")]);
}

#[test]
fn a_repeated_opening_tag_is_dropped_at_the_start_only() {
    check("deepseekr1", "<think><think>a</think>b", &[thought("a"), text("b")]);
    check("qwen3", "\n<think>\na</think>b", &[thought("\na"), text("b")]);
    check("qwen3", "a <think> b</think>c", &[thought("a <think> b"), text("c")]);
}

#[test]
fn cohere_drops_the_answer_wrapper() {
    check(
        "cohere_command",
        "<|START_THINKING|>a <|END_THINKING|>\n<|START_RESPONSE|>b<|END_RESPONSE|>",
        &[thought("a"), text("b")],
    );
    check(
        "cohere_command",
        "a<|END_THINKING|><|START_TEXT|>b<|END_TEXT|>",
        &[thought("a"), text("b")],
    );
    check("cohere_command", "<|START_TEXT|>b<|END_TEXT|>", &[text("b")]);
}

#[test]
fn ernie_drops_the_answer_wrapper() {
    check("ernie45", "a\n</think>\n\n<response>\nb\n</response>\n", &[thought("a\n"), text("b")]);
    check("ernie45", "a</think>\nb </response>", &[thought("a"), text("\nb </response>")]);
}

#[test]
fn gemma_drops_the_channel_name() {
    check("gemma4", "<|channel>thought\na\nb<channel|>c", &[thought("a\nb"), text("c")]);
    check("gemma4", "<|channel>thought\n<channel|>", &[]);
    check(
        "gemma4",
        "<|channel>thousand reasons<channel|>c",
        &[thought("thousand reasons"), text("c")],
    );
    check("gemma4", "a<channel|>b", &[thought("a"), text("b")]);
    check("gemma4", "<|tool_call>", &[text("<|tool_call>")]);
}

#[test]
fn granite_has_prose_for_markers() {
    check(
        "granite",
        "Here's my thought process:\na\n\nHere's my response:\nb",
        &[thought("\na\n\n"), text("\nb")],
    );
    check("granite", "Here is my thought failure", &[text("Here is my thought failure")]);
    check(
        "granite",
        "So. Here is my thought process: x",
        &[text("So. Here is my thought process: x")],
    );
    check("granite", "Here is my response: x", &[text("Here is my response: x")]);
}

#[test]
fn harmony_channels() {
    check(
        "harmony",
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>",
        &[thought("a"), text("b")],
    );
    check(
        "harmony",
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>\
         I look.<|end|><|start|>assistant<|channel|>analysis<|message|>c<|end|>",
        &[thought("a"), text("I look."), thought("c")],
    );
    check("harmony", "<|channel|>final <|constrain|>JSON <|message|>{}<|return|>", &[text("{}")]);
    let call = "<|channel|>commentary to=functions.get <|constrain|>json<|message|>{}<|call|>";
    check(
        "harmony",
        &format!("<|channel|>analysis<|message|>a<|end|><|start|>assistant{call}"),
        &[thought("a"), text(&format!("<|start|>assistant{call}"))],
    );
    check("harmony", call, &[text(call)]);
    check("harmony", "plain", &[text("plain")]);
    // A lost end marker.
    check(
        "harmony",
        "<|channel|>analysis<|message|>a<|channel|>final<|message|>b",
        &[thought("a"), text("b")],
    );
}

#[test]
fn harmony_without_its_special_tokens() {
    check("harmony", "analysisWe add.assistantfinalTwo.", &[thought("We add."), text("Two.")]);
    check(
        "harmony",
        "analysisI look.assistantcommentary to=functions.get json{}",
        &[thought("I look."), text("assistantcommentary to=functions.get json{}")],
    );
    check("harmony", "analysis of it", &[text("analysis of it")]);
    check("harmony", "In the analysisWe", &[text("In the analysisWe")]);
}

#[test]
fn inkling_blocks() {
    check(
        "inkling",
        "<|message_model|><|content_thinking|>a<|end_message|><|message_model|><|content_text|>b\
         <|end_message|><|content_model_end_sampling|>",
        &[thought("a"), text("b")],
    );
    let call = "<|message_model|>get<|content_invoke_tool_json|>{}<|end_message|>";
    check(
        "inkling",
        &format!("<|content_thinking|>a<|end_message|>{call}"),
        &[thought("a"), text(call)],
    );
}

#[test]
fn apertus_calls_tools_inside_its_thought() {
    check(
        "apertus",
        "<|inner_prefix|>a<|tools_prefix|>[{}]<|tools_suffix|>b<|inner_suffix|>c",
        &[thought("a"), text("<|tools_prefix|>[{}]<|tools_suffix|>"), thought("b"), text("c")],
    );
    let call = "<|tools_prefix|>[{}]<|tools_suffix|>";
    check("apertus", call, &[text(call)]);
    let foreign = "<think>no</think>plain";
    check("apertus", foreign, &[text(foreign)]);
}

#[test]
fn muse_names_a_recipient() {
    check(
        "muse",
        " to=self<|message|>a<|eom|><|start|>assistant to=user<|message|>b<|eot|>",
        &[thought("a"), text("b")],
    );
    check("muse", "<|message|>b<|eot|>", &[text("b")]);
    check(
        "muse",
        " to=self<|message|>a<|eom|><|start|>assistant to=get<|message|>{}<|eom|>",
        &[thought("a"), text("<|start|>assistant to=get<|message|>{}<|eom|>")],
    );
}

#[test]
fn kimi_markers() {
    check("kimi_vl", "◁think▷a ◁b◁/think▷c", &[thought("a ◁b"), text("c")]);
    check("kimi_vl", "“quoted” ◁", &[text("“quoted” ◁")]);
    check(
        "kimi_k3",
        "a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>response<|sep|><|end_of_msg|>",
        &[thought("a"), text("b")],
    );
    check("kimi_k3", "a<|open|>response<|sep|>b", &[thought("a"), text("b")]);
    let tools = "<|open|>tools<|sep|>x";
    check("kimi_k3", &format!("a{tools}"), &[thought("a"), text(tools)]);
}

#[test]
fn solutions_and_seeds() {
    check(
        "open_thoughts",
        "<|begin_of_thought|>\n\na\n\n<|end_of_thought|>\n\n<|begin_of_solution|>b<|end_of_solution|>",
        &[thought("\n\na\n\n"), text("\n\nb")],
    );
    check("seed_oss", "a</seed:think>b", &[thought("a"), text("b")]);
    check("seed_oss", "<seed:think>a</seed:think>b", &[thought("a"), text("b")]);
}

#[test]
fn what_the_request_says_wins_over_the_family() {
    let told = |start| Options { start, ..Options::default() };
    let feed = |family, start, input| feed_all_ways(&named(family), told(start), input, End::Clean);
    assert_eq!(feed("minimax_m3", Start::Thought, "a</mm:think>b"), [thought("a"), text("b")]);
    assert_eq!(feed("qwen3", Start::Text, "Hello"), [text("Hello")]);
    assert_eq!(feed("holo2", Start::Thought, "</think>b"), [text("b")]);
    assert_eq!(feed("think", Start::Text, "a</think>b"), [text("a</think>b")]);
}

#[test]
fn a_cut_thought_has_no_end() {
    let at_end = |end| feed_all_ways(&named("qwen3"), Options::default(), "<think>a</thi", end);
    assert_eq!(at_end(End::Clean), [thought("a</thi")]);
    assert_eq!(at_end(End::Cut), [cut("a</thi")]);
}

#[test]
fn generic_splitters_differ_in_what_they_leave() {
    check("inline-split", "foo <think>bar", &[text("foo bar")]);
    check("extract-reasoning-middleware", "foo <think>bar", &[text("foo <think>bar")]);
    let custom = TagSpec::custom("<<", ">>").unwrap();
    let parts = feed_all_ways(&custom, Options::default(), "a <<b>> c <<d", End::Clean);
    assert_eq!(parts, [text("a "), thought("b"), text(" c "), thought("d")]);
    assert!(TagSpec::custom("", "x").is_err() && TagSpec::custom("x", "").is_err());
}
