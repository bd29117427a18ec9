//! Access to `think serve`: pass-through, fallbacks, pools of keys, roles.

use crate::place::Place;
use crate::program::think;
use crate::serve_config::{question, serve};
use crate::server::Server;
use crate::upstream::{Upstream, chat};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A provider that accepts some keys, and records the keys of its requests.
pub(crate) struct Lock {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Lock {
    /// Answers each request with the status for its key.
    pub(crate) fn new(status: fn(&str) -> u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut reader = BufReader::new(stream.unwrap());
                let (mut length, mut key) = (0, String::new());
                loop {
                    let mut line = String::new();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 || line.trim().is_empty() {
                        break;
                    }
                    let lower = line.trim().to_ascii_lowercase();
                    if let Some(value) = lower.strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if let Some(value) = lower.strip_prefix("authorization: bearer ") {
                        key = value.to_owned();
                    }
                }
                let mut body = vec![0; length];
                if reader.read_exact(&mut body).is_err() {
                    continue;
                }
                kept.lock().unwrap().push(key.clone());
                let status = status(&key);
                let answer = r#"{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}"#;
                let head = format!(
                    "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\nretry-after: 60\r\n\
                     connection: close\r\ncontent-length: {}\r\n\r\n",
                    answer.len()
                );
                let mut stream = reader.into_inner();
                drop(stream.write_all(head.as_bytes()));
                drop(stream.write_all(answer.as_bytes()));
            }
        });
        Lock { url, seen }
    }

    /// The keys of the requests since the last call, in order.
    pub(crate) fn seen(&self) -> Vec<String> {
        std::mem::take(&mut *self.seen.lock().unwrap())
    }
}

fn asked(gateway: &Server, model: &str, headers: &str) -> String {
    let headers = format!("content-type: application/json\r\n{headers}");
    gateway.request("POST", "/v1/chat/completions", &headers, &question(model))
}

#[test]
fn t_8_an_address_for_others_is_not_served_without_keys() {
    let place = Place::new("public");
    let open = place.write("open.toml", "[server]\nlisten = \"0.0.0.0:0\"\n");
    let ran = think(&["serve", "--config", &open], b"");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.contains("pass_through = true"), "{}", ran.err);
    let both = "[server]\npass_through = true\n[providers.openai]\napi_key = \"canary\"\n";
    let both = place.write("both.toml", both);
    let ran = think(&["serve", "--config", &both], b"");
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(
        ran.err.contains("providers.openai.api_key") && !ran.err.contains("canary"),
        "{}",
        ran.err
    );
}

#[test]
fn pass_through_callers_bring_their_own_key_and_it_goes_upstream() {
    let place = Place::new("through");
    let lock = Lock::new(|_| 200);
    let config = format!(
        "[server]\nlisten = \"0.0.0.0:0\"\npass_through = true\n\
         [providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\n",
        lock.url
    );
    let mut gateway = serve(&place, &config);
    gateway.addr = gateway.addr.replace("0.0.0.0", "127.0.0.1");
    let without = asked(&gateway, "there/m", "");
    assert!(without.starts_with("HTTP/1.1 401"), "{without}");
    for header in
        ["authorization: Bearer mine", "x-api-key: mine", "api-key: mine", "x-goog-api-key: mine"]
    {
        let answer = asked(&gateway, "there/m", &format!("{header}\r\n"));
        assert!(answer.starts_with("HTTP/1.1 200"), "{header}: {answer}");
    }
    assert_eq!(lock.seen(), ["mine"; 4]);
    let two = asked(&gateway, "there/m", "authorization: Bearer a\r\nx-api-key: b\r\n");
    assert!(two.starts_with("HTTP/1.1 400"), "{two}");
    assert_eq!(lock.seen(), [""; 0]);
}

#[test]
fn t_7_the_providers_key_goes_upstream_and_never_back() {
    let place = Place::new("own-key");
    let lock = Lock::new(|_| 200);
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"ours-canary\"\n",
        lock.url
    );
    let gateway = serve(&place, &config);
    let answer = asked(&gateway, "there/m", "authorization: Bearer mine\r\n");
    assert_eq!(lock.seen(), ["ours-canary"]);
    assert!(!answer.contains("canary"), "{answer}");
}

#[test]
fn a_refused_key_makes_room_for_the_next_and_a_session_stays_with_its_own() {
    let place = Place::new("pool");
    let lock = Lock::new(|key| match key {
        "k0" => 429,
        "k1" => 401,
        _ => 200,
    });
    let config = format!(
        "[providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\n\
         api_keys = [\"k0\", \"k1\", \"k2\", \"k3\"]\n",
        lock.url
    );
    let gateway = serve(&place, &config);
    for session in 0..12 {
        let header = format!("x-thinkthrough-session: s{session}\r\n");
        for _ in 0..2 {
            let answer = asked(&gateway, "there/m", &header);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            // Another key is no other model.
            assert!(!answer.contains("hops="), "{answer}");
        }
        let seen = lock.seen();
        let served: Vec<&String> =
            seen.iter().filter(|key| ["k2", "k3"].contains(&&***key)).collect();
        assert_eq!(served.len(), 2, "{seen:?}");
        assert_eq!(served[0], served[1], "{seen:?}");
    }
    // Both refused keys rest by now.
    for session in 0..12 {
        asked(&gateway, "there/m", &format!("x-thinkthrough-session: s{session}\r\n"));
    }
    assert!(lock.seen().iter().all(|key| key == "k2" || key == "k3"));
}

#[test]
fn a_fallback_answers_before_the_first_byte_and_says_so() {
    let place = Place::new("fallback");
    let down = Lock::new(|_| 503);
    let wrong = Lock::new(|_| 400);
    let config = format!(
        "[providers.down]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n\
         [providers.wrong]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n\
         [models.a]\nprovider = \"down\"\nfallback = [\"b\", \"sim/groq\"]\n\
         [models.b]\nprovider = \"down\"\n\
         [models.c]\nprovider = \"wrong\"\nfallback = [\"sim/groq\"]\n\
         [roles]\nreasoning = \"a\"\n",
        down.url, wrong.url
    );
    let gateway = serve(&place, &config);
    for name in ["a", "role:reasoning"] {
        let answer = asked(&gateway, name, "");
        assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("; hops=2"), "{answer}");
        assert!(answer.contains("zebra"), "{answer}");
    }
    // A request that is itself wrong goes to no fallback.
    let answer = asked(&gateway, "c", "");
    assert!(answer.starts_with("HTTP/1.1 400") && !answer.contains("hops="), "{answer}");
    let nobody = asked(&gateway, "role:nobody", "");
    assert!(nobody.starts_with("HTTP/1.1 404") && nobody.contains("reasoning"), "{nobody}");
}

#[test]
fn adr_router_a_utility_call_thinks_not_at_all_or_little_and_the_configuration_goes_before() {
    let (place, upstream) = (Place::new("utility"), Upstream::start(vec![chat("", "ok", None)]));
    let served = |model: &str, more: &str| {
        let config = format!(
            "[providers.own]\nextends = \"openrouter\"\nbase_url = \"{}\"\napi_key = \"k\"\n\
             [models.a]\nprovider = \"own\"\nmodel = \"{model}\"\n{more}\n[roles]\nutility = \"a\"\nreasoning = \"a\"\n",
            upstream.url
        );
        serve(&place, &config)
    };
    let sent = |gateway: &Server, role: &str| {
        let asked = json!({"model": format!("role:{role}"), "reasoning_effort": "high", "stream": true,
            "messages": [{"role": "user", "content": "A title for this?"}]});
        let json = "content-type: application/json\r\n";
        let answer = gateway.request("POST", "/v1/chat/completions", json, &asked.to_string());
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        upstream.last()
    };
    let gateway = served("deepseek/deepseek-v4", "");
    assert_eq!(sent(&gateway, "reasoning")["reasoning_effort"], "high");
    let quiet = sent(&gateway, "utility");
    assert_eq!(quiet["reasoning_effort"], serde_json::Value::Null, "{quiet}");
    assert_eq!(quiet["reasoning"], json!({"effort": "none"}), "{quiet}");
    let gateway = served("deepseek/deepseek-v4", "reasoning.effort = \"medium\"");
    let said = sent(&gateway, "utility");
    assert!(said.to_string().contains("medium"), "{said}");
}

#[test]
fn names_are_routed_in_the_order_of_the_contract() {
    let place = Place::new("routing");
    let (by_entry, by_prefix, by_star) =
        (Lock::new(|_| 200), Lock::new(|_| 200), Lock::new(|_| 200));
    let provider = |name: &str, lock: &Lock, more: &str| {
        format!("[providers.{name}]\nbase_url = \"{}\"\napi_key = \"{name}\"\n{more}", lock.url)
    };
    let wire = "wire = \"chat-completions\"\n";
    let config = [
        provider("one", &by_entry, wire),
        provider("two", &by_prefix, wire),
        provider("three", &by_star, wire),
        "[models.\"two/m\"]\nprovider = \"one\"\n".to_owned(),
        "[models.\"*\"]\nprovider = \"three\"\n".to_owned(),
    ];
    let gateway = serve(&place, &config.concat());
    for (model, expected) in [
        ("two/m", [1, 0, 0]),
        ("two/other", [0, 1, 0]),
        ("anything", [0, 0, 1]),
        ("nobody/anything", [0, 0, 1]),
    ] {
        assert!(asked(&gateway, model, "").starts_with("HTTP/1.1 200"), "{model}");
        let seen = [&by_entry, &by_prefix, &by_star].map(|lock| lock.seen().len());
        assert_eq!(seen, expected, "{model}");
    }
}

#[test]
fn t_4_keys_of_the_configuration_say_who_may_ask_for_what() {
    let place = Place::new("keys");
    let lock = Lock::new(|_| 200);
    let config = format!(
        "[server]\nlisten = \"0.0.0.0:0\"\n\
         [providers.there]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"ours\"\n\
         [providers.keyless]\nwire = \"chat-completions\"\nbase_url = \"{}\"\n[providers.groq]\n\
         [keys.alice]\nkey = \"alices-key-0123456789\"\n\
         [keys.bob]\nkey = \"bobs-key-0123456789\"\nmodels = [\"there/m*\", \"sim/groq\"]\nproviders = [\"there\"]\n",
        lock.url, lock.url
    );
    let mut gateway = serve(&place, &config);
    gateway.addr = gateway.addr.replace("0.0.0.0", "127.0.0.1");
    let status = |model: &str, header: &str| {
        asked(&gateway, model, header).get(9..12).unwrap_or_default().to_owned()
    };
    for key in ["alices-key-0123456789", "bobs-key-0123456789"] {
        for carrier in ["authorization: Bearer ", "x-api-key: ", "api-key: ", "x-goog-api-key: "] {
            assert_eq!(status("there/m1", &format!("{carrier}{key}\r\n")), "200", "{carrier}");
        }
    }
    // The gateway's own keys stay here.
    assert_eq!(lock.seen(), ["ours"; 8]);
    for carrier in ["", "authorization: Bearer no\r\n", "x-api-key: no\r\n", "api-key: a b\r\n"] {
        assert_eq!(status("there/m1", carrier), "401", "{carrier}");
    }
    let bob = "x-api-key: bobs-key-0123456789\r\n";
    for (model, expected) in
        [("there/m2", "200"), ("there/x", "404"), ("sim/groq", "404"), ("nobody", "404")]
    {
        assert_eq!(status(model, bob), expected, "{model}");
    }
    let listed = gateway.request("GET", "/v1/models", bob, "");
    assert!(!listed.contains("sim/"), "{listed}");
    assert!(gateway.request("GET", "/v1/models", "", "").starts_with("HTTP/1.1 401"));
    assert!(gateway.request("GET", "/p/there/v1/x", bob, "").starts_with("HTTP/1.1 403"));
    assert!(gateway.request("GET", "/livez", "", "").starts_with("HTTP/1.1 200"));
    // Without a key of the provider's, the caller's would have to go there; it does not. A server
    // of one's own may need none.
    lock.seen();
    let alice = "x-api-key: alices-key-0123456789\r\n";
    assert_eq!(status("keyless/m", alice), "200");
    assert_eq!(lock.seen(), [""]);
    assert_eq!(status("keyless/m", bob), "404");
    let refused = asked(&gateway, "groq/m", alice);
    assert!(refused.starts_with("HTTP/1.1 404") && refused.contains("api_key"), "{refused}");
    assert!(lock.seen().is_empty());
}

#[test]
fn t_5_a_stored_key_opens_until_it_is_taken_back() {
    let place = Place::new("stored");
    let config = place.write("config.toml", "[store]\nurl = \"sqlite:kept.db\"\n");
    let keys = |args: &[&str]| {
        let ran = place.think(&[&["keys", "--config", &config], args].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran
    };
    let made = keys(&["create", "alice", "--json"]).json();
    let key = made["key"].as_str().unwrap().to_owned();
    let gateway = serve(&place, "[store]\nurl = \"sqlite:kept.db\"\n");
    let status = |header: &str| {
        asked(&gateway, "sim/groq", header).get(9..12).unwrap_or_default().to_owned()
    };
    let bearer = format!("authorization: Bearer {key}\r\n");
    assert_eq!(
        [status(&bearer), status(""), status("x-api-key: other\r\n")],
        ["200", "401", "401"]
    );
    keys(&["revoke", "alice"]);
    std::thread::sleep(std::time::Duration::from_secs(5));
    // A store that is too busy to say opens nothing either.
    let refused = status(&bearer);
    assert!(["401", "503"].contains(&refused.as_str()), "{refused}");
    // The last key is gone, and the door stays shut.
    assert_eq!(status(""), "401");
}
