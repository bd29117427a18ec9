//! `think sessions` and `think erase` on the built program.

use crate::program::{Ran, command};
use crate::server::PATIENCE;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A home of its own.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let root =
            std::env::temp_dir().join(format!("think-sessions-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        Home(root)
    }

    fn think(&self, args: &[&str]) -> Ran {
        let output = command(args)
            .current_dir(&self.0)
            .env("HOME", &self.0)
            .env("XDG_CONFIG_HOME", self.0.join("config"))
            .env("XDG_DATA_HOME", self.0.join("data"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Imports a conversation with every kind of block. Returns its id.
    fn import(&self) -> String {
        let file = self.write("talk.jsonl", TALK);
        let ran = self.think(&["sessions", "import", &file]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.out.trim().to_owned()
    }

    fn data(&self) -> PathBuf {
        self.0.join("data/thinkthrough")
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

const TALK: &str = r#"{"speaker":"human","blocks":[{"type":"text","text":"Why is the sky blue?\nSay it shortly."}]}
{"speaker":"ai","blocks":[{"type":"thinking","thought":"The sky scatters light.","sourceField":"thinking","signature":"c2ln"},{"type":"tool_call","id":"1","name":"look","parameters":{"up":1.50}}],"origin":{"provider":"p","endpoint":"https://p.example","model":"m","account":null}}
{"speaker":"tool","blocks":[{"type":"tool_response","callId":"1","name":"look","result":"blue"}]}
{"speaker":"ai","blocks":[{"type":"text","text":"Short waves scatter more."}],"origin":{"provider":"p","endpoint":"https://p.example","model":"m","account":null},"finishReason":"stop"}
"#;

#[test]
fn secrets_are_masked_in_what_is_exported_to_be_shared_and_nowhere_else() {
    let home = Home::new("masked");
    let secret = format!("gh{}_{}", "p", "a1B2c3D4e5F6".repeat(3));
    let lines = [
        json!({"speaker": "human", "blocks": [{"type": "text", "text": format!("use {secret}")}]}),
        json!({"speaker": "ai", "blocks": [
            {"type": "thinking", "thought": format!("so {secret}\n"), "sourceField": "thinking", "signature": secret},
            {"type": "thinking", "thought": "fine", "sourceField": "thinking", "signature": secret},
            {"type": "tool_call", "id": "c1", "name": "run", "parameters": {"password": "hunter2x", "n": 1}},
        ]}),
    ];
    let file = home.write("talk.jsonl", &lines.map(|line| line.to_string()).join("\n"));
    let id = home.think(&["sessions", "import", &file]).out.trim().to_owned();
    let plain = home.think(&["sessions", "export", &id]).out;
    assert_eq!(plain.matches(&secret).count(), 4, "{plain}");
    let shared = home.think(&["sessions", "export", &id, "--mask"]).lines();
    let text =
        |pointer: &str, line: usize| shared[line].pointer(pointer).unwrap().as_str().unwrap();
    assert!(text("/blocks/0/text", 0).starts_with("use [masked:github-token:"));
    assert!(text("/blocks/0/thought", 1).starts_with("so [masked:github-token:"));
    assert_eq!(shared[1].pointer("/blocks/0/signature"), None, "it sealed another thought");
    assert_eq!(text("/blocks/1/signature", 1), secret, "what a provider sealed stays");
    assert!(text("/blocks/2/parameters/password", 1).starts_with("[masked:password:"));
    assert_eq!(shared[1].pointer("/blocks/2/parameters/n"), Some(&json!(1)));
    let page = home.think(&["sessions", "export", &id, "--mask", "--format", "html"]).out;
    assert!(page.contains("[masked:github-token:") && !page.contains(&secret));
}

#[test]
fn a_conversation_is_imported_listed_shown_and_exported_exactly() {
    let home = Home::new("whole");
    let id = home.import();
    let list = home.think(&["sessions", "list", "--json"]).json();
    let first = &list[0];
    assert_eq!(
        json!([first["id"], first["title"], first["model"], first["messages"]]),
        json!([id, "Why is the sky blue?", "p/m", 4])
    );
    assert!(first["updatedAt"].as_u64().unwrap() > 1_700_000_000_000);
    let keys: Vec<&String> = first.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["id", "title", "model", "folder", "messages", "updatedAt"]);
    let line = home.think(&["sessions", "list"]).out;
    assert!(line.starts_with(&id) && line.contains("just now") && line.contains("sky"), "{line}");

    let exported = home.think(&["sessions", "export", head(&id, 4)]);
    assert_eq!((exported.code, exported.out.as_str()), (Some(0), TALK));
    let shown = home.think(&["sessions", "show", &id, "--json"]).json();
    let lines: Vec<Value> = TALK.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(shown["contents"], Value::Array(lines));
    let text = home.think(&["sessions", "show", &id]).out;
    for part in ["you:", "~ The sky scatters light.", "p/m:", "-> look({\"up\":1.50})", "<- blue"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn phase3_markdown_oq4_every_form_comes_back_block_for_block_and_html_is_a_page() {
    let home = Home::new("formats");
    let id = home.import();
    for thoughts in ["callout", "details", "fenced"] {
        let page =
            home.think(&["sessions", "export", &id, "--format", "md", "--thoughts", thoughts]);
        assert!(page.out.starts_with("# Why is the sky blue?"), "{}", page.out);
        let file = home.write("talk.md", &page.out);
        let again = home.think(&["sessions", "import", &file]);
        assert_eq!(again.code, Some(0), "{}", again.err);
        let again = home.think(&["sessions", "export", again.out.trim()]).out;
        assert_eq!(again, TALK, "{thoughts}");
    }
    let without = home.think(&["sessions", "export", &id, "--thoughts", "off"]).out;
    assert!(!without.contains("thinking") && without.contains("Short waves"), "{without}");
    let html = home.think(&["sessions", "export", &id, "--format", "html"]).out;
    assert!(html.starts_with("<!") && html.contains("data-ai-reasoning"), "{html}");
}

#[test]
fn hidden_thoughts_are_hidden_here_too() {
    let home = Home::new("hidden");
    let id = home.import();
    home.write("config/thinkthrough/config.toml", "[reasoning]\nincludeInResponse = false\n");
    for args in [
        &["sessions", "show", &id][..],
        &["sessions", "show", &id, "--json"],
        &["sessions", "export", &id],
        &["sessions", "export", &id, "--format", "md"],
        &["sessions", "search", "scatters"],
    ] {
        let ran = home.think(args);
        assert_eq!(ran.code, Some(0), "{args:?} {}", ran.err);
        assert!(!ran.out.contains("scatters light"), "{args:?}: {}", ran.out);
    }
    let refused = home.think(&["sessions", "search", "x", "--in", "thoughts"]);
    assert_eq!(refused.code, Some(1), "{}", refused.out);
}

#[test]
fn phase3_search_says_where_and_keeps_thoughts_and_answers_apart() {
    let home = Home::new("search");
    let id = home.import();
    let places = |args: &[&str]| -> Vec<Value> {
        let mut full = vec!["sessions", "search", "--json"];
        full.extend_from_slice(args);
        let lines = home.think(&full).lines();
        lines
            .iter()
            .map(|hit| json!([hit["id"], hit["message"], hit["block"], hit["in"]]))
            .collect()
    };
    assert_eq!(places(&["SKY"]), [json!([id, 0, 0, "question"]), json!([id, 1, 0, "thought"])]);
    assert_eq!(places(&["sky", "--in", "thoughts"]), [json!([id, 1, 0, "thought"])]);
    assert_eq!(places(&["scatter", "--in", "answers"]), [json!([id, 3, 0, "answer"])]);
    assert_eq!(places(&["sky", "--limit", "1"]).len(), 1);
    assert_eq!(places(&["sky", "--session", head(&id, 5)]).len(), 2);
    assert_eq!(places(&["blue", "--in", "all"]).len(), 2);
    let text = home.think(&["sessions", "search", "waves"]).out;
    assert_eq!(
        text,
        format!("{id}  Why is the sky blue?  message 3, answer: Short waves scatter more.\n")
    );
}

#[test]
fn what_is_deleted_or_erased_is_gone() {
    let home = Home::new("gone");
    let (first, second, third) = (home.import(), home.import(), home.import());
    let ids = || -> Vec<String> {
        let list = home.think(&["sessions", "list", "--json"]).json();
        let ids = list.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap().to_owned());
        ids.collect()
    };
    assert_eq!(ids(), [third.clone(), second.clone(), first.clone()]);
    assert_eq!(home.think(&["sessions", "delete", "--yes", &second, "zzzz"]).code, Some(1));
    assert_eq!(ids().len(), 3, "nothing goes unless all are there");
    assert_eq!(home.think(&["sessions", "delete", "--yes", &second]).code, Some(0));
    assert_eq!(home.think(&["erase", "--yes", "--session", &third]).code, Some(0));
    assert_eq!(ids(), [first]);
    let missing = home.think(&["sessions", "show", &second]);
    assert_eq!(
        (missing.code, missing.err),
        (
            Some(1),
            format!(
                "error: there is no session `{second}`; `think sessions list` shows those there are\n"
            )
        )
    );
    let erased = home.think(&["erase", "--yes", "--tenant", "local"]);
    assert_eq!(
        (erased.code, erased.err.as_str()),
        (Some(0), "tenant `local` is erased, with 1 session\n")
    );
    assert!(ids().is_empty());
    assert_eq!(home.think(&["erase", "--yes", "--tenant", "local"]).code, Some(1));
    for args in [&["erase"][..], &["erase", "--session", "a", "--tenant", "b"]] {
        assert_eq!(home.think(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn nothing_is_destroyed_unasked_where_nobody_can_be_asked() {
    let home = Home::new("unasked");
    let id = home.import();
    for args in [
        &["sessions", "delete", &id][..],
        &["erase", "--session", &id],
        &["erase", "--tenant", "local"],
        &["erase", "--tenant", "nobody"],
    ] {
        let ran = home.think(args);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""), "{args:?}: {}", ran.err);
        assert!(ran.err.contains("add `--yes`") && ran.err.lines().count() == 1, "{}", ran.err);
    }
    assert_eq!(home.think(&["sessions", "show", &id]).code, Some(0), "it is still there");
}

#[test]
fn whoever_only_looks_makes_no_store() {
    let home = Home::new("looks");
    assert_eq!(home.think(&["sessions", "list", "--json"]).json(), json!([]));
    assert_eq!(home.think(&["sessions", "search", "x"]).code, Some(0));
    assert_eq!(home.think(&["sessions", "show", "x"]).code, Some(1));
    assert_eq!(home.think(&["erase", "--yes", "--tenant", "local"]).code, Some(1));
    assert!(!home.data().exists());
}

#[test]
fn the_store_is_where_the_contract_says_and_nobody_else_can_read_it() {
    let home = Home::new("place");
    home.import();
    let mode = |path: PathBuf| {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(&path).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode(home.data()), 0o700);
    for name in ["thinkthrough.db", "thinkthrough.key"] {
        assert_eq!(mode(home.data().join(name)), 0o600, "{name}");
    }
    let bytes = fs::read(home.data().join("thinkthrough.db")).unwrap();
    let text = String::from_utf8_lossy(&bytes);
    for secret in ["sky", "scatter", "blue", "shortly", "p.example", "c2ln"] {
        assert!(!text.contains(secret), "{secret}");
    }
    fs::write(home.data().join("thinkthrough.key"), "0".repeat(64)).unwrap();
    let refused = home.think(&["sessions", "list"]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains("is not the one that the store"), "{}", refused.err);
    assert_eq!(refused.err.lines().count(), 1, "one sentence");
}

#[test]
fn what_is_no_conversation_is_not_imported() {
    let home = Home::new("import");
    for (name, text, expected) in [
        ("a.jsonl", "{\"speaker\":\"human\"}\n", "line 1"),
        ("b.jsonl", "", "holds no message"),
        ("c.jsonl", "hello", "line 1"),
    ] {
        let file = home.write(name, text);
        let ran = home.think(&["sessions", "import", &file]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{name}");
        assert!(ran.err.contains(expected), "{name}: {}", ran.err);
    }
    assert_eq!(home.think(&["sessions", "import", "absent.jsonl"]).code, Some(1));
    assert!(!home.data().exists());
}

fn contents(home: &Home, id: &str) -> Vec<Value> {
    home.think(&["sessions", "export", id]).lines()
}

#[test]
fn ask_goes_on_with_the_latest_conversation_or_a_named_one() {
    let home = Home::new("ask");
    let ask = |more: &[&str], question: &str| -> Value {
        let mut args = vec!["ask", "-m", "sim/kimi-k2", "--json"];
        args.extend_from_slice(more);
        args.push(question);
        home.think(&args).json()
    };
    assert_eq!(ask(&[], "What is in this folder?")["session"], Value::Null);
    assert!(!home.data().exists(), "nothing is stored unless it is asked for");
    let first = ask(&["--continue"], "What is in this folder? Think first.");
    let id = first["session"].as_str().unwrap().to_owned();
    let said = contents(&home, &id);
    let speakers: Vec<&str> = said.iter().map(|it| it["speaker"].as_str().unwrap()).collect();
    assert_eq!(speakers, ["human", "ai", "tool", "ai"]);
    assert_eq!(said[1]["blocks"][0]["type"], "thinking");
    assert_eq!(said[1]["origin"]["provider"], "sim");
    // The strict simulator refuses a follow-up whose thoughts are not sent back.
    let second = ask(&["--continue"], "And now?");
    assert_eq!(second["session"], Value::String(id.clone()));
    let after = contents(&home, &id);
    assert_eq!(after[..said.len()], said);
    assert!(after.len() > said.len());
    home.import();
    assert_eq!(
        ask(&["--session", head(&id, 5)], "Still there?")["session"],
        Value::String(id.clone())
    );
    let list = home.think(&["sessions", "list", "--json"]).json();
    assert_eq!((&list[0]["id"], &list[0]["model"]), (&json!(id), &json!("sim/kimi-k2")));
    let file = home.write("h.jsonl", "");
    for args in [
        &["ask", "--history", &file, "--continue", "x"][..],
        &["ask", "--history", &file, "--session", &id, "x"],
        &["ask", "--continue", "--session", &id, "x"],
    ] {
        assert_eq!(home.think(args).code, Some(2), "{args:?}");
    }
    assert_eq!(home.think(&["ask", "-m", "sim/default", "--session", "zz", "x"]).code, Some(1));
}

#[test]
fn c_6_an_ask_that_is_killed_keeps_what_was_said() {
    let home = Home::new("killed");
    let url = stalling();
    let config = format!(
        "[providers.slow]\nwire = \"chat-completions\"\nbase_url = \"{url}\"\napi_key = \"k\"\n"
    );
    home.write("config/thinkthrough/config.toml", &config);
    let mut ask = command(&["ask", "-m", "slow/m", "--continue", "Will you answer? Think first."])
        .current_dir(&home.0)
        .env("HOME", &home.0)
        .env("XDG_CONFIG_HOME", home.0.join("config"))
        .env("XDG_DATA_HOME", home.0.join("data"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Until the draft is there.
    let began = Instant::now();
    let draft = || {
        let list = home.think(&["sessions", "list", "--json"]).json();
        let id = list[0]["id"].as_str()?.to_owned();
        let shown = home.think(&["sessions", "show", &id, "--json"]).json();
        (shown["contents"].as_array()?.len() > 1).then_some(id)
    };
    let mut partial = draft();
    while partial.is_none() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
        partial = draft();
    }
    ask.kill().unwrap();
    ask.wait().unwrap();
    let said = contents(&home, &partial.expect("what was said is kept while it is said"));
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!((&said[0]["speaker"], &said[1]["partial"]), (&json!("human"), &json!(true)));
    assert_eq!(said[1]["blocks"][0]["thought"], "let me see, ");
}

/// An upstream that thinks a little, and then stays silent.
fn stalling() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = [0; 1024];
        let _ = std::io::Read::read(&mut stream, &mut head);
        let delta =
            json!({"choices": [{"index": 0, "delta": {"reasoning_content": "let me see, "}}]});
        let answer =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {delta}\n\n");
        std::io::Write::write_all(&mut stream, answer.as_bytes()).unwrap();
        // Longer than anybody waits.
        std::thread::sleep(2 * PATIENCE);
    });
    url
}

fn head(id: &str, letters: usize) -> &str {
    id.get(..letters).unwrap()
}
