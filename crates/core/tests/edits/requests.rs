//! For every wire with a route: thoughts go in and out, and every other byte stays.

use std::borrow::Cow;
use std::fmt::Write as _;
use thinkthrough_core::content::{
    Block, Content, Parameters, Speaker, Text, Thinking, ToolCall, ToolResponse,
};
use thinkthrough_core::edit::request::{Additions, plan};
use thinkthrough_core::edit::{Change, What, changed};
use thinkthrough_core::request::Request;
use thinkthrough_core::wire::{Dialect, Wire, find};
use thinkthrough_json::{Doc, Extra, Raw, Val, write_escaped};

const WIRES: [(&str, &str); 5] = [
    ("chat-completions", "messages"),
    ("messages", "messages"),
    ("responses", "input"),
    ("generate-content", "contents"),
    ("ollama-chat", "messages"),
];

fn dialect(wire: &str) -> Dialect {
    let field = (wire == "chat-completions").then_some(Cow::Borrowed("reasoning_content"));
    Dialect { field, ..Dialect::PLAIN }
}

fn apply(wire: &dyn Wire, body: &str, changes: &[Change], additions: Additions<'_>) -> String {
    let doc = Doc::parse_str(body).unwrap();
    let contents = wire.read_request(doc.root()).unwrap().contents;
    let plan = plan(wire, &doc, &contents, changes, &dialect(wire.id()), additions).unwrap();
    let out = plan.apply(body.as_bytes()).into_owned();
    String::from_utf8(out).unwrap()
}

fn thinking(text: &str) -> Thinking {
    Thinking {
        signature: Some(format!("sig-{text}")),
        id: Some(format!("rs_{text}")),
        encrypted_content: Some(format!("enc-{text}")),
        summary: Some(vec![text.to_owned()]),
        ..Thinking::new(text, "thinking")
    }
}

fn insert(message: usize, block: usize, text: &str) -> Change {
    Change { message, block, what: What::Insert(Box::new(thinking(text))) }
}

#[test]
fn a_thought_goes_before_everything_else_of_its_message() {
    for (wire, body, message, expected) in [
        (
            "chat-completions",
            r#"{"model":"m", "messages":[{"role":"user","content":"Hi"}, { "role":"assistant", "content": "Yo\u0021" }]}"#,
            1,
            r#"{"model":"m", "messages":[{"role":"user","content":"Hi"}, {"reasoning_content":"t", "role":"assistant", "content": "Yo\u0021" }]}"#,
        ),
        (
            "messages",
            r#"{"model":"m","max_tokens":9,"system":"s","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":"Yo\u0021"}]}"#,
            2,
            r#"{"model":"m","max_tokens":9,"system":"s","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"sig-t"},{"type":"text","text":"Yo\u0021"}]}]}"#,
        ),
        (
            "ollama-chat",
            r#"{"model":"m","messages":[{"role":"assistant","content":"Yo"}]}"#,
            0,
            r#"{"model":"m","messages":[{"thinking":"t","role":"assistant","content":"Yo"}]}"#,
        ),
    ] {
        let out =
            apply(find(wire).unwrap(), body, &[insert(message, 0, "t")], Additions::default());
        assert_eq!(out, expected);
    }
}

#[test]
fn a_signature_goes_on_its_call_and_ids_become_the_providers_own() {
    let body = r#"{"contents":[{"role":"model","parts":[ {"functionCall":{"name":"f","args":{"a": 1e2}}} ]}]}"#;
    let sign = Change { message: 0, block: 0, what: What::Sign(Some("s".into())) };
    let out = apply(find("generate-content").unwrap(), body, &[sign], Additions::default());
    let expected = r#"{"contents":[{"role":"model","parts":[ {"thoughtSignature":"s","functionCall":{"name":"f","args":{"a": 1e2}}} ]}]}"#;
    assert_eq!(out, expected);
    let body = r#"{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"tk_1", "type":"function","function":{"name":"f","arguments":"{ }"}}]},{"role":"tool","tool_call_id":"tk_1","content":"r"}]}"#;
    let rename =
        |message| Change { message, block: 0, what: What::Rename(Some("functions.f:0".into())) };
    let out = apply(
        find("chat-completions").unwrap(),
        body,
        &[rename(0), rename(1)],
        Additions::default(),
    );
    assert_eq!(out, body.replace("tk_1", "functions.f:0"));
}

/// A client may tell a thought among the parts of the content, where we would use a field: it goes all the same.
#[test]
fn a_thought_that_stands_elsewhere_goes_too() {
    let wire = find("chat-completions").unwrap();
    let body = r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"old"}]},{"type":"text","text":"Yo"}],"name":"n"}]}"#;
    let remove = Change { message: 0, block: 0, what: What::Remove };
    let out = apply(wire, body, std::slice::from_ref(&remove), Additions::default());
    assert!(!out.contains("old") && out.contains("Yo") && out.contains(r#""name":"n""#), "{out}");
    let out = apply(wire, body, &[remove, insert(0, 0, "new")], Additions::default());
    assert!(!out.contains("old") && out.contains(r#""reasoning_content":"new""#), "{out}");
}

#[test]
fn one_of_two_thoughts_in_the_content_goes_and_the_other_stays() {
    let wire = find("chat-completions").unwrap();
    let body = r#"{"model":"m","messages":[{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":""},{"type":"thinking","thinking":[{"type":"text","text":"b"}]}],"x":1}]}"#;
    for (block, left) in [(0, "b"), (1, "a")] {
        let changes = [Change { message: 0, block, what: What::Remove }];
        let out = apply(wire, body, &changes, Additions::default());
        let doc = Doc::parse_str(&out).unwrap();
        let contents = wire.read_request(doc.root()).unwrap().contents;
        let thoughts: Vec<_> = contents[0].thoughts().map(|it| it.thought.as_str()).collect();
        assert_eq!(thoughts, [left], "{out}");
        assert!(out.contains(r#""x":1"#), "{out}");
    }
}

#[test]
fn flags_fill_and_never_override() {
    let body = r#"{ "model":"alias","messages":[],"thinking":{"type":"enabled"},"include":["a"],"keep":false}"#;
    let fill = [
        Raw::parse(r#"{"thinking":{"type":"x","clear_thinking":false},"keep":true,"new":1}"#)
            .unwrap(),
        Raw::parse(r#"{"include":["a","b"],"new":2}"#).unwrap(),
    ];
    let additions = Additions { model: Some("real"), fill: &fill };
    let out = apply(find("chat-completions").unwrap(), body, &[], additions);
    let expected = r#"{"new":2, "model":"real","messages":[],"thinking":{"clear_thinking":false,"type":"enabled"},"include":["a","b"],"keep":false}"#;
    assert_eq!(out, expected);
}

#[test]
fn nothing_to_do_copies_nothing() {
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;
    let doc = Doc::parse_str(body).unwrap();
    let wire = find("chat-completions").unwrap();
    let contents = wire.read_request(doc.root()).unwrap().contents;
    let additions = Additions { model: Some("m"), fill: &[] };
    let plan = plan(wire, &doc, &contents, &[], &Dialect::PLAIN, additions).unwrap();
    assert!(plan.is_empty());
    assert!(matches!(plan.apply(body.as_bytes()), Cow::Borrowed(_)));
}

/// Seeded random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

/// A conversation with tools, in which some answers have their thoughts.
fn conversation(random: &mut Random) -> Vec<Content> {
    let mut contents = Vec::new();
    if random.below(2) == 0 {
        contents.push(Content::text(Speaker::System, "You help."));
    }
    for turn in 0..=random.below(4) {
        contents.push(Content::text(Speaker::Human, format!("Question {turn} ä\n\"")));
        for round in 0..random.below(3) {
            let mut blocks = Vec::new();
            if random.below(3) == 0 {
                blocks.push(Block::Thinking(thinking(&format!("own{turn}{round}"))));
            }
            if random.below(2) == 0 {
                blocks.push(Block::Text(Text::new(format!("Says {turn} \u{1F600}"))));
            }
            let calls = 1 + random.below(2);
            let id = |call: usize| format!("call_{turn}_{round}_{call}");
            for call in 0..calls {
                blocks.push(Block::ToolCall(ToolCall {
                    id: Some(id(call)),
                    name: "f".into(),
                    parameters: Parameters::from_text(r#"{"a":1}"#),
                    signature: None,
                    extra: Extra::default(),
                }));
            }
            contents.push(Content::new(Speaker::Ai, blocks));
            for call in 0..calls {
                let result = ToolResponse {
                    call_id: Some(id(call)),
                    name: Some("f".into()),
                    result: Raw::string("given").into(),
                    is_error: false,
                    extra: Extra::default(),
                };
                contents.push(Content::new(Speaker::Tool, vec![Block::ToolResponse(result)]));
            }
        }
        contents.push(Content::text(Speaker::Ai, format!("Answer {turn}")));
    }
    contents.push(Content::text(Speaker::Human, "And now?"));
    contents
}

/// The same JSON as another program would write it: with white space, and other escapes.
fn respelled(value: Val<'_>, random: &mut Random, out: &mut String) {
    let space = |random: &mut Random| ["", "", " ", "\n  "][random.below(4)];
    if value.is_object() || value.is_array() {
        let is_object = value.is_object();
        out.push(if is_object { '{' } else { '[' });
        let members: Vec<(Option<Cow<'_, str>>, Val<'_>)> = if is_object {
            value.entries().map(|(key, value)| (Some(key), value)).collect()
        } else {
            value.items().map(|item| (None, item)).collect()
        };
        for (index, (key, member)) in members.into_iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            out.push_str(space(random));
            if let Some(key) = key {
                write_escaped(&key, out);
                out.push(':');
                out.push_str(space(random));
            }
            respelled(member, random, out);
            out.push_str(space(random));
        }
        out.push(if is_object { '}' } else { ']' });
    } else if let Some(text) = value.as_str().filter(|_| random.below(4) == 0) {
        out.push('"');
        let mut units = [0; 2];
        for unit in text.chars().flat_map(|c| c.encode_utf16(&mut units).to_vec()) {
            write!(out, "\\u{unit:04x}").unwrap();
        }
        out.push('"');
    } else {
        out.push_str(value.raw());
    }
}

fn changes(contents: &[Content], random: &mut Random) -> Vec<Change> {
    let mut changes = Vec::new();
    for (message, content) in contents.iter().enumerate() {
        if content.speaker != Speaker::Ai || random.below(3) == 0 {
            continue;
        }
        for (block, value) in content.blocks.iter().enumerate() {
            match value {
                Block::Thinking(_) if random.below(2) == 0 => {
                    changes.push(Change { message, block, what: What::Remove });
                }
                _ if random.below(2) == 0 => {
                    changes.push(insert(message, block, &format!("new{message}{block}")));
                }
                _ => {}
            }
        }
    }
    changes
}

/// What a request says, message by message.
fn said(contents: &[Content]) -> Vec<(Speaker, String, String, Vec<String>)> {
    let thoughts = |content: &Content| {
        let all: Vec<_> = content.thoughts().map(|it| it.thought.clone()).collect();
        all.join("\n")
    };
    let calls = |content: &Content| {
        content
            .tool_calls()
            .map(|call| format!("{:?} {}", call.id, call.parameters.as_text()))
            .collect()
    };
    contents.iter().map(|it| (it.speaker, thoughts(it), it.visible_text(), calls(it))).collect()
}

#[test]
fn only_what_changes_is_touched_on_every_wire() {
    let mut edited = 0;
    for (id, key) in WIRES {
        let wire = find(id).unwrap();
        for seed in 0..150 {
            let mut random = Random(seed);
            let request = Request {
                model: "m".into(),
                contents: conversation(&mut random),
                ..Request::default()
            };
            let written = wire.write_request(&request, &dialect(id)).body;
            let mut body = String::new();
            respelled(Doc::parse_str(&written).unwrap().root(), &mut random, &mut body);
            let doc = Doc::parse_str(&body).unwrap();
            let contents = wire.read_request(doc.root()).unwrap().contents;
            let changes = changes(&contents, &mut random);
            edited += changes.len();
            let out = apply(wire, &body, &changes, Additions::default());
            let out_doc = Doc::parse_str(&out).unwrap();
            let read = wire.read_request(out_doc.root()).unwrap().contents;
            let expected = wire.write_request(
                &request.with_contents(changed(&contents, &changes).into_owned()),
                &dialect(id),
            );
            let expected =
                wire.read_request(Doc::parse_str(&expected.body).unwrap().root()).unwrap();
            assert_eq!(said(&read), said(&expected.contents), "{id} {seed}\n{body}\n{out}");
            // Every message that is not changed stands there byte for byte, in its order.
            let untouched = |root: Val<'_>| -> Vec<String> {
                let is_callers = |item: &Val<'_>| {
                    matches!(item.text("role").as_deref(), Some("user" | "system" | "tool"))
                };
                let list = root.get(key).unwrap().items().filter(is_callers);
                list.map(|item| item.raw().to_owned()).collect()
            };
            assert_eq!(untouched(doc.root()), untouched(out_doc.root()));
            // A request that has grown at its end grows at its end.
            let last = doc.root().get(key).unwrap().items().last().unwrap().span().end;
            let appended = doc
                .root()
                .get(key)
                .unwrap()
                .items()
                .find(|it| it.text("role").as_deref() == Some("user"));
            let longer = format!("{},{}{}", &body[..last], appended.unwrap().raw(), &body[last..]);
            let grown = apply(wire, &longer, &changes, Additions::default());
            let end = out_doc.root().get(key).unwrap().items().last().unwrap().span().end;
            assert!(grown.starts_with(&out[..end]), "{id} {seed}\n{out}\n{grown}");
        }
    }
    assert!(edited > 1000, "{edited}");
}
