//! Laws about callers' input, run by the driver of the core's laws.

use crate::accept::admission::{check_members, fits_path, segments};
use crate::credential::{self, exposed};
use crate::load::{Caps, MESSAGES};
use crate::request::edge::headers::Crossing;
use crate::request::take::json_within;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use thinkthrough_json::Doc;

#[macro_use]
#[path = "../../core/tests/laws/driver.rs"]
mod driver;
#[allow(dead_code, reason = "nothing here is cut into pieces")]
#[path = "../../core/tests/laws/random.rs"]
mod random;

const PATH_WORDS: &[&[u8]] = &[
    b"/",
    b"/v1/",
    b"/p/a/",
    b"..",
    b".",
    b"%2e",
    b"%252e",
    b"%25",
    b"%2f",
    b"%5c",
    b"\\",
    b";",
    b"%3b",
    b"%00",
    b"?",
    b"#",
    b"%23",
    b"%3f",
    b"%c0%ae",
    b"models",
    b"a:generateContent",
    b"%ef%bc%8e",
    b"//",
    b"%",
    b"%2",
    b"%zz",
    b" ",
];

/// An accepted path never leads upwards, even if a server unescapes it several times or ends its segments early. Its
/// segments, joined again, parse to the same segments. A name that fits into a path adds exactly its own segments.
fn taken_paths_mean_the_same_to_everybody(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Ok(parts) = segments(&text) {
        let mut reporter = text.to_string();
        for _ in 0..12 {
            let read =
                reporter.split(['/', '\\']).map(|part| part.split(';').next().unwrap_or(part));
            let upwards = read.filter(|part| part.trim_matches('\0') == "..").count();
            assert_eq!(upwards, 0, "{text:?} as {reporter:?}");
            assert!(!reporter.contains(['?', '#', '\\', '\0']), "{text:?} as {reporter:?}");
            reporter = generously_unpacked(&reporter);
        }
        let joined = format!("/{}", parts.join("/"));
        assert_eq!(segments(&joined).ok(), Some(parts), "{text:?}");
    }
    if fits_path(&text)
        && let Ok(parts) = segments(&format!("/v1/models/{text}/x"))
    {
        let expected: Vec<&str> =
            ["v1", "models"].into_iter().chain(text.split('/')).chain(["x"]).collect();
        assert_eq!(parts, expected);
    }
}

/// Decodes every valid escape once, and leaves all other bytes.
fn generously_unpacked(text: &str) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let (bytes, mut out, mut at) = (text.as_bytes(), Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        match (byte, digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).expect("two digits are a byte"));
                at += 3;
            }
            _ => {
                out.push(*byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

const MEMBER_WORDS: &[&[u8]] = &[
    b"\"model\":\"a\",",
    b"\"Model\":\"b\",",
    b"\"m\\u006fdel\":\"c\",",
    b"\"stream\":true,",
    b"\"STREAM\":false,",
    b"\"messages\":[],",
    b"\"tools\":[{\"model\":1}],",
    b"\"max_tokens\":1,",
    b"\"Max_Tokens\":2,",
    b"\"generationConfig\":{\"maxOutputTokens\":1,\"maxOutputTokens\":2},",
    b"\"generation_config\":{},",
    b"\"metadata\":{\"model\":1,\"Model\":2},",
    b"\"reasoning\":{\"effort\":\"low\"},",
    b"\"me\xc5\xbfsages\":[],",
    b"\"x\":null,",
];

/// In an accepted request, every reader sees the same members: no name occurs twice, even without regard to letter
/// case.
fn taken_requests_are_read_in_one_way(bytes: &[u8]) {
    let text = format!("{{{}\"end\":0}}", String::from_utf8_lossy(bytes));
    let Ok(doc) = Doc::parse_str(&text) else { return };
    if check_members(doc.root()).is_err() {
        return;
    }
    let mut names = HashSet::new();
    for (key, value) in doc.root().entries() {
        assert!(names.insert(key.to_lowercase()), "{key:?} twice: {text}");
        let first = doc.root().get(&key).map(|it| it.raw().to_owned());
        assert_eq!(first.as_deref(), Some(value.raw()), "{text}");
    }
}

const HEADER_WORDS: &[&[u8]] = &[
    b"authorization: Bearer canary-of-a-caller\n",
    b"Authorization: bearer  canary-of-a-caller \n",
    b"x-api-key: canary-of-a-caller\n",
    b"api-key: canary-of-a-caller\n",
    b"x-goog-api-key: canary-of-a-caller\n",
    b"x-goog-user-project: theirs\n",
    b"openai-organization: theirs\n",
    b"connection: close, anthropic-beta\n",
    b"connection: keep-alive\n",
    b"anthropic-beta: a\n",
    b"anthropic-version: 1\n",
    b"x-http-method-override: DELETE\n",
    b"x-amz-date: 1\n",
    b"private-token: canary-of-a-caller\n",
    b"cookie: canary-of-a-caller\n",
    b"x-thinkthrough-set: reasoning.enabled=false\n",
    b"traceparent: 00-1-1-00\n",
    b"x-custom-a: b\n",
    b"user-agent: x\n",
];

/// Forwarded headers never carry a credential of the caller or steer the account, the method or the connection when
/// the gateway's own credential goes upstream, even if the operator forwards all headers. Values stay unchanged, and
/// forwarding twice gives the same result.
fn forwarded_headers_carry_nothing_that_is_the_gateways(bytes: &[u8]) {
    let mut callers = HeaderMap::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Some(at) = line.iter().position(|byte| *byte == b':') else { continue };
        let (name, value) = line.split_at(at);
        let name = HeaderName::from_bytes(name);
        let value = HeaderValue::from_bytes(value.get(1..).unwrap_or_default().trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            callers.append(name, value);
        }
    }
    let more = ["x-custom-*".to_owned(), "*".to_owned(), "cookie".to_owned()];
    let crossing = Crossing::to_all_with_ours(&more);
    let sent = crossing.request(&callers);
    let found = credential::of(&Uri::from_static("/"), &sent);
    assert!(found.is_ok_and(|auth| exposed(&auth).is_none()), "{sent:?}");
    for (name, value) in &sent {
        assert!(callers.get_all(name).iter().any(|it| it == value), "{name}: {value:?}");
        let stays =
            ["connection", "cookie", "private-token", "x-amz-date", "x-http-method-override"];
        assert!(!stays.contains(&name.as_str()), "{name}");
        assert!(!name.as_str().starts_with("x-thinkthrough"), "{name}");
        let listed = callers.get_all("connection").iter().filter_map(|it| it.to_str().ok());
        let mut listed = listed.flat_map(|it| it.split(','));
        assert!(!listed.any(|it| it.trim().eq_ignore_ascii_case(name.as_str())), "{name}");
    }
    assert_eq!(crossing.request(&sent), sent);
}

/// A body that exceeds a cap is refused with 400, and no other body is refused because of a cap.
fn bodies_over_a_cap_are_refused_and_no_others(bytes: &[u8]) {
    let mut left = bytes.iter().copied();
    let mut below = |most: usize| usize::from(left.next().unwrap_or_default()) % most;
    let caps = Caps {
        values: 20 + below(200),
        members: 3 + below(12),
        blocks: below(8),
        all_blocks: below(24),
        tools: below(6),
        messages: below(6),
    };
    let (list, key) = (MESSAGES[below(MESSAGES.len())], ["content", "parts"][below(2)]);
    let blocks: Vec<usize> = (0..below(8)).map(|_| below(10)).collect();
    let messages: Vec<Value> = blocks.iter().map(|it| json!({key: vec![0; *it]})).collect();
    let tools = vec![json!({}); below(8)];
    let wide: Map<String, Value> = (0..below(16)).map(|at| (at.to_string(), json!(0))).collect();
    let is_over = [
        (tools.len(), caps.tools),
        (messages.len(), caps.messages),
        (blocks.iter().copied().max().unwrap_or_default(), caps.blocks),
        (blocks.iter().sum(), caps.all_blocks),
        (wide.len(), caps.members),
    ];
    let body = json!({list: messages, "tools": tools, "wide": [wide]});
    let is_over = is_over.into_iter().chain([(values(&body), caps.values)]);
    let is_over = is_over.into_iter().any(|(count, cap)| count > cap);
    let sent = Bytes::from(body.to_string());
    let status = json_within(&sent, caps).err().map(|refused| refused.status);
    assert_eq!(status, is_over.then_some(400), "{caps:?}: {body}");
}

/// The number of values; each key counts as one as well.
fn values(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(members) => members.values().map(|it| 1 + values(it)).sum(),
        _ => 0,
    }
}

laws! {
    caps_of_requests: bodies_over_a_cap_are_refused_and_no_others, 8, &[];
    headers_of_requests: forwarded_headers_carry_nothing_that_is_the_gateways, 0, HEADER_WORDS;
    members_of_requests: taken_requests_are_read_in_one_way, 0, MEMBER_WORDS;
    paths_of_requests: taken_paths_mean_the_same_to_everybody, 0, PATH_WORDS;
}
