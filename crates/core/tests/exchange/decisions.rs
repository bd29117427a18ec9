//! Each question about a thought has one answer, whoever asks it.

use crate::{FIRST, Gateway, Lock, STREAM, body, second};
use thinkthrough_core::contract::{Contract, Older, Return};
use thinkthrough_core::decision::{Action, Counts, Without};
use thinkthrough_core::exchange::{Prepared, Repair};
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::{Include, Strip};
use thinkthrough_json::Doc;

/// What was decided about blocks.
fn of_blocks(prepared: &Prepared) -> Vec<(usize, Action)> {
    let decisions = prepared.exchange.outgoing().decisions.iter();
    decisions.filter(|it| it.block.is_some()).map(|it| (it.message, it.action)).collect()
}

/// What must go is not missed where nobody has it.
#[test]
fn a_thought_that_the_contract_forbids_is_not_wanted() {
    let mut gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-flash");
    let contract = Contract::plain(Return::All, "reasoning_content").required();
    gateway.target = gateway.target.with_contract(contract, "test");
    let later = second()
        .replace(r#""content":"a b"}"#, r#""content":"a b"},{"role":"user","content":"And?"}"#);
    let missed = Counts { missed: 1, ..Counts::default() };
    assert_eq!(gateway.ask(&later, &Lock).counts, missed);
    gateway.target.rule.contract.older = Older::Forbidden;
    assert_eq!(gateway.ask(&later, &Lock).counts, Counts::default());
    // That of the turn under way is.
    assert_eq!(gateway.ask(&second(), &Lock).counts, missed);
}

/// A client merges the answers of two endpoints into one message.
#[test]
fn nothing_of_a_part_that_the_model_cannot_read_goes_into_a_merged_answer() {
    let google = |base_url: &str| {
        let wire = Some("chat-completions");
        let mut gateway = Gateway::new("chat-completions", "google", wire, "gemini-3.1-pro");
        base_url.clone_into(&mut gateway.target.base_url);
        gateway
    };
    let asks = r#"{"role":"user","content":"List it."}"#;
    let of = |messages: &[&str]| {
        format!(r#"{{"model":"gemini-3.1-pro","messages":[{}]}}"#, messages.join(","))
    };
    let call = |id: &str, signature: &str| {
        format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"ls","arguments":"{{}}"}}{signature}}}"#
        )
    };
    let signed = |signature: &str| {
        format!(r#","extra_content":{{"google":{{"thought_signature":"{signature}"}}}}"#)
    };
    let answer = |call: &str| {
        format!(
            r#"{{"id":"1","choices":[{{"index":0,"message":{{"role":"assistant","content":null,"tool_calls":[{call}]}},"finish_reason":"tool_calls"}}]}}"#
        )
    };
    let (mut here, mut there) = (google("https://here.example"), google("https://there.example"));
    there.named.set(7);
    let seals = ["c2VhbCBvZiBoZXJl", "c2VhbCBvZiB0aGVyZQ"];
    let ids = [(&mut here, seals[0]), (&mut there, seals[1])].map(|(gateway, seal)| {
        let first = gateway.ask(&of(&[asks]), &Lock);
        let answer = answer(&call("call_1", &signed(seal)));
        let (given, done) = gateway.answer(first, &[&answer], None);
        assert_eq!(done.records.len(), 1);
        let given = Doc::parse_str(&given).unwrap();
        let message = given.root().get("choices").unwrap().items().next().unwrap();
        let message = message.get("message").unwrap();
        let call = message.get("tool_calls").unwrap().items().next().unwrap();
        call.text("id").unwrap().into_owned()
    });
    here.records.append(&mut there.records);
    let given = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"a"}}"#);
    let calls = format!("{},{}", call(&ids[0], ""), call(&ids[1], ""));
    let merged = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{calls}]}}"#);
    let asked = here.ask(&of(&[asks, &merged, &given(&ids[0]), &given(&ids[1])]), &Lock);
    assert_eq!(asked.counts, Counts { restored: 1, ..Counts::default() });
    let sent = body(&asked);
    assert!(sent.contains(seals[0]) && !sent.contains(seals[1]), "{sent}");
}

const ITEMS: &str = r#"{"model":"gpt-5.1","store":false,"input":[{"role":"user","content":"Hi"},{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hello","annotations":[]}]},{"role":"user","content":"And?"}]}"#;

/// As where the request is written anew.
#[test]
fn items_whose_thought_is_stripped_go_without_their_ids_on_their_own_wire_too() {
    let mut gateway = Gateway::new("responses", "openai", Some("responses"), "gpt-5.1");
    gateway.settings.strip_from_context.value = Strip::All;
    let stripped = gateway.ask(ITEMS, &Lock);
    let sent = body(&stripped);
    assert!(!sent.contains("rs_1") && sent.contains("Hello"), "{sent}");
    assert!(!sent.contains("msg_1"), "its pair is gone: {sent}");
    // An explicit `false` shows the provider's own rule.
    gateway.settings.strip_from_context.value = Strip::None;
    gateway.settings.include_in_context.value = Include::False;
    let sent = gateway.ask(ITEMS, &Lock);
    assert!(!body(&sent).contains("rs_1") && body(&sent).contains("msg_1"), "{:?}", sent.body);
}

/// The payload on an image is a thought's as any other.
#[test]
fn a_repair_without_thoughts_takes_every_form_of_them() {
    let image =
        r#"{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thoughtSignature":"c2VhbA"}"#;
    let asks = r#"{"role":"user","parts":[{"text":"Draw."}]}"#;
    let said = format!(r#"{{"contents":[{asks},{{"role":"model","parts":[{image}]}},{asks}]}}"#);
    let mut gateway = Gateway::new("generate-content", "google", None, "gemini-3.1-pro");
    assert_eq!(gateway.ask(&said, &Lock).body, None, "the client's own stays");
    gateway.learned = Some(Repair::Omit);
    let without = gateway.ask(&said, &Lock);
    assert!(!body(&without).contains("c2VhbA") && body(&without).contains("AAAA"));
}

#[test]
fn a_documented_value_that_a_setting_takes_out_is_not_counted() {
    let calls = r#"{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]}"#;
    let given = r#"{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{}}}]}"#;
    let asks = r#"{"role":"user","parts":[{"text":"List it."}]}"#;
    let said = format!(r#"{{"contents":[{asks},{calls},{given}]}}"#);
    let mut gateway = Gateway::new("generate-content", "google", None, "gemini-3.1-pro");
    let signed = gateway.ask(&said, &Lock);
    assert_eq!(signed.without, Without { bypassed: 1, ..Without::default() });
    assert_eq!(of_blocks(&signed), [(1, Action::Bypass)]);
    gateway.settings.include_in_context.value = Include::False;
    let bare = gateway.ask(&said, &Lock);
    assert_eq!((bare.body.as_deref(), bare.without), (None, Without::default()));
    assert_eq!(of_blocks(&bare), [(1, Action::Strip)]);
}

/// The client sends no field that could be kept.
#[test]
fn an_answer_that_is_known_to_have_had_no_thought_gets_the_field_added() {
    let mut gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-flash");
    let first = gateway.ask(FIRST, &Lock);
    gateway.answer(first, &STREAM[1..], None);
    let next = gateway.ask(&second(), &Lock);
    assert!(body(&next).contains(r#"{"reasoning_content":"","role":"assistant""#));
    assert_eq!((next.counts, of_blocks(&next)), (Counts::default(), vec![(1, Action::Empty)]));
}

/// Whether an answer had a thought is asked by a model that wants thoughts, and only of answers since one was there.
#[test]
fn an_answer_without_a_thought_has_a_record_only_where_somebody_may_ask_for_it() {
    let said = |text: &str| {
        format!(
            r#"{{"id":"1","choices":[{{"index":0,"message":{{"role":"assistant","content":"{text}"}},"finish_reason":"stop"}}]}}"#
        )
    };
    let plain = || {
        let mut gateway = Gateway::new("chat-completions", "openai-compatible", None, "plain");
        gateway.target = gateway.target.with_contract(Contract::NONE, "test");
        gateway
    };
    let mut gateway = plain();
    let hello = r#"{"model":"any","messages":[{"role":"user","content":"Hello?"}]}"#;
    let prepared = gateway.ask(hello, &Lock);
    assert_eq!(gateway.answer(prepared, &[&said("Yes.")], None).1.records.len(), 0);

    // It is kept where the model wants thoughts back, and so is the next answer of one that wants none.
    gateway.target = Target::built_in("deepseek", None, "deepseek-v4-flash").unwrap();
    let prepared = gateway.ask(hello, &Lock);
    assert_eq!(gateway.answer(prepared, &[&said("Yes.")], None).1.records.len(), 1);
    gateway.target = plain().target;
    let next = hello.replace(
        "}]}",
        r#"},{"role":"assistant","content":"Yes."},{"role":"user","content":"And?"}]}"#,
    );
    let prepared = gateway.ask(&next, &Lock);
    assert_eq!(gateway.answer(prepared, &[&said("Well.")], None).1.records.len(), 1);
    // A gateway that has no record of the conversation begins none.
    gateway.records.clear();
    let prepared = gateway.ask(&next, &Lock);
    assert_eq!(gateway.answer(prepared, &[&said("Well.")], None).1.records.len(), 0);
}
