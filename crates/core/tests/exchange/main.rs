//! A caller's request and its answer, from the caller's bytes to the record and back, without a socket.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "everything here is a test")]

mod again;
mod beside;
mod decisions;
mod differences;
mod faces;
mod foreign;
mod fragments;
mod keeps;
mod ladder;
mod limit;
mod own;
mod repaired;
mod signatures;
mod switch;
mod tickets;
mod told;
mod turns;
mod unlisted;
mod weak_ids;

use std::cell::Cell;
use thinkthrough_core::contract::Told;
use thinkthrough_core::decision::Counts;
use thinkthrough_core::exchange::{
    Done, Ending, Found, Handling, Named, Need, Owner, Prepared, Repair, RequestContext, Restore,
    Stamp, View, Without,
};
use thinkthrough_core::plane::{Open, Place, Seal, SealError, Sealed, Tenant};
use thinkthrough_core::provider::Target;
use thinkthrough_core::restore::{Head, Kept, Secret};
use thinkthrough_core::settings::{Include, Resolved};
use thinkthrough_core::wire::{Wire, find};
use thinkthrough_json::Doc;

/// Keeps the place beside the bytes, and so opens at it only.
struct Lock;

impl Seal for Lock {
    fn seal(&self, plain: Vec<u8>, aad: &[u8]) -> Result<(u32, Vec<u8>), SealError> {
        Ok((1, [aad, &plain].concat()))
    }
}

impl Open for Lock {
    fn open(&self, _: u32, sealed: &[u8], aad: &[u8]) -> Result<Vec<u8>, SealError> {
        sealed.strip_prefix(aad).map(<[u8]>::to_vec).ok_or(SealError::Altered)
    }
}

/// Opens nothing: the key is gone.
struct Lost;

impl Open for Lost {
    fn open(&self, key: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
        Err(SealError::KeyGone(key))
    }
}

struct Gateway {
    caller: &'static dyn Wire,
    target: Target,
    settings: Resolved,
    handling: Handling,
    is_kept: bool,
    is_nobodys: bool,
    is_compared: bool,
    /// What a refusal taught about the model.
    learned: Option<Repair>,
    /// What the provider said of this very request before.
    refused: Option<Repair>,
    /// The words in which the provider refused it, and what was sent then.
    refusal: Option<(&'static str, String)>,
    /// Look-ups fail.
    is_blind: bool,
    /// What the path says, on wires where it does.
    stream: Option<bool>,
    /// The name that the caller asks for, where the model has another.
    alias: Option<&'static str>,
    records: Vec<(Head, Sealed<Kept>)>,
    /// So many records were given names.
    named: Cell<usize>,
}

impl Gateway {
    fn new(caller: &str, provider: &str, wire: Option<&str>, model: &str) -> Self {
        Gateway {
            caller: find(caller).unwrap(),
            target: Target::built_in(provider, wire, model).unwrap(),
            settings: Resolved::default(),
            handling: Handling::default(),
            is_kept: true,
            is_nobodys: false,
            is_compared: true,
            learned: None,
            refused: None,
            refusal: None,
            is_blind: false,
            stream: None,
            alias: None,
            records: Vec::new(),
            named: Cell::new(0),
        }
    }

    fn ask(&self, body: &str, open: &dyn Open) -> Prepared {
        let owner = Owner {
            tenant: Tenant::local(),
            secret: Secret::new([5; 32]),
            hint: None,
            account: None,
            record: format!("r{}", self.named.replace(self.named.get() + 1)),
            is_kept: self.is_kept,
        };
        let owner = (!self.is_nobodys).then_some(owner);
        let doc = Doc::parse_str(body).unwrap();
        let mut asked = RequestContext::read(
            self.caller,
            &doc,
            &self.target,
            &self.settings,
            self.handling,
            owner,
        )
        .unwrap();
        asked.compare(self.is_compared);
        asked.set_stamp(Stamp { id: "7a".to_owned(), at: 9 });
        self.stream.into_iter().for_each(|stream| asked.set_stream(stream));
        self.alias.into_iter().for_each(|alias| asked.set_alias(alias));
        self.learned.into_iter().for_each(|repair| asked.repair(repair));
        self.refused.into_iter().for_each(|repair| asked.refused(repair));
        if let Some((words, sent)) = &self.refusal {
            asked.leave_out(asked.marks(&Named::of(words, sent.as_bytes())), &[]);
        }
        let found: Vec<Found> = match asked.need() {
            Need::Nothing => Vec::new(),
            Need::Lookup(_) if self.is_blind => {
                asked.look_up_failed();
                Vec::new()
            }
            Need::Lookup(keys) => {
                let hit = |head: &Head| head.all_keys().any(|key| keys.contains(&key));
                let hits = self.records.iter().filter(|(head, _)| hit(head)).cloned();
                hits.map(|(head, kept)| Found { head: head.into(), kept: kept.into() }).collect()
            }
        };
        asked.prepare(&found, open)
    }

    /// The upstream answers; what the caller gets, and whether a record was kept.
    fn answer(&mut self, prepared: Prepared, pieces: &[&str], cut: Option<&str>) -> (String, Done) {
        let (mut out, mut exchange) = (Vec::new(), prepared.exchange);
        exchange.head(200);
        for piece in pieces {
            if exchange.is_untouched() {
                out.extend_from_slice(piece.as_bytes());
            }
            exchange
                .push(piece.as_bytes(), &mut out, &mut |_: thinkthrough_core::event::Event<'_>| {});
        }
        let ending = Ending { cut, is_stopped: false, at: 1 };
        let done = exchange.end(&ending, &mut out, &mut ignored, &mut |_| {});
        for (head, kept) in &done.records {
            let tenant = Tenant::local();
            let place =
                Place { tenant: &tenant, record: &head.id, origin: &head.origin, position: 0 };
            self.records.push((head.clone(), Sealed::seal(kept.clone(), &place, &Lock).unwrap()));
        }
        (String::from_utf8(out).unwrap(), done)
    }
}

/// The body that goes upstream, where it is not the caller's own.
fn body(prepared: &Prepared) -> &str {
    prepared.body.as_deref().unwrap()
}

const FIRST: &str = r#"{"model":"deepseek-v4-flash", "stream":true,"messages":[{"role":"user","content":"List it."}],"tools":[{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{}}}}]}"#;
const STREAM: [&str; 4] = [
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning_content\":\"Look \\u00e4\"}}]}\n\n",
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"type\":\"function\",\"function\":{\"name\":\"ls\",\"arguments\":\"{}\"}}]}}]}\n\n",
    "data: {\"id\":\"1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: [DONE]\n\n",
];
const ASSISTANT: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"ls","arguments":"{ }"}}]}"#;

fn second() -> String {
    let more = format!(
        "{ASSISTANT}, {{\"role\":\"tool\",\"tool_call_id\":\"call_1\",\"content\":\"a b\"}}"
    );
    FIRST.replace(r#""content":"List it."}"#, &format!("\"content\":\"List it.\"}},{more}"))
}

fn ignored(_: thinkthrough_core::event::Event<'_>) {}

#[test]
fn a_naive_client_in_a_tool_loop_gets_its_thought_back_and_nothing_else_changes() {
    let mut gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-flash");
    let first = gateway.ask(FIRST, &Lock);
    assert_eq!(first.body, None);
    let (said, done) = gateway.answer(first, &STREAM, None);
    assert_eq!(said, STREAM.concat());
    assert_eq!(done.records.len(), 1);

    let next = gateway.ask(&second(), &Lock);
    let expected = second().replace(
        r#"{"role":"assistant","content":null"#,
        r#"{"reasoning_content":"Look ä","role":"assistant","content":null"#,
    );
    assert_eq!(body(&next), expected);
    assert_eq!(next.counts, Counts { restored: 1, ..Counts::default() });
    assert_eq!(next.missing, None);
    assert!(next.exchange.outgoing().decisions.iter().any(|it| it.action.as_str() == "restore"));

    // Who only wants to see what would be done sends the request as it came.
    gateway.handling.dry_run = true;
    let dry = gateway.ask(&second(), &Lock);
    assert_eq!((dry.body, dry.counts.restored), (None, 1));
    gateway.handling.dry_run = false;

    // A record that cannot be opened is none, and it is said which message lacks what the provider demands.
    gateway.handling.restore = Restore::Required;
    let shut = gateway.ask(&second(), &Lost);
    assert_eq!(shut.body, None);
    assert_eq!(shut.counts, Counts { missed: 1, ..Counts::default() });
    assert_eq!(shut.missing, Some(1));

    // Rather than refused, the exchange is told, and the model thinks.
    gateway.handling.restore = Restore::Recommended;
    let told = gateway.ask(&second(), &Lost);
    assert_eq!(told.without, Without { told: 1, ..Without::default() });
    assert_eq!(told.counts, shut.counts);
    let words = r#"{"role":"user","content":"You used the tool `ls` with { }.\n\nThe tool `ls` gave:\n> a b"}"#;
    let expected =
        FIRST.replace(r#""content":"List it."}"#, &format!("\"content\":\"List it.\"}}, {words}"));
    assert_eq!(body(&told), expected);
    let reason = "the model demands a thought here, and no record of this answer was found; \
                  the answer and what its calls gave are told in words";
    let explained = |prepared: &Prepared| {
        let decisions = prepared.exchange.outgoing().decisions.iter();
        let decisions = decisions.filter(|it| it.block.is_some());
        let all = decisions.map(|it| (it.message, it.action.as_str(), it.reason.to_string()));
        all.collect::<Vec<_>>()
    };
    assert_eq!(explained(&told), [(1, "drop", reason.to_owned())]);

    // Where words cannot be said, it goes without thinking.
    gateway.target.rule.contract.told = Told::Never;
    let off = gateway.ask(&second(), &Lost);
    assert!(off.without.is_off && off.counts == shut.counts);
    let expected = second().replacen('{', r#"{"thinking":{"type":"disabled"},"#, 1);
    assert_eq!(off.body, Some(expected));
    let reason = "the model demands a thought here, and no record of this answer was found; \
                  thinking is off in this request";
    assert_eq!(explained(&off), [(1, "drop", reason.to_owned())]);
    gateway.target.rule.contract.told = Told::default();

    // Nothing at all is done where nothing is to be.
    gateway.handling.restore = Restore::Never;
    let never = gateway.ask(&second(), &Lock);
    assert_eq!((never.body, never.counts), (None, Counts::default()));
    gateway.handling.restore = Restore::Recommended;

    // Who says explicitly that nothing goes back is obeyed.
    gateway.settings.include_in_context.value = Include::False;
    let stripped = gateway.ask(&second(), &Lock);
    assert_eq!(stripped.body, None);
    assert_eq!(stripped.counts, Counts::default());
}

#[test]
fn a_caller_finds_thoughts_where_it_wants_them() {
    for (view, has, has_not) in [
        (None, "\"reasoning_content\":\"Look", "<think>"),
        (Some(View::Reasoning), "\"reasoning\":\"Look", "reasoning_content"),
        (Some(View::ThinkTags), "\"content\":\"<think>\"", "reasoning"),
        (Some(View::Hidden), "\"tool_calls\"", "Look"),
    ] {
        let mut gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-flash");
        gateway.handling.view = view;
        let first = gateway.ask(FIRST, &Lock);
        let (said, done) = gateway.answer(first, &STREAM, None);
        assert!(said.contains(has) && !said.contains(has_not), "{view:?}: {said}");
        // What is kept is the whole thought, whoever sees it.
        assert_eq!(done.records.len(), 1);
        assert_eq!(gateway.ask(&second(), &Lock).counts.restored, 1);
    }
}

#[test]
fn an_answer_that_broke_off_is_not_kept() {
    let mut gateway = Gateway::new("chat-completions", "deepseek", None, "deepseek-v4-flash");
    for (pieces, cut) in [(&STREAM[..2], None), (&STREAM[..], Some("connection reset"))] {
        let first = gateway.ask(FIRST, &Lock);
        let (_, done) = gateway.answer(first, pieces, cut);
        assert_eq!(done.records, []);
    }
}

#[test]
fn a_chat_client_keeps_signed_thoughts_of_another_wire() {
    let mut gateway = Gateway::new("chat-completions", "anthropic", None, "claude-sonnet-4-5");
    let first = FIRST
        .replace("deepseek-v4-flash", "claude-sonnet-4-5")
        .replace("\"stream\":true,", "\"max_tokens\":4000,\"reasoning_effort\":\"low\",");
    let exchange = gateway.ask(&first, &Lock);
    let answer = r#"{"type":"message","id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"thinking","thinking":"Look","signature":"c2ln"},{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2}}"#;
    let (said, done) = gateway.answer(exchange, &[answer], None);
    assert!(said.contains("toolu_1") && said.contains("tool_calls"), "{said}");
    assert_eq!(done.records.len(), 1);
    let next = second()
        .replace("call_1", "toolu_1")
        .replace("\"stream\":true,", "\"max_tokens\":4000,\"reasoning_effort\":\"low\",");
    let exchange = gateway.ask(&next, &Lock);
    assert_eq!(exchange.counts.restored, 1);
    let sent = body(&exchange);
    assert!(
        sent.contains(
            r#"{"type":"thinking","thinking":"Look","signature":"c2ln"},{"type":"tool_use""#
        ),
        "{sent}"
    );
}

#[test]
fn an_error_comes_in_the_callers_wire() {
    let gateway = Gateway::new("chat-completions", "anthropic", None, "claude-sonnet-4-5");
    let mut exchange = gateway.ask(FIRST, &Lock).exchange;
    let mut out = Vec::new();
    exchange.head(529);
    let error = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    exchange.push(error.as_bytes(), &mut out, &mut |_: thinkthrough_core::event::Event<'_>| {});
    let ending = Ending { cut: None, is_stopped: false, at: 1 };
    let done = exchange.end(&ending, &mut out, &mut ignored, &mut |_| {});
    assert_eq!(done.records, []);
    let said = String::from_utf8(out).unwrap();
    assert!(said.starts_with(r#"{"error":"#) && said.contains("Overloaded"), "{said}");
}
