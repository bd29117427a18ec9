//! Laws of a caller's request on its way to the upstream, and of the answer on its way back.

use thinkthrough_core::content::{Block, Content, Speaker, Thinking};
use thinkthrough_core::event::Event;
use thinkthrough_core::exchange::{Asked, Ending, Found, Manner, Need, Owner, Prepared};
use thinkthrough_core::json::Doc;
use thinkthrough_core::plane::{Open, SealError, Sealed, Tenant};
use thinkthrough_core::provider::Target;
use thinkthrough_core::restore::{
    About, Answered, Delivery, Key, Question, Restoration, Secret, Version, capture,
};
use thinkthrough_core::settings::Resolved;
use thinkthrough_core::wire::find;

use super::random::pieces;
use super::wires::given_or_spelled;

/// Wires of callers, and where their requests go.
const WAYS: [(&str, &str, Option<&str>, &str); 8] = [
    ("chat-completions", "deepseek", None, "deepseek-v4-flash"),
    ("chat-completions", "anthropic", None, "claude-sonnet-4-5"),
    ("messages", "anthropic", None, "claude-sonnet-4-5"),
    ("messages", "moonshotai", None, "kimi-k2-thinking"),
    ("responses", "openai", Some("responses"), "gpt-5.1"),
    ("responses", "google", None, "gemini-3-pro-preview"),
    ("generate-content", "google", None, "gemini-3-pro-preview"),
    ("ollama-chat", "mistral", None, "magistral-medium-latest"),
];

/// Opens nothing, as after the loss of a key.
struct Shut;

impl Open for Shut {
    fn open(&self, key: u32, _: &[u8], _: &[u8]) -> Result<Vec<u8>, SealError> {
        Err(SealError::KeyGone(key))
    }
}

/// Any request that can be read is prepared, the same each time: what goes upstream is JSON that the upstream's wire
/// reads, and where nothing of ours is to be changed the caller's own bytes. Records that cannot be opened change
/// nothing. Any answer to it comes to an end, in any pieces the same one, and a refused or broken one leaves no record.
pub(crate) fn requests_reach_the_upstream_whole(bytes: &[u8]) {
    let &[choice, seed, cut, ref rest @ ..] = bytes else { return };
    let (caller, provider, wire, model) = WAYS[usize::from(choice) % WAYS.len()];
    let target = Target::built_in(provider, wire, model).expect("it is built in");
    let (body, answer) = rest.split_at(rest.len() * usize::from(cut) / 256);
    let body = given_or_spelled(body);
    let doc = Doc::parse_str(&body).expect("it is JSON");
    let settings = Resolved::default();
    let caller = find(caller).expect("a wire");
    let owner = Owner {
        tenant: Tenant::local(),
        secret: Secret::new([5; 32]),
        hint: None,
        account: None,
        record: "r".to_owned(),
        is_kept: true,
    };
    let manner = Manner::default();
    let Ok(asked) = Asked::read(caller, &doc, &target, &settings, manner, Some(owner)) else {
        return;
    };
    let found = match asked.need() {
        Need::Nothing => Vec::new(),
        Need::Lookup(keys) => unopened(&keys, &target),
    };
    let with = asked.prepare(&found, &Shut);
    let without = asked.prepare(&[], &Shut);
    assert_eq!(with.body, without.body, "what cannot be opened is not there");
    assert_eq!(with.counts.restored, 0);
    assert_eq!(asked.prepare(&found, &Shut).body, with.body, "a second time");
    if let Some(sent) = &with.body {
        let sent_doc = Doc::parse_str(sent).unwrap_or_else(|error| panic!("{error}: {sent}"));
        let read = target.wire.read_request(sent_doc.root());
        assert!(read.is_ok(), "{provider} is sent what its wire cannot read: {read:?}: {sent}");
    }
    let status = if seed % 4 == 0 { 400 } else { 200 };
    let whole = answered(with, &[answer], status);
    let split = answered(asked.prepare(&found, &Shut), &pieces(answer, seed), status);
    assert_eq!(whole, split, "{provider}, {status}");
}

/// Records that every key finds, and nobody opens.
fn unopened(keys: &[Key], target: &Target) -> Vec<Found> {
    let secret = Secret::new([5; 32]);
    let said = [Content::text(Speaker::Human, "one")];
    let question = Question::read(&said, About::default(), &secret, Version::CURRENT);
    let plan = Restoration::none(&question);
    let origin = target.origin(None);
    let record = |(at, key): (usize, &Key)| {
        let answered = Answered {
            record: &format!("r{at}"),
            content: &thought_answer(at, "two"),
            origin: &origin,
            delivery: Delivery::Full,
            at: at as u64,
            has_tickets: false,
            has_thought_ticket: false,
        };
        let (mut head, _) = capture(&question, &plan, &answered, &secret)?;
        head.keys.chain = *key;
        Some(Found { head, kept: Sealed::stored(1, *b"shut") })
    };
    keys.iter().take(4).enumerate().filter_map(record).collect()
}

/// What the caller gets, and how many records are kept.
fn answered(prepared: Prepared, pieces: &[&[u8]], status: u16) -> (String, usize) {
    let (mut exchange, mut out) = (prepared.exchange, Vec::new());
    exchange.head(status);
    for piece in pieces {
        if exchange.is_untouched() {
            out.extend_from_slice(piece);
        }
        exchange.push(piece, &mut out, &mut |_: Event<'_>| {});
    }
    let ending = Ending { cut: None, is_stopped: false, at: 1 };
    let done = exchange.end(&ending, &mut out, &mut |_: Event<'_>| {});
    assert!(status < 400 || done.records.is_empty(), "a refusal is no answer");
    // Whatever is kept was whole: nothing of a stream that broke off is ever put back.
    (String::from_utf8_lossy(&out).into_owned(), done.records.len())
}

fn thought_answer(at: usize, text: &str) -> Content {
    let thinking = Thinking::new(format!("thought {at}"), "reasoning_content");
    Content::new(Speaker::Ai, vec![Block::Thinking(thinking), Block::text(text)])
}
