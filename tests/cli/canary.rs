//! Sends secrets through every input of a gateway, and searches for them in all its stored data,
//! output and requests to third parties.

use crate::collector::Collector;
use crate::place::Place;
use crate::program::command;
use crate::server::{PATIENCE, Server};
use crate::ui;
use crate::upstream::Upstream;
use serde_json::json;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ROUNDS: usize = 12;

/// Unique secrets in a well-known format (tokens of GitHub), each used in one place only.
#[derive(Clone, Default)]
struct Canaries(Arc<Mutex<Vec<(String, String)>>>);

impl Canaries {
    fn fly(&self, door: &str) -> String {
        let mut all = self.0.lock().unwrap();
        let letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789".as_bytes();
        let mut state = all.len() as u64 + 1;
        let drawn = (0..36).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(letters[usize::try_from(state >> 33).unwrap() % letters.len()])
        });
        let canary = format!("gh{}_{}", "o", drawn.collect::<String>());
        all.push((door.to_owned(), canary.clone()));
        canary
    }

    /// The inputs whose secrets are in these bytes, in plain text, hex or base64.
    fn found(&self, bytes: &[u8]) -> Vec<String> {
        let (all, text) = (self.0.lock().unwrap(), String::from_utf8_lossy(bytes));
        let is_there = |canary: &str| {
            let hex: String = canary.bytes().map(|byte| format!("{byte:02x}")).collect();
            // Base64 depends on the offset of the text modulo 3, so all three alignments are
            // searched.
            let coded = (0..3).map(|skip| base64(&canary.as_bytes()[skip..]));
            let forms = [canary.to_owned(), hex.to_uppercase(), hex];
            forms.into_iter().chain(coded).any(|form| text.contains(&form))
        };
        let mut doors: Vec<String> =
            all.iter().filter(|(_, it)| is_there(it)).map(|(door, _)| door.clone()).collect();
        doors.dedup();
        doors
    }
}

/// Base64 of the complete groups of three bytes.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let groups = bytes.chunks_exact(3).flat_map(|group| {
        let bits = group.iter().fold(0_usize, |bits, byte| bits << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|at| char::from(LETTERS[bits >> at & 63]))
    });
    groups.collect()
}

/// A provider whose thoughts, answers and errors contain secrets. Every fourth answer is an error.
fn provider(canaries: &Canaries) -> Upstream {
    let (canaries, mut asked) = (canaries.clone(), 0);
    Upstream::answering(move |_| {
        asked += 1;
        if asked % 4 == 0 {
            let message = format!("no, because of {}", canaries.fly("upstream error"));
            return json!({"error": {"message": message, "type": "invalid_request_error"}})
                .to_string();
        }
        let function =
            json!({"name": "look", "arguments": json!({"at": canaries.fly("call")}).to_string()});
        let message = json!({
            "role": "assistant",
            "content": format!("It is {}.", canaries.fly("answer")),
            "reasoning_content": format!("I think of {}.", canaries.fly("thought")),
            "reasoning_details": [{"type": "reasoning.encrypted", "data": canaries.fly("seal")}],
            "tool_calls": [{"id": format!("call_00_{asked:024}"), "type": "function", "function": function}],
        });
        let choice = json!({"index": 0, "message": message, "finish_reason": "tool_calls"});
        json!({"id": "x", "model": "m", "choices": [choice]}).to_string()
    })
}

fn ask(gateway: &Server, canaries: &Canaries) {
    let fly = |door: &str| canaries.fly(door);
    let call = json!({"id": fly("call id"), "type": "function",
        "function": {"name": "look", "arguments": json!({"at": fly("argument")}).to_string()}});
    let body = json!({
        "model": "m", "user": fly("user id"), "metadata": {"note": fly("metadata")},
        "prompt_cache_key": fly("cache key"),
        "tools": [{"type": "function", "function": {"name": "look", "description": fly("tool")}}],
        "messages": [
            {"role": "system", "content": fly("system")},
            {"role": "user", "content": fly("user")},
            {"role": "assistant", "content": fly("said"), "reasoning_content": fly("own thought"), "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": fly("tool result")},
        ],
    });
    let headers = format!(
        "content-type: application/json\r\nauthorization: Bearer {}\r\nx-thinkthrough-session: {}\r\nx-odd: {}\r\n",
        fly("credential"),
        fly("session"),
        fly("header")
    );
    let path = format!("/v1/chat/completions?odd={}", fly("address"));
    gateway.request("POST", &path, &headers, &body.to_string());
    // Names with a secret between other words, before and after the place where long names are cut.
    let around = |door: &str, n: usize| format!("{}deploy\n{}\nend", "x".repeat(n), fly(door));
    let hello = json!([{"role": "user", "content": "Hello."}]);
    for before in [0, 185, 400] {
        let key = around("cache key between lines", before);
        let body = json!({"model": "m", "prompt_cache_key": key, "messages": hello});
        gateway.request(
            "POST",
            "/v1/chat/completions",
            "content-type: application/json\r\n",
            &body.to_string(),
        );
        let name = format!("{}run\t{}\tnow", "x".repeat(before), fly("session between tabs"));
        let headers =
            format!("content-type: application/json\r\nx-thinkthrough-session: {name}\r\n");
        let body = json!({"model": around("model between lines", before), "messages": hello});
        gateway.request("POST", "/v1/chat/completions", &headers, &body.to_string());
    }
    // Error messages may quote the request.
    let wrong = json!({"model": fly("model"), "messages": []}).to_string();
    gateway.request("POST", "/v1/chat/completions", "content-type: application/json\r\n", &wrong);
    gateway.request("GET", &format!("/v1/{}", fly("path")), "", "");
    let broken = format!("{{\"model\": \"{}\"", fly("broken body"));
    gateway.request("POST", "/v1/chat/completions", "content-type: application/json\r\n", &broken);
}

/// Waits until all traces are in the database.
fn settled(gateway: &Server) {
    let began = Instant::now();
    loop {
        let metrics = gateway.request("GET", "/metrics", "", "");
        let line = metrics.lines().find(|line| line.starts_with("thinkthrough_traces_waiting"));
        let waiting = line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        if waiting.is_none_or(|waiting| waiting == 0.0) {
            return;
        }
        assert!(began.elapsed() < PATIENCE, "{metrics}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Collects the viewer's page, and its answers to all requests of its pages.
fn viewed(gateway: &Server, traces: &[String], places: &mut Vec<(String, Vec<u8>)>) {
    let link = ui::link(gateway);
    let (_, token) = link.split_once("#/sign-in/").unwrap();
    let headers = "content-type: application/json\r\nx-thinkthrough-viewer: 1\r\n";
    let order = json!({"link": token}).to_string();
    let answer = gateway.request("POST", "/ui/api/sign-in", headers, &order);
    let cookie = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
    let (cookie, _) = cookie.unwrap_or_else(|| panic!("{answer}")).split_once(';').unwrap();
    let headers = format!("cookie: {cookie}\r\n");
    let mut paths: Vec<String> =
        ["", "api/me", "api/house", "api/traces", "api/sessions", "api/sums"]
            .map(|path| format!("/ui/{path}"))
            .to_vec();
    paths.push("/ui/api/traces?q=think&in=thoughts".to_owned());
    paths.extend(traces.iter().map(|id| format!("/ui/api/traces/{id}")));
    for path in paths {
        let shown = gateway.request("GET", &path, &headers, "");
        assert!(shown.starts_with("HTTP/1.1 200"), "{path}: {shown}");
        assert!(!path.contains("/traces/") || shown.contains("masked:"), "{path}: {shown}");
        places.push((format!("the viewer's {path}"), shown.into_bytes()));
    }
}

fn diagnosed(place: &Place, file: &str, places: &mut Vec<(String, Vec<u8>)>, secret: &str) {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "What is it?"}]});
    let request = place.write("request.json", &body.to_string());
    for args in [
        vec!["config", "check", file],
        vec!["settings", "--config", file],
        vec!["settings", "--json", "--config", file],
        vec!["models", "--config", file],
        vec!["models", "--rules", "--config", file],
        vec!["models", "--json", "--config", file],
        vec!["explain", "--config", file, "-m", "m", request.as_str()],
        vec!["explain", "--json", "--config", file, "-m", "m", request.as_str()],
        vec!["explain", "--config", file, "-m", "m", "--tenant", "local", request.as_str()],
        vec!["doctor", "--only", "edge-04"],
        vec!["doctor", "--json", "--only", "edge-04"],
        vec!["sessions", "list", "--config", file],
        vec!["keys", "list", "--config", file],
    ] {
        let mut ran = command(&args);
        ran.env("HOME", place.home()).env("XDG_DATA_HOME", place.home()).env("ODD_TOKEN", secret);
        let ran = ran.output().unwrap();
        let said = [ran.stdout, ran.stderr].concat();
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&said));
        // The lists are empty, because there are no conversations and keys.
        let may_be_silent = ["config", "sessions", "keys"].contains(&args[0]);
        assert!(may_be_silent || !said.is_empty(), "{args:?} says nothing");
        places.push((args.join(" "), said));
    }
}

/// Collects all files below a folder, except files of the test itself.
fn files(folder: &Path, all: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            files(&path, all);
        } else if path
            .file_name()
            .is_some_and(|name| name != "config.toml" && name != "request.json")
        {
            all.push((path.display().to_string(), std::fs::read(&path).unwrap_or_default()));
        }
    }
}

#[test]
fn v_4_no_secret_of_any_door_stands_anywhere() {
    let (place, canaries, collector) =
        (Place::new("canary"), Canaries::default(), Collector::start());
    let upstream = provider(&canaries);
    let config = format!(
        "[server]\nlog = \"json\"\n[providers.own]\nextends = \"deepseek\"\nbase_url = \"{}\"\napi_key = \"{}\"\n\
         headers = {{ x-own = \"{}\" }}\n[models.m]\nprovider = \"own\"\nmodel = \"deepseek-v4-pro\"\n\
         [store]\nurl = \"sqlite:kept.db\"\n",
        upstream.url,
        canaries.fly("configured key"),
        canaries.fly("configured header"),
    );
    let file = place.write("config.toml", &config);
    let mut serve = command(&["serve", "--config", &file, "--listen", "127.0.0.1:0"]);
    serve.env("HOME", place.home()).env("XDG_DATA_HOME", place.home());
    let environment = canaries.fly("environment");
    serve.env("ODD_TOKEN", &environment);
    serve.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    let gateway = Server::run(serve);
    for _ in 0..ROUNDS {
        ask(&gateway, &canaries);
    }
    settled(&gateway);
    let metrics = gateway.request("GET", "/metrics", "", "");
    let mut places = vec![("metrics".to_owned(), metrics.into_bytes())];
    for (name, args) in [
        ("list", vec!["list"]),
        ("search", vec!["search", "think"]),
        ("jsonl", vec!["export", "--format", "jsonl"]),
        ("md", vec!["export", "--format", "md"]),
        ("html", vec!["export", "--format", "html"]),
    ] {
        let ran = place.think(&[&["traces"][..], &args, &["--config", &file]].concat());
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
        assert!(name != "jsonl" || ran.out.contains("I think of [masked:"), "{}", ran.out);
        places.push((format!("traces {name}"), (ran.out + &ran.err).into_bytes()));
    }
    let listed = place.think(&["traces", "list", "--json", "--config", &file]).out;
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let traces: Vec<String> =
        listed.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    assert!(traces.len() > ROUNDS, "{listed}");
    for args in traces.iter().flat_map(|id| [vec![id.as_str()], vec![id, "--json"]]) {
        let ran = place.think(&[&["traces", "show"][..], &args, &["--config", &file]].concat());
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        places.push((format!("traces show {}", args.join(" ")), (ran.out + &ran.err).into_bytes()));
    }
    viewed(&gateway, &traces, &mut places);
    diagnosed(&place, &file, &mut places, &environment);
    files(place.home(), &mut places);
    gateway.signal(rustix::process::Signal::TERM);
    let (_, said) = gateway.ends(PATIENCE);
    places.push(("log".to_owned(), said.into_bytes()));
    places.extend(collector.got().into_iter().map(|got| ("collector".to_owned(), got.body)));
    files(place.home(), &mut places);
    let leaks: Vec<String> = places
        .iter()
        .flat_map(|(place, bytes)| {
            canaries.found(bytes).into_iter().map(move |door| format!("{door} in {place}"))
        })
        .collect();
    let flown = canaries.0.lock().unwrap().len();
    assert!(flown > 200, "{flown}");
    assert!(leaks.is_empty(), "{} of {flown} canaries:\n{}", leaks.len(), leaks.join("\n"));
}
