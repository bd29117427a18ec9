//! The list of models, and errors for unknown names.

use crate::place::Place;
use crate::program::{Ran, command};
use crate::server::Server;
use serde_json::{Value, json};

/// Runs `think` with a key in this variable.
fn with_key(place: &Place, variable: &str, args: &[&str]) -> Ran {
    let output = place.command(args).env(variable, "a-key").output().unwrap();
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn models_that_can_be_asked_for_are_listed_with_context_price_and_key() {
    let place = Place::new("models");
    let bare = place.think(&["models"]);
    assert!(bare.out.lines().all(|line| line.starts_with("sim/")), "{}", bare.out);
    assert!(bare.err.contains("more models need a key; `think models WORD`"), "{}", bare.err);
    let keyed = with_key(&place, "DEEPSEEK_API_KEY", &["models"]).out;
    let line = keyed.lines().find(|line| line.starts_with("deepseek/deepseek-v4-flash ")).unwrap();
    assert!(line.contains(" 1M ") && line.contains("$0.30 / $1.20"), "{line}");
    let wanted = place.think(&["models", "CLAUDE", "opus", "anthropic"]).out;
    let line = wanted.lines().find(|line| line.starts_with("anthropic/claude-opus-5 ")).unwrap();
    assert!(line.ends_with("needs a key; set `ANTHROPIC_API_KEY`"), "{line}");
    assert!(wanted.lines().all(|line| line.contains("opus")), "{wanted}");
    let none = place.think(&["models", "no-such-model"]);
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""));
    assert!(none.err.contains("no model is named so: `no-such-model`"), "{}", none.err);
}

#[test]
fn the_list_as_json_says_what_is_known() {
    let place = Place::new("models-json");
    let rows = place.think(&["models", "--json", "deepseek-v4-flash"]).json();
    let find = |rows: &Value, name: &str| {
        let all = rows.as_array().unwrap().iter();
        all.clone().find(|row| row["name"] == name).cloned().unwrap_or_else(|| panic!("{rows}"))
    };
    let row = find(&rows, "deepseek/deepseek-v4-flash");
    assert_eq!(row["provider"], "deepseek");
    assert_eq!(row["keySet"], false);
    assert!(row["contextWindow"].as_u64() >= Some(1_000_000), "{row}");
    assert_eq!(row["price"]["input"], json!(0.3));
    let config = "[providers.own]\nextends = \"openai-compatible\"\nbase_url = \"http://127.0.0.1:9\"\n\
        [models.mine]\nprovider = \"own\"\nmodel = \"m\"\nprice = { input = 1, output = 2.5 }\n";
    let config = place.write("config.toml", config);
    let rows = place.think(&["models", "--json", "--config", &config]).json();
    let mine = json!({"name": "mine", "provider": "own", "contextWindow": null, "keySet": true,
        "price": {"input": 1.0, "output": 2.5}});
    assert_eq!(find(&rows, "mine"), mine);
    let others = rows.as_array().unwrap().iter().skip(1);
    assert!(others.into_iter().all(|row| row["provider"] == "sim"), "a configuration is a wall");
}

#[test]
fn a_model_without_its_key_says_which_variable_to_set_and_a_misspelt_name_which_is_meant() {
    let place = Place::new("no-key");
    let bare = place.write("bare.toml", "[providers.openai]\n");
    for (args, said) in [
        (&["-m", "gpt-4o"][..], "needs a key; set `OPENAI_API_KEY`"),
        (&["-m", "openai/gpt-4o"], "needs a key; set `OPENAI_API_KEY`"),
        (&["-m", "claude-opus-5"], "set `ANTHROPIC_API_KEY`"),
        (&["-m", "opnai/gpt-4o"], "did you mean `openai/gpt-4o`?"),
        (&["--config", &bare], "`openai` needs a key; set `OPENAI_API_KEY`"),
    ] {
        let ran = place.ask(&[args, &["hi"]].concat());
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{args:?}: {ran:?}");
        assert!(ran.err.contains(said), "{args:?}: {}", ran.err);
    }
}

#[test]
fn the_gateway_says_which_variable_to_set_too() {
    let gateway = Server::start("serve", &[]);
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let body = json!({"model": "deepseek-chat", "messages": messages}).to_string();
    let answer = gateway.ask("/v1/chat/completions", &body);
    assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
    assert!(answer.contains("set `DEEPSEEK_API_KEY`"), "{answer}");
}

#[test]
fn the_only_provider_of_a_configuration_answers_with_the_first_model_that_it_lists() {
    let place = Place::new("only");
    let gateway = Server::run(command(&["serve", "--listen", "0"]));
    assert!(gateway.addr.starts_with("127.0.0.1:"), "a port alone is on loopback");
    let own = format!(
        "[providers.own]\nwire = \"chat-completions\"\nbase_url = \"http://{}/v1\"\napi_key = \"k\"\n",
        gateway.addr
    );
    let config = place.write("config.toml", &own);
    let ran = place.ask(&["--config", &config, "--tools", "off", "hi"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(
        ran.err.contains("the first model that the configuration's only provider lists"),
        "{}",
        ran.err
    );
}
