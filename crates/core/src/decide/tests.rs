use super::*;
use crate::content::{Block, Origin, Other, Speaker, Thinking, ToolCall};
use crate::contract::Return;
use crate::decision::{Action, Why};
use crate::json::{Extra, Raw};
use crate::provider::{self, Auth, Endpoint, Provider};
use crate::settings::{Layer, Partial, Source, resolve};

fn target(contract: Contract) -> Target {
    let endpoint = Endpoint { base_url: "http://here/v1", auth: Auth::None, ..Endpoint::CHAT };
    let provider = Provider {
        id: "here",
        keys: &[],
        address: None,
        default_model: None,
        local_port: None,
        endpoints: &[],
    };
    Target::of(&provider, &endpoint, "m").with_contract(contract, "test")
}

fn settings(pairs: &[(&str, &str)]) -> Resolved {
    let mut values = Partial::default();
    for (key, value) in pairs {
        values.set(key, value).unwrap();
    }
    resolve(&[Layer { source: Source::Session, values }])
}

fn think(text: &str) -> Block {
    Block::Thinking(Thinking::new(text, "reasoning_content"))
}

fn call(id: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: Some(id.into()),
        name: "f".into(),
        parameters: crate::content::Parameters::default(),
        signature: None,
        extra: Extra::default(),
    })
}

fn ai(blocks: Vec<Block>) -> Content {
    let origin = target(Contract::NONE).origin(None);
    Content { origin: Some(origin), ..Content::new(Speaker::Ai, blocks) }
}

/// The same, for good.
fn three() -> &'static [Content] {
    three_turns().leak()
}

/// Three turns: T1 with a tool call, T2 plain, T3 plain.
fn three_turns() -> Vec<Content> {
    let ask = |text: &str| Content::text(Speaker::Human, text);
    vec![
        ask("1"),
        ai(vec![think("T1"), call("c1")]),
        Content::new(Speaker::Tool, vec![]),
        ask("2"),
        ai(vec![think("T2"), Block::text("R2")]),
        ask("3"),
        ai(vec![think("T3"), Block::text("R3")]),
        ask("4"),
    ]
}

/// A conversation of our own, as it goes out.
fn gone_out(contents: &[Content], target: &Target, settings: &Resolved) -> Applied<'static> {
    let request = Request { contents: contents.to_vec(), ..Request::default() };
    let applied = ours(&request, target, settings, &|_| false).applied;
    Applied { contents: Cow::Owned(said(applied.contents).into_owned()), ..applied }
}

fn sent(contract: Contract, pairs: &[(&str, &str)]) -> Vec<String> {
    let applied = gone_out(three(), &target(contract), &settings(pairs));
    applied.contents.iter().flat_map(Content::thoughts).map(|t| t.thought.clone()).collect()
}

const INCLUDE: &str = "reasoning.includeInContext";
const STRIP: &str = "reasoning.stripFromContext";

#[test]
fn br_001_nothing_goes_back_where_nothing_is_known() {
    assert!(sent(Contract::NONE, &[]).is_empty());
}

#[test]
fn req_think_004_5_br_005_strip_comes_before_include_all_six_cells() {
    for (strip, include, expected) in [
        ("none", "true", vec!["T1", "T2", "T3"]),
        ("allButLast", "true", vec!["T3"]),
        ("all", "true", vec![]),
        ("none", "false", vec![]),
        ("allButLast", "false", vec![]),
        ("all", "false", vec![]),
    ] {
        let sent = sent(Contract::NONE, &[(STRIP, strip), (INCLUDE, include)]);
        assert_eq!(sent, expected, "strip {strip}, include {include}");
    }
}

#[test]
fn req_think_004_3_auto_sends_what_the_contract_needs() {
    let plain = |returns| Contract::plain(returns, "reasoning_content");
    assert_eq!(sent(plain(Return::All), &[]), ["T1", "T2", "T3"]);
    assert_eq!(sent(plain(Return::ToolCalls), &[]), ["T1"]);
    assert!(sent(plain(Return::CurrentTurn), &[]).is_empty());
    assert!(sent(plain(Return::Never), &[]).is_empty());
    // A thought that went back in the loop of its turn goes back later, too, so that the provider's cache holds.
    let ask = |text: &str| Content::text(Speaker::Human, text);
    let looped = [
        ask("1"),
        ai(vec![think("T1"), call("c1")]),
        Content::new(Speaker::Tool, vec![]),
        ai(vec![think("T2"), Block::text("R2")]),
        ask("2"),
    ];
    let goes = |contract| {
        let applied = gone_out(&looped, &target(contract), &settings(&[]));
        let thoughts = applied.contents.iter().flat_map(Content::thoughts);
        thoughts.map(|it| it.thought.clone()).collect::<Vec<_>>()
    };
    assert_eq!(goes(plain(Return::CurrentTurn)), ["T1"]);
    let older = crate::contract::Older::Forbidden;
    assert!(goes(Contract { older, ..plain(Return::CurrentTurn) }).is_empty());
}

#[test]
fn req_think_004_4_an_explicit_false_wins_over_the_contract_with_one_warning() {
    let contract = Contract::plain(Return::All, "reasoning_content").required();
    assert!(sent(contract, &[(INCLUDE, "false")]).is_empty());
    let applied = gone_out(three(), &target(contract), &settings(&[(INCLUDE, "false")]));
    assert_eq!(applied.warnings.len(), 1, "{:?}", applied.warnings);
}

#[test]
fn a_contract_adds_back_what_was_stripped_and_says_so() {
    let contract = Contract::plain(Return::ToolCalls, "reasoning_content").required();
    assert_eq!(sent(contract, &[(STRIP, "all")]), ["T1"]);
    let applied = gone_out(three(), &target(contract), &settings(&[(STRIP, "all")]));
    assert!(applied.decisions.iter().any(|decision| decision.action == Action::Add));
    assert_eq!(applied.warnings.len(), 1);
}

#[test]
fn br_006_disabled_withholds_unless_the_contract_demands_it_even_then() {
    let off = [("reasoning.enabled", "false")];
    let contract = Contract::plain(Return::All, "reasoning_content").required();
    assert!(sent(contract, &off).is_empty());
    assert_eq!(sent(Contract { when_off: true, ..contract }, &off), ["T1", "T2", "T3"]);
}

#[test]
fn br_008_ec_004_the_next_request_follows_the_settings_of_then() {
    assert_eq!(sent(Contract::NONE, &[(INCLUDE, "true")]).len(), 3);
    assert_eq!(sent(Contract::NONE, &[(INCLUDE, "false")]).len(), 0);
    assert_eq!(sent(Contract::NONE, &[(INCLUDE, "true")]).len(), 3);
}

#[test]
fn ec_007_nothing_is_left_of_a_stripped_thought_and_known_empty_ones_get_the_contracts_value() {
    let turns = vec![Content::text(Speaker::Human, "1"), ai(vec![call("c1")])];
    let empty = Contract::plain(Return::ToolCalls, "reasoning_content").required().with_empty("");
    let applied = gone_out(&turns, &target(empty), &settings(&[]));
    let thoughts: Vec<_> = applied.contents.iter().flat_map(Content::thoughts).collect();
    assert_eq!(thoughts.len(), 1, "the target's own answer is known to have had no thought");
    assert_eq!(thoughts[0].thought, "");
    let applied = gone_out(&turns, &target(Contract::NONE), &settings(&[]));
    assert_eq!(applied.contents.iter().flat_map(Content::thoughts).count(), 0);
    let mut foreign = turns.clone();
    foreign[1].origin = None;
    let applied = gone_out(&foreign, &target(empty), &settings(&[]));
    assert_eq!(
        applied.contents.iter().flat_map(Content::thoughts).count(),
        0,
        "no filler for a miss"
    );
}

#[test]
fn foreign_thoughts_are_withheld_and_never_become_text() {
    let mut turns = three_turns();
    turns[1].origin = Some(Origin { provider: "elsewhere".into(), ..Origin::default() });
    let contract = Contract::plain(Return::All, "reasoning_content");
    let applied = gone_out(&turns, &target(contract), &settings(&[]));
    assert_eq!(applied.decisions[0].action, Action::Withhold);
    assert!(applied.contents.iter().all(|content| !content.visible_text().contains("T1")));
}

#[test]
fn bound_thoughts_are_only_left_out_from_the_front() {
    let signed = |text: &str| {
        let thinking = Thinking { signature: Some("s".into()), ..Thinking::new(text, "thinking") };
        Block::Thinking(thinking)
    };
    let mut turns = three_turns();
    turns[1].blocks[0] = signed("T1");
    turns[4].blocks[0] = signed("T2");
    turns[6].blocks[0] = signed("T3");
    let bound = Contract { bound: true, ..Contract::sealed(Return::All) };
    let texts = |turns: &[Content], pairs: &[(&str, &str)]| -> Vec<String> {
        let applied = gone_out(turns, &target(bound), &settings(pairs));
        applied.contents.iter().flat_map(Content::thoughts).map(|t| t.thought.clone()).collect()
    };
    assert_eq!(texts(&turns, &[]), ["T1", "T2", "T3"]);
    assert_eq!(texts(&turns, &[(STRIP, "allButLast")]), ["T3"]);
    turns[4].blocks[0] = think("T2 without a signature");
    assert_eq!(texts(&turns, &[]), ["T3"], "before a gap nothing may stand");
}

#[test]
fn a_signature_on_a_call_is_reasoning_too() {
    let mut turns = three_turns();
    if let Block::ToolCall(call) = &mut turns[1].blocks[1] {
        call.signature = Some("sig".into());
    }
    let contract = Contract { when_off: true, ..Contract::sealed(Return::All) };
    let kept = gone_out(&turns, &target(contract), &settings(&[]));
    assert_eq!(kept.contents[1].tool_calls().next().unwrap().signature.as_deref(), Some("sig"));
    let out = gone_out(&turns, &target(contract), &settings(&[(INCLUDE, "false")]));
    assert_eq!(out.contents[1].tool_calls().next().unwrap().signature, None);
}

#[test]
fn a_signature_on_the_message_is_reasoning_too() {
    let sealed = Contract::sealed(Return::All);
    let signature = |contract, pairs: &[_], change: fn(&mut Content)| {
        let mut turns = three_turns();
        turns[4].signature = Some("sig".into());
        change(&mut turns[4]);
        let applied = gone_out(&turns, &target(contract), &settings(pairs));
        let decided =
            applied.decisions.iter().find(|it| it.message == 4 && it.block == Some(2)).unwrap();
        let said = |content: &&Content| content.visible_text() == "R2";
        (applied.contents.iter().find(said).unwrap().signature.clone(), decided.action)
    };
    let kept = (Some("sig".to_owned()), Action::Keep);
    assert_eq!(signature(sealed, &[], |_| ()), kept);
    assert_eq!(signature(Contract::NONE, &[], |_| ()), (None, Action::Strip));
    assert_eq!(signature(sealed, &[(INCLUDE, "false")], |_| ()), (None, Action::Strip));
    assert_eq!(signature(sealed, &[(STRIP, "all")], |_| ()), (None, Action::Strip));
    let foreign = |content: &mut Content| content.origin = Some(Origin::default());
    assert_eq!(signature(sealed, &[], foreign), (None, Action::Withhold));
    let cut = |content: &mut Content| content.partial = true;
    assert_eq!(signature(sealed, &[], cut), (None, Action::Drop(Why::CutPayload)));
}

#[test]
fn a_signature_on_a_raw_block_is_reasoning_too() {
    let raw = |text: &str| Raw::parse(text).unwrap();
    let block = |text: &str| {
        let kind = "executableCode".to_owned();
        Block::Other(Other::new("generate-content", kind, raw(text)))
    };
    let signed = r#"{"executableCode":{"code":"1"},"thoughtSignature":"sig"}"#;
    let bare = r#"{"executableCode":{"code":"1"}}"#;
    let sent = |pairs: &[_]| {
        let conversation = [ai(vec![block(signed), block(bare)])];
        let contract = Contract::sealed(Return::All);
        let applied = gone_out(&conversation, &target(contract), &settings(pairs));
        assert_eq!(applied.decisions.len(), 1);
        applied.contents[0].blocks.clone()
    };
    assert_eq!(sent(&[]), [block(signed), block(bare)]);
    assert_eq!(sent(&[(INCLUDE, "false")]), [block(bare), block(bare)]);
}

#[test]
fn a_contract_that_is_stated_as_never_forbids() {
    let forbidden = Contract::NONE.stated("https://example.org/rule");
    assert!(sent(forbidden, &[(INCLUDE, "true")]).is_empty());
}

#[test]
fn thoughts_without_a_payload_go_along_where_the_contract_takes_everything() {
    let sealed = Contract::sealed(Return::All);
    assert!(sent(sealed, &[]).is_empty());
    assert_eq!(sent(sealed.with_unsealed(), &[]), ["T1", "T2", "T3"]);
}

#[test]
fn a_payload_without_text_goes_to_an_unknown_endpoint_if_the_user_says_so() {
    let opaque = Thinking { encrypted_content: Some("e".into()), ..Thinking::default() };
    let conversation = [ai(vec![Block::Thinking(opaque)])];
    let count = |contract, pairs: &[_]| -> usize {
        let applied = gone_out(&conversation, &target(contract), &settings(pairs));
        applied.contents.iter().flat_map(Content::thoughts).count()
    };
    assert_eq!(count(Contract::NONE, &[]), 0);
    assert_eq!(count(Contract::NONE, &[(INCLUDE, "true")]), 1);
    let text_only = Contract::plain(Return::All, "reasoning_content");
    assert_eq!(count(text_only, &[(INCLUDE, "true")]), 0);
}

#[test]
fn deciding_twice_gives_the_same() {
    let contract = Contract::plain(Return::All, "reasoning_content").required().with_empty("");
    let once = gone_out(three(), &target(contract), &settings(&[]));
    assert_eq!(once, gone_out(three(), &target(contract), &settings(&[])));
    assert!(provider::ALL.len() > 20);
}

#[test]
fn what_is_left_of_an_answer_that_broke_off_can_be_sent() {
    let cut = Thinking { partial: true, ..Thinking::new("half", "reasoning_content") };
    let mut turns = vec![Content::text(Speaker::Human, "1"), ai(vec![Block::Thinking(cut)])];
    turns[1].partial = true;
    turns.push(Content::text(Speaker::Human, "again"));
    let contract = Contract::plain(Return::All, "reasoning_content").required();
    let applied = gone_out(&turns, &target(contract), &settings(&[]));
    assert_eq!(applied.contents.len(), 2, "nothing is left of the answer: {:?}", applied.contents);
    let whole = Block::Thinking(Thinking::new("whole", "reasoning_content"));
    turns[1].blocks = vec![whole, Block::text(" "), call("never-run")];
    let applied = gone_out(&turns, &target(contract), &settings(&[]));
    assert_eq!(applied.contents.len(), 2, "only a thought is left: {:?}", applied.contents);
    turns[1].blocks = vec![Block::text("Half an ans"), call("never-run")];
    let applied = gone_out(&turns, &target(contract), &settings(&[]));
    assert_eq!(
        applied.contents[1].speaker,
        Speaker::Human,
        "the model demands a thought with its own"
    );
    assert_eq!(applied.contents[1].visible_text(), "You answered:\n> Half an ans");
}
