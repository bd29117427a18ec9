//! `think ask` without thoughts in the context, against every simulated provider behind a real
//! socket. Providers that demand thoughts refuse in one clear sentence. The others answer, and no
//! thought reaches them.

use crate::place::Place;
use crate::program::{Ran, think};
use crate::server::Server;
use serde_json::Value;

/// The simulators that refuse a tool loop without its thoughts, with words of their refusals.
const DEMANDING: [(&str, &[&str]); 18] = [
    ("anthropic-manual", FIRST_BLOCK),
    ("bedrock", FIRST_BLOCK),
    (
        "deepseek-v32",
        &["Missing `reasoning_content` field in the assistant message at message index 1"],
    ),
    ("deepseek-v4", IN_THINKING_MODE),
    ("deepseek-v4-everywhere", IN_THINKING_MODE),
    (
        "deepseek-v4-messages",
        &["The content[].thinking in the thinking mode must be passed back to the API"],
    ),
    (
        "deepseek-v4-responses",
        &["The `reasoning_text` in the thinking mode must be passed back to the API"],
    ),
    ("default", NOT_AT_INDEX),
    ("gemini-3", NO_SIGNATURE),
    ("gemini-3-chat", NO_SIGNATURE),
    ("kimi-k2", NOT_AT_INDEX),
    ("kimi-k3", NOT_AT_INDEX),
    ("mimo", &["Param Incorrect"]),
    ("openrouter", FIRST_BLOCK),
    ("responses-stateful", NO_ITEM),
    ("responses-stateless", NO_ITEM),
    ("vertex-claude", FIRST_BLOCK),
    (
        "vertex-gemini-3",
        &[
            "function call `list_directory` in the 2. content block is missing a `thought_signature`",
        ],
    ),
];

const FIRST_BLOCK: &[&str] = &[
    "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
    "must start with a thinking block",
];
const IN_THINKING_MODE: &[&str] =
    &["The `reasoning_content` in the thinking mode must be passed back to the API"];
const NOT_AT_INDEX: &[&str] = &[
    "thinking is enabled but reasoning_content is missing in assistant tool call message at index 1",
];
const NO_SIGNATURE: &[&str] = &[
    "Function call is missing a thought_signature in functionCall parts",
    "function call `default_api:list_directory` , position 2",
];
const NO_ITEM: &[&str] = &[
    "Item 'fc_",
    "of type 'function_call' was provided without its required 'reasoning' item: 'rs_",
];

/// The simulators that accept it.
const LENIENT: [&str; 16] = [
    "anthropic-bound",
    "anthropic-omitted",
    "cerebras",
    "cohere",
    "deepseek-r1",
    "groq",
    "interactions",
    "llamacpp-gpt-oss",
    "minimax-tags",
    "mistral",
    "ollama",
    "qwen",
    "vllm",
    "xai",
    "xai-chat",
    "zai",
];

const WITHOUT: &str = "reasoning.includeInContext=false";
const AUTO: &str = "reasoning.includeInContext=auto";

fn listed() -> Vec<Value> {
    think(&["sim", "--list", "--json"], b"").json().as_array().unwrap().clone()
}

/// The simulators behind a socket, and a folder to ask them from.
struct Bench {
    place: Place,
    sim: Server,
    listed: Vec<Value>,
}

impl Bench {
    fn new(name: &str) -> Self {
        Bench { place: Place::new(name), sim: Server::start("sim", &[]), listed: listed() }
    }

    /// Asks a simulator as the provider that it imitates, with a history of its own.
    fn ask(&self, id: &str, set: &str, question: &str) -> Ran {
        let row = self.listed.iter().find(|row| row["id"] == id).unwrap();
        let of = |key: &str| row[key].as_str().unwrap();
        let rule = match of("provider") {
            // This simulator imitates no provider, so that it gets the rule of its row in the list.
            "" => "extends = \"openai-compatible\"\ncontract = { return = \"tool-calls\", required = true, field = \"reasoning_content\" }".to_owned(),
            provider => format!("extends = \"{provider}\""),
        };
        let config = format!(
            "[providers.own]\n{rule}\nwire = \"{}\"\nbase_url = \"http://{}/{id}\"\napi_key = \"k\"\n",
            of("wire"),
            self.sim.addr
        );
        let config = self.place.write("config.toml", &config);
        let history = self.place.file(&format!("{id}.jsonl"));
        let model = format!("own/{}", of("model"));
        let args =
            ["--config", &config, "-m", &model, "--history", &history, "--set", set, question];
        self.place.ask(&args)
    }
}

const QUESTION: &str = "What is in this folder? Think first.";
const FOLLOW_UP: &str = "Read needle.txt: what does it say?";

#[test]
fn every_simulator_is_known_to_demand_thoughts_or_not_to() {
    let mut known: Vec<&str> = DEMANDING.iter().map(|(id, _)| *id).chain(LENIENT).collect();
    known.sort_unstable();
    let listed = listed();
    let mut ids: Vec<&str> = listed.iter().map(|row| row["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    assert_eq!(known, ids);
}

#[test]
fn without_thoughts_those_that_demand_them_refuse_in_one_sentence() {
    let bench = Bench::new("demanding");
    let remedy =
        "the thought of message 1 was left out by `reasoning.includeInContext`; set that to `auto`";
    for (id, words) in DEMANDING {
        let ran = bench.ask(id, WITHOUT, QUESTION);
        assert_eq!(ran.code, Some(1), "{id}: {}", ran.out);
        let errors: Vec<_> = ran.err.lines().filter(|line| line.starts_with("error:")).collect();
        assert_eq!(errors.len(), 1, "{id}: {}", ran.err);
        for word in words {
            assert!(errors[0].contains(word), "{id}: {}", errors[0]);
        }
        assert!(errors[0].ends_with(remedy), "{id}: {}", errors[0]);
    }
}

#[test]
fn without_thoughts_no_thought_arrives_at_any_lenient_simulator() {
    let bench = Bench::new("lenient");
    for id in LENIENT {
        let first = bench.ask(id, WITHOUT, QUESTION);
        assert_eq!(first.code, Some(0), "{id}: {}", first.err);
        assert!(first.out.contains("needle.txt"), "{id}: {}", first.out);
        let second = bench.ask(id, WITHOUT, FOLLOW_UP);
        assert_eq!(second.code, Some(0), "{id}: {}", second.err);
        assert!(second.out.contains("the needle is blue"), "{id}: {}", second.out);
    }
    // With its thoughts the log names them, so that the log above would have shown any.
    assert_eq!(bench.ask("kimi-k2", AUTO, QUESTION).code, Some(0));
    let log = bench.sim.stop();
    for id in LENIENT {
        let head = format!("{id}: ");
        let lines: Vec<_> = log.lines().filter(|line| line.starts_with(&head)).collect();
        assert!(lines.len() >= 4, "{id}: two rounds for each question: {log}");
        for line in lines {
            assert!(line.contains("-> 200, 0 thoughts in the request"), "{line}");
        }
    }
    assert!(
        log.lines()
            .any(|line| line.starts_with("kimi-k2: ") && line.contains("-> 200, 1 thoughts")),
        "{log}"
    );
}
