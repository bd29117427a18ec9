//! The first minutes with `think serve`: its page, paths without a version, and the names that
//! agents send by themselves.

use crate::place::Place;
use crate::serve_config::serve;
use crate::server::{PATIENCE, Server, body};
use serde_json::Value;

fn json(answer: &str) -> Value {
    serde_json::from_str(&body(answer)).unwrap_or_else(|error| panic!("{error}: {answer}"))
}

fn hello(model: &str) -> String {
    format!(
        "{{\"model\":\"{model}\",\"max_tokens\":2048,\"messages\":[{{\"role\":\"user\",\"content\":\"Hi\"}}]}}"
    )
}

#[test]
fn a_browser_gets_a_page_and_a_program_the_same_facts() {
    const KEY: &str = "a-Key-of-mine-0123456789";
    let place = Place::new("front");
    let gateway = serve(&place, &format!("[keys.a]\nkey = \"{KEY}\"\n"));
    let host = format!("host: {}\r\n", gateway.addr);
    let browser = format!("{host}accept: text/html,application/xhtml+xml;q=0.9\r\n");
    let page = gateway.request("GET", "/", &browser, "");
    let text = gateway.request("GET", "/", &format!("{host}accept: */*\r\n"), "");
    assert!(page.contains("content-type: text/html"), "{page}");
    assert!(page.contains("script-src") || page.contains("default-src 'none'"), "{page}");
    assert!(!page.contains("<script"), "{page}");
    assert!(text.contains("content-type: text/plain"), "{text}");
    for answer in [&page, &text] {
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        for fact in [
            format!("http://{}/v1", gateway.addr),
            format!("think connect claude-code --gateway http://{}", gateway.addr),
            "running".to_owned(),
            "/ui/".to_owned(),
        ] {
            assert!(answer.contains(&fact), "{fact}: {answer}");
        }
        assert!(!answer.contains(KEY), "{answer}");
    }
    // A caller on another machine does not reach the viewer.
    let far = gateway.request("GET", "/", &format!("{host}x-forwarded-for: 10.0.0.1\r\n"), "");
    assert!(far.contains("running") && !far.contains("/ui/"), "{far}");
    let head = gateway.request("HEAD", "/", &host, "");
    assert!(head.starts_with("HTTP/1.1 200 ") && body(&head).is_empty(), "{head}");
}

#[test]
fn names_that_agents_send_lead_to_the_default_model_and_the_log_says_so() {
    let gateway = Server::start("serve", &[]);
    let answer = json(&gateway.ask("/v1/messages", &hello("claude-sonnet-4-5")));
    assert!(answer.to_string().contains("simulated model `default`"), "{answer}");
    let answer = json(&gateway.ask("/v1/chat/completions", &hello("gpt-5")));
    assert_eq!(answer["model"], "gpt-5");
    let missing = gateway.ask("/v1/chat/completions", &hello("no-such-model"));
    assert!(missing.starts_with("HTTP/1.1 404 "), "{missing}");
    gateway.signal(rustix::process::Signal::INT);
    let (is_fine, said) = gateway.ends(PATIENCE);
    assert!(is_fine, "{said}");
    let line = "go to the default model `sim/default`";
    assert_eq!(said.matches(line).count(), 1, "{said}");
    let found = said.lines().find(|line| line.starts_with("404 ")).unwrap();
    assert!(found.contains("model=no-such-model"), "{found}");
}

#[test]
fn the_default_model_is_listed_first() {
    let place = Place::new("front-default");
    let config = "default_model = \"b\"\n[models.a]\nprovider = \"sim\"\nmodel = \"kimi-k2\"\n\
                  [models.b]\nprovider = \"sim\"\nmodel = \"kimi-k3\"\n";
    let gateway = serve(&place, config);
    let list = json(&gateway.request("GET", "/v1/models", "", ""));
    let names = list["data"].as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap());
    assert_eq!(names.collect::<Vec<_>>(), ["b", "a"]);
    let answer = json(&gateway.ask("/chat/completions", &hello("gpt-5")));
    assert!(answer.to_string().contains("simulated model `kimi-k3`"), "{answer}");
}

#[test]
fn paths_without_a_version_lead_to_the_same_places() {
    let gateway = Server::start("serve", &[]);
    for (path, request) in [
        ("/chat/completions", hello("sim/default")),
        ("/messages", hello("sim/default")),
        ("/messages/count_tokens", hello("sim/default")),
        ("/responses", "{\"model\":\"sim/default\",\"input\":\"Hi\"}".to_owned()),
    ] {
        let answer = gateway.ask(path, &request);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
    }
    assert!(gateway.request("GET", "/models", "", "").contains("sim/default"));
}
