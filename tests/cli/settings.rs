//! Every setting changes a request on the wire, or the output of the program.

use crate::place::Place;
use crate::upstream::{Upstream, chat, messages};
use serde_json::{Value, json};

/// A program with a provider that stores its requests.
struct Bench {
    place: Place,
    upstream: Upstream,
}

/// Two thoughts in the history, and the thought of the new answer.
const OLD: &str = "the old thought";
const NEWER: &str = "the newer thought";
const NEW: &str = "so I think";

impl Bench {
    fn new(name: &str) -> Self {
        Self::with(name, chat(NEW, "fine", Some(3)))
    }

    fn with(name: &str, answer: String) -> Self {
        let place = Place::new(name);
        Bench { place, upstream: Upstream::start(vec![answer]) }
    }

    /// A configuration in which `own` is this provider, with the rules of another.
    fn config(&self, extends: &str, more: &str) -> String {
        let url = &self.upstream.url;
        let own = format!("extends = \"{extends}\"\nbase_url = \"{url}\"\napi_key = \"k\"\n");
        self.place.write("config.toml", &format!("{more}\n[providers.own]\n{own}"))
    }

    /// A conversation of two turns with a thought each, one message a line.
    fn history(&self, model: &str) -> String {
        let endpoint = json!({"provider": "own", "endpoint": self.upstream.url, "model": model});
        let said =
            |text: &str| json!({"speaker": "human", "blocks": [{"type": "text", "text": text}]});
        let answer = |thought: &str| {
            let thinking =
                json!({"type": "thinking", "thought": thought, "sourceField": "reasoning_content"});
            let blocks = json!([thinking, {"type": "text", "text": "an answer"}]);
            json!({"speaker": "ai", "blocks": blocks, "origin": endpoint})
        };
        let history = [said("one"), answer(OLD), said("two"), answer(NEWER)];
        history.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The request with these arguments that follows that conversation.
    fn wire(&self, config: &str, model: &str, args: &[&str]) -> Value {
        let history = self.place.write("history.jsonl", &self.history(model));
        let model = format!("own/{model}");
        let mut all = vec!["--config", config, "-m", &model, "--tools", "off"];
        all.extend(["--history", &history]);
        all.extend_from_slice(args);
        all.push("three");
        let ran = self.place.ask(&all);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        self.upstream.last()
    }

    fn set(&self, config: &str, model: &str, pair: &str) -> Value {
        self.wire(config, model, &["--set", pair])
    }

    /// Standard output, and the lines of standard error about thoughts.
    fn shown(&self, config: &str, args: &[&str]) -> (String, String) {
        let mut all = vec!["--config", config, "-m", "own/m", "--tools", "off"];
        all.extend_from_slice(args);
        all.push("what?");
        let ran = self.place.ask(&all);
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.err);
        let about = ran.err.lines().filter(|line| !line.starts_with("model:"));
        (ran.out, about.collect::<Vec<_>>().join("\n"))
    }
}

/// The thoughts of a Chat Completions body, by message.
fn thoughts(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().unwrap();
    let thoughts = messages.iter().filter_map(|message| message["reasoning_content"].as_str());
    thoughts.map(str::to_owned).collect()
}

#[test]
fn req_think_006_1_br_006_enabled_false_is_the_off_form_and_withholds_stored_thoughts() {
    let bench = Bench::new("enabled");
    let config = bench.config("zai", "");
    let on = bench.set(&config, "glm-4.7", "reasoning.enabled=true");
    let off = bench.set(&config, "glm-4.7", "reasoning.enabled=false");
    assert_eq!((&on["thinking"]["type"], thoughts(&on).len()), (&Value::Null, 2));
    assert_eq!((&off["thinking"]["type"], thoughts(&off).len()), (&json!("disabled"), 0));
}

#[test]
fn req_think_004_1_req_think_006_2_include_in_context_and_its_old_name_decide_what_goes_back() {
    let bench = Bench::new("include");
    let demanding = bench.config("zai", "");
    for (pair, count) in [
        ("reasoning.includeInContext=auto", 2),
        ("reasoning.includeInContext=true", 2),
        ("reasoning.includeInContext=false", 0),
        ("thinking.context_mode=provider_default", 2),
        ("thinking.context_mode=keep", 2),
        ("thinking.context_mode=strip", 0),
    ] {
        assert_eq!(thoughts(&bench.set(&demanding, "glm-4.7", pair)).len(), count, "{pair}");
    }
    let plain = bench.config("openai-compatible", "");
    for (pair, count) in [
        ("reasoning.includeInContext=auto", 0),
        ("reasoning.includeInContext=true", 2),
        ("reasoning.includeInContext=false", 0),
    ] {
        assert_eq!(thoughts(&bench.set(&plain, "m", pair)).len(), count, "no contract: {pair}");
    }
}

#[test]
fn req_think_004_2_req_think_006_5_br_005_strip_from_context_comes_before_include() {
    let bench = Bench::new("strip");
    let config = bench.config("openai-compatible", "");
    for (strip, include, left) in [
        ("none", "true", &[OLD, NEWER][..]),
        ("allButLast", "true", &[NEWER]),
        ("all", "true", &[]),
        ("none", "false", &[]),
        ("allButLast", "false", &[]),
        ("all", "false", &[]),
    ] {
        let strip = format!("reasoning.stripFromContext={strip}");
        let include = format!("reasoning.includeInContext={include}");
        let body = bench.wire(&config, "m", &["--set", &strip, "--set", &include]);
        assert_eq!(thoughts(&body), left, "{strip} {include}");
    }
}

#[test]
fn effort_is_said_in_the_models_own_words() {
    let bench = Bench::new("effort");
    let config = bench.config("zai", "");
    let words = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
    for word in words {
        let body = bench.set(&config, "glm-5.2", &format!("reasoning.effort={word}"));
        match word {
            "none" => assert_eq!(body["thinking"]["type"], "disabled"),
            _ => assert_eq!(body["reasoning_effort"], word),
        }
    }
    let unset = bench.set(&config, "glm-5.2", "reasoning.effort=unset");
    assert_eq!(unset["reasoning_effort"], Value::Null);
    let config = bench.config("deepseek", "");
    let mapped = bench.set(&config, "deepseek-v4", "reasoning.effort=medium");
    assert_eq!(mapped["reasoning_effort"], "high", "the model has no medium");
}

#[test]
fn presets_max_tokens_is_a_number_and_unlimited_never_is() {
    let bench = Bench::with("max", messages());
    let budget = |more: &str, set: &[&str]| {
        let config = bench.config("anthropic", more);
        bench.wire(&config, "claude-sonnet-4-5", set)["thinking"]["budget_tokens"].clone()
    };
    let usual = budget("", &[]);
    assert_eq!(budget("", &["--set", "reasoning.maxTokens=4096"]), 4096);
    assert_eq!(budget("", &["--set", "reasoning.maxTokens=7"]), 1024, "the least that is taken");
    assert_eq!(budget("", &["--set", "reasoning.maxTokens=unlimited"]), usual);
    assert_eq!(budget("[reasoning]\nmaxTokens = 4096", &[]), 4096);
    for no_limit in ["0", "\"unlimited\""] {
        let config = format!("[reasoning]\nmaxTokens = {no_limit}");
        assert_eq!(budget(&config, &[]), usual, "{no_limit}");
    }
}

#[test]
fn req_think_006_4_format_chooses_between_two_forms() {
    let bench = Bench::new("format");
    let config = bench.config("minimax", "");
    let answer = |pair| bench.set(&config, "MiniMax-M2.5", pair)["messages"][1].clone();
    let entry = json!([{"type": "reasoning.text", "text": OLD}]);
    assert_eq!(answer("reasoning.format=field")["reasoning_details"], entry);
    let native = answer("reasoning.format=native");
    assert_eq!(native["content"], format!("<think>\n{OLD}\n</think>\n\nan answer"));
    assert_eq!(native["reasoning_details"], Value::Null);
}

#[test]
fn req_think_006_3_include_in_response_wins_over_every_display() {
    let bench = Bench::new("response");
    let config = bench.config("openai-compatible", "");
    for display in ["show", "collapsed", "stream_only", "off"] {
        let display = format!("reasoning.display={display}");
        let hide = ["--set", "reasoning.includeInResponse=false", "--set", &display];
        let hidden = bench.shown(&config, &hide);
        assert_eq!(hidden, ("fine\n".to_owned(), String::new()), "{display}");
    }
    let shown = bench.shown(&config, &["--set", "reasoning.includeInResponse=true"]);
    assert_eq!(shown.1, format!("thinking: {NEW}"));
}

/// Replaces the time in a line, because it depends on the machine.
fn timeless(line: &str) -> String {
    let (head, tail) = line.split_once(" s").unwrap_or((line, ""));
    let head = head.trim_end_matches(|char: char| char.is_ascii_digit() || char == '.');
    format!("{head}TIME{tail}")
}

#[test]
fn adr_modes_oq1_oq3_q2_display_has_four_modes_and_accepts_the_words_of_others() {
    let bench = Bench::new("display");
    let config = bench.config("openai-compatible", "");
    let in_full = format!("thinking: {NEW}");
    for (pair, expected) in [
        ("reasoning.display=show", in_full.as_str()),
        ("reasoning.display=on", &in_full),
        ("show_thinking=true", &in_full),
        // Without a terminal, printed text cannot be erased, so that the text stays.
        ("reasoning.display=stream_only", &in_full),
        ("reasoning.display=stream", &in_full),
        ("show_thinking=false", &in_full),
        ("reasoning.display=collapsed", "Thought for TIME, about 3 tokens"),
        ("reasoning.display=off", "thinking: TIME, about 3 tokens"),
    ] {
        let (out, err) = bench.shown(&config, &["--set", pair]);
        let err = if expected.contains("TIME") { timeless(&err) } else { err };
        assert_eq!((out.as_str(), err.as_str()), ("fine\n", expected), "{pair}");
    }
}

#[test]
fn br_008_ec_005_each_layer_is_stronger_than_the_one_below() {
    let bench = Bench::new("layers");
    let config = |more: &str| bench.config("openrouter", more);
    // The built-in default is `field`. The model's rule says `native`.
    let form = |config: &str, args: &[&str]| {
        let answer = bench.wire(config, "z-ai/glm-5.3", args)["messages"][1].clone();
        let has = |field: &str| !answer[field].is_null();
        [has("reasoning"), has("reasoning_details")]
    };
    let (field, native) = ([true, false], [false, true]);
    assert_eq!(form(&config(""), &[]), native, "model rule over built-in");
    let user = "[reasoning]\nformat = \"field\"\n";
    assert_eq!(form(&config(user), &[]), field, "configuration over model rule");
    let profile = format!("{user}[profiles.p]\nreasoning = {{ format = \"native\" }}\n");
    let profile = config(&profile);
    assert_eq!(form(&profile, &["--profile", "p"]), native, "profile over configuration");
    let session = ["--profile", "p", "--set", "reasoning.format=field"];
    assert_eq!(form(&profile, &session), field, "session over profile");
    let listed = |args: &[&str]| {
        let mut all = vec!["settings", "--json", "--config", &profile];
        all.extend_from_slice(args);
        let rows = bench.place.think(&all).json();
        let row = rows.as_array().unwrap().iter().find(|row| row["key"] == "reasoning.format");
        let row = row.unwrap();
        format!("{} {}", row["value"].as_str().unwrap(), row["source"].as_str().unwrap())
    };
    assert_eq!(listed(&[]), "field config");
    assert_eq!(listed(&["--profile", "p"]), "native profile");
    assert_eq!(listed(&session), "field session");
}

#[test]
fn settings_under_a_model_and_under_old_names_are_read_from_the_file() {
    let bench = Bench::new("file");
    let model = "[models.k]\nprovider = \"own\"\nmodel = \"glm-4.7\"\n";
    let body = |more: &str| {
        let config = bench.config("zai", &format!("{more}\n"));
        let history = bench.wire(&config, "glm-4.7", &[]);
        let ran = bench.place.ask(&["--config", &config, "-m", "k", "--tools", "off", "hi"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        (history, bench.upstream.last())
    };
    let (others, k) = body(&format!("{model}[models.k.reasoning]\nenabled = false"));
    let of = |body: &Value| body["thinking"]["type"].clone();
    assert_eq!((of(&others), of(&k)), (Value::Null, json!("disabled")));
    let (others, _) = body(&format!("[thinking]\ncontext_mode = \"strip\"\n{model}"));
    assert_eq!(thoughts(&others).len(), 0);
    let config = bench.config("openai-compatible", "reasoning = { display = \"collapsed\" }");
    assert!(bench.shown(&config, &[]).1.starts_with("Thought for"));
}

#[test]
fn models_of_the_configuration_are_listed_before_those_that_are_built_in() {
    let bench = Bench::new("models");
    let config = bench.config(
        "moonshotai",
        "[models.kimi]\nprovider = \"own\"\nmodel = \"kimi-k2-thinking\"\n[models.mine]\nprovider = \"own\"\nmodel = \"m\"\ncontract = { return = \"all\" }\n[models.\"*\"]\nprovider = \"own\"\n",
    );
    let rows = bench.place.think(&["models", "--rules", "--json", "--config", &config]).json();
    let rows = rows.as_array().unwrap();
    let of = |row: &Value| {
        ["name", "provider", "model", "wire", "contract"]
            .map(|key| row[key].as_str().unwrap().to_owned())
    };
    let rules: Vec<_> = rows.iter().filter(|row| row["source"] == "config").collect();
    let rules: Vec<_> = rules.iter().map(|row| row["rule"].as_str().unwrap()).collect();
    assert_eq!(rules, ["moonshotai kimi-k2-thinking*", "config", "moonshotai *, assumed"]);
    let configured: Vec<_> = rows.iter().filter(|row| row["source"] == "config").map(of).collect();
    let chat = "chat-completions";
    assert_eq!(
        configured,
        [
            ["kimi", "own", "kimi-k2-thinking", chat, "tool-calls, required, reasoning_content"],
            ["mine", "own", "m", chat, "all"],
            ["*", "own", "*", chat, "all, reasoning_content"],
        ]
    );
    assert!(rows[3..].iter().all(|row| row["source"] != "config") && rows.len() > 100);
}

#[test]
fn a_tool_that_the_configuration_denies_is_not_offered() {
    let bench = Bench::new("deny");
    let offered = |more: &str| {
        let config = bench.config("openai-compatible", more);
        let ran = bench.place.ask(&["--config", &config, "-m", "own/m", "hi"]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let tools = bench.upstream.last()["tools"].clone();
        let tools = tools.as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(offered(""), ["list_directory", "read_file", "search_files"]);
    assert_eq!(
        offered("[tools.search_files]\npermission = \"deny\""),
        ["list_directory", "read_file"]
    );
}

#[test]
fn adr_router_roles_and_keys_of_the_configuration_are_used() {
    let bench = Bench::new("roles");
    let config = bench.config(
        "openai-compatible",
        "default_model = \"big\"\n[roles]\nutility = \"small\"\n[models.big]\nprovider = \"own\"\nmodel = \"b\"\n[models.small]\nprovider = \"own\"\nmodel = \"s\"\n",
    );
    let asked = |args: &[&str]| {
        let mut all = vec!["--config", &config, "--tools", "off"];
        all.extend_from_slice(args);
        all.push("hi");
        let ran = bench.place.ask(&all);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        bench.upstream.last()["model"].clone()
    };
    assert_eq!(asked(&[]), "b");
    assert_eq!(asked(&["-m", "role:utility"]), "s");
    let missing = bench.place.write(
        "missing.toml",
        "[providers.openai]\napi_keys = [{ env = \"NO_SUCH_KEY\" }, { env = \"NOR_THIS_KEY\" }]\n",
    );
    let ran = bench.place.ask(&["--config", &missing, "-m", "openai/gpt-5", "hi"]);
    assert_eq!(ran.code, Some(1));
    let error = "error: `openai` needs a key; set `NO_SUCH_KEY` or `NOR_THIS_KEY`";
    assert_eq!(ran.err.lines().last(), Some(error));
    let listed = bench.place.think(&["settings", "--config", &missing]);
    assert_eq!(listed.code, Some(0), "a key that nobody needs is not missed: {}", listed.err);
}

#[test]
fn br_003_what_is_shown_and_what_is_sent_are_independent() {
    let bench = Bench::new("independent");
    let config = bench.config("openai-compatible", "");
    for (shows, sends) in [(true, true), (true, false), (false, true), (false, false)] {
        let show = format!("reasoning.includeInResponse={shows}");
        let send = format!("reasoning.includeInContext={sends}");
        let (_, err) = bench.shown(&config, &["--set", &show, "--set", &send]);
        let body = bench.wire(&config, "m", &["--set", &show, "--set", &send]);
        let seen = (err.contains(NEW), !thoughts(&body).is_empty());
        assert_eq!(seen, (shows, sends));
    }
}

#[test]
fn br_002_br_009_adr_gate_q1_the_store_is_complete_whatever_is_shown_sent_or_asked() {
    let bench = Bench::new("complete");
    let config = bench.config("openai-compatible", "");
    let before = bench.history("m");
    for pair in [
        "reasoning.display=off",
        "reasoning.includeInResponse=false",
        "reasoning.includeInContext=false",
        "reasoning.includeInContext=true",
        "reasoning.enabled=false",
        "reasoning.stripFromContext=allButLast",
        "reasoning.stripFromContext=all",
    ] {
        bench.set(&config, "m", pair);
        let kept = std::fs::read_to_string(bench.place.file("history.jsonl")).unwrap();
        let added = kept.strip_prefix(&before);
        let added = added.unwrap_or_else(|| panic!("{pair} changed what was stored: {kept}"));
        let last: Value = serde_json::from_str(added.lines().last().unwrap()).unwrap();
        assert_eq!(last["blocks"][0]["thought"], NEW, "{pair}");
    }
}

#[test]
fn q3_phase2_context_mode_each_provider_gets_thoughts_in_its_own_place() {
    let bench = Bench::new("place");
    let answer = |extends: &str, model: &str| {
        let config = bench.config(extends, "");
        bench.wire(&config, model, &["--set", "thinking.context_mode=keep"])["messages"][1].clone()
    };
    assert_eq!(answer("deepseek", "deepseek-v4")["reasoning_content"], OLD);
    assert_eq!(answer("groq", "openai/gpt-oss-120b")["reasoning"], OLD);
    assert_eq!(answer("openrouter", "z-ai/glm-5.3")["reasoning_details"][0]["text"], OLD);
    // OpenAI's own Chat Completions API accepts no thoughts.
    let config = bench.config("openai", "");
    let config = std::fs::read_to_string(&config)
        .unwrap()
        .replace("extends", "wire = \"chat-completions\"\nextends");
    let config = bench.place.write("openai.toml", &config);
    let body = bench.wire(&config, "gpt-5.2", &["--set", "thinking.context_mode=keep"]);
    assert!(!body.to_string().contains(OLD), "{body}");
}

#[test]
fn req_think_005_1_the_shown_count_is_that_of_what_would_be_sent() {
    let bench = Bench::new("count");
    let config = bench.config("openai-compatible", "");
    let thought = "many words of thinking ".repeat(200);
    let request = json!({"model": "m", "messages": [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "an answer", "reasoning_content": thought},
        {"role": "user", "content": "and?"}]});
    let file = bench.place.write("request.json", &request.to_string());
    let counted = |set: &str| {
        let args = ["explain", "--json", "--config", &config, "-m", "own/m", "--set", set, &file];
        let explained = bench.place.think(&args).json();
        let has = explained["body"].to_string().contains("many words");
        (explained["tokens"]["effective"].as_u64().unwrap(), has)
    };
    let (with, is_in) = counted("reasoning.includeInContext=true");
    let (without, is_out) = counted("reasoning.includeInContext=false");
    assert!(is_in && !is_out);
    assert!(with > 800 && without < 60, "{with} {without}");
}
