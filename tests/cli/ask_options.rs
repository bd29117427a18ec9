//! Options of a question: its form, instructions and files, and the output of its answer.

use crate::place::Place;
use crate::upstream::{Upstream, chat};
use serde_json::{Value, json};
use std::process::Stdio;

const ANSWER: &str = "Here:\n\n```sh\nls -l\n```\n\nand\n\n```py\nprint(1)\n```\n";

struct Desk {
    place: Place,
    upstream: Upstream,
    config: String,
}

impl Desk {
    fn new(name: &str, answer: &str) -> Self {
        let place = Place::new(name);
        let upstream = Upstream::start(vec![chat("so I think", answer, Some(3))]);
        let provider = format!(
            "default_model = \"own/m\"\n[providers.own]\nwire = \"chat-completions\"\nbase_url = \"{}\"\napi_key = \"k\"\n",
            upstream.url
        );
        let config = place.write("config.toml", &provider);
        Desk { place, upstream, config }
    }

    /// Runs `think ask`. Returns standard output and standard error.
    #[track_caller]
    fn ask(&self, words: &[&str]) -> (String, String) {
        self.run("ask", words)
    }

    #[track_caller]
    fn run(&self, command: &str, words: &[&str]) -> (String, String) {
        let first = [command].into_iter().filter(|it| !it.is_empty());
        let all: Vec<&str> = first.chain(["--config", &self.config]).collect();
        let ran = self.place.think(&[&all, words].concat());
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.err);
        (ran.out, ran.err)
    }

    fn messages(&self) -> Value {
        self.upstream.last()["messages"].clone()
    }
}

#[test]
fn words_without_a_command_are_asked_and_a_command_that_is_nearly_one_is_named() {
    let desk = Desk::new("bare-words", "fine");
    for words in [&["why?"][..], &["-q", "why?"], &["what", "is", "chat?"]] {
        assert_eq!(desk.run("", words).0, "fine\n", "{words:?}");
    }
    let question = desk.messages()[0]["content"].clone();
    assert_eq!(question, "what is chat?");
    let piped = desk.place.piped(&["--config", &desk.config, "Sum up:"], b"a text\n");
    assert_eq!((piped.code, piped.out.as_str()), (Some(0), "fine\n"), "{}", piped.err);
    assert_eq!(desk.messages()[0]["content"], "Sum up:\n\na text\n");
    for words in [&["sesions"][..], &["sesions", "list"]] {
        let ran = desk.place.think(words);
        assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
        assert!(ran.err.contains("write `think sessions`"), "{}", ran.err);
    }
    let alone = desk.place.think(&[]);
    assert_eq!((alone.code, alone.out.as_str()), (Some(2), ""));
    assert!(alone.err.contains("Usage: think"), "{}", alone.err);
}

#[test]
fn instructions_stand_above_the_conversation_and_stay_with_it() {
    let desk = Desk::new("system", "fine");
    desk.ask(&["--tools", "off", "-c", "-s", "Be brief.", "one"]);
    let system = json!({"role": "system", "content": "Be brief."});
    assert_eq!(desk.messages(), json!([system, {"role": "user", "content": "one"}]));
    desk.ask(&["--tools", "off", "-c", "two"]);
    assert_eq!((&desk.messages()[0], desk.messages().as_array().unwrap().len()), (&system, 4));
    desk.ask(&["--tools", "off", "-c", "--system", "Rhyme.", "three"]);
    assert_eq!(desk.messages()[0], system, "what went out before stays");
    let told = "Instructions for this conversation from now on:\n\nRhyme.\n\n\
                (End of the changed instructions.)\n\nthree";
    assert_eq!(desk.messages()[5]["content"], told);
    std::fs::write(&desk.config, {
        let config = std::fs::read_to_string(&desk.config).unwrap();
        format!("{config}\n[chat]\nsystem = \"Be kind.\"\n")
    })
    .unwrap();
    desk.ask(&["--tools", "off", "-c", "four"]);
    assert_eq!(desk.messages()[7]["content"], "four", "a default replaces no chosen text");
    let list = desk.place.think(&["sessions", "list", "--json", "--config", &desk.config]).json();
    assert_eq!(list[0]["title"], "one", "{list}");
    let history = desk.place.file("talk.jsonl");
    desk.ask(&["--history", &history, "-s", "Be brief.", "one"]);
    desk.ask(&["--history", &history, "-s", "Be brief.", "two"]);
    assert_eq!(desk.messages()[0], system);
    assert_eq!(desk.messages()[3]["content"], "two");
}

#[test]
fn files_go_with_the_question_as_what_they_are() {
    let desk = Desk::new("files", "fine");
    let text = desk.place.write("notes.md", "a ``` b\n");
    let (image, pdf) = (desk.place.file("a.bin"), desk.place.file("b.pdf"));
    std::fs::write(&image, b"\x89PNG\r\n\x1a\nrest").unwrap();
    std::fs::write(&pdf, b"%PDF-1.7 rest").unwrap();
    desk.ask(&["-f", &text, "--file", &image, "-f", &pdf, "What is it?"]);
    let parts = desk.messages()[0]["content"].clone();
    let said = format!("What is it?\n\n`{text}`:\n````md\na ``` b\n````");
    assert_eq!(parts[0], json!({"type": "text", "text": said}));
    let url = parts[1]["image_url"]["url"].as_str().unwrap();
    assert_eq!(url, "data:image/png;base64,iVBORw0KGgpyZXN0");
    let file = parts[2]["file"]["file_data"].as_str().unwrap();
    assert_eq!(file, "data:application/pdf;base64,JVBERi0xLjcgcmVzdA==");
    desk.ask(&["-f", &text]);
    assert!(desk.messages()[0]["content"].as_str().unwrap().starts_with('`'));
    let binary = desk.place.file("c.bin");
    std::fs::write(&binary, b"a\0b").unwrap();
    for (file, why) in [(binary.as_str(), "is no UTF-8 text"), ("/nowhere", "cannot be sent")] {
        let ran = desk.place.ask(&["--config", &desk.config, "-f", file, "What?"]);
        assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}

#[test]
fn a_file_that_the_api_has_no_place_for_is_named() {
    let place = Place::new("no-place");
    let pdf = place.file("b.pdf");
    std::fs::write(&pdf, b"%PDF-1.7 rest").unwrap();
    let url = "base_url = \"http://127.0.0.1:9\"\n";
    let config =
        place.write("config.toml", &format!("[providers.own]\nwire = \"ollama-chat\"\n{url}"));
    let ran = place.ask(&["--config", &config, "-m", "own/m", "-f", &pdf, "What?"]);
    let note =
        "note: a file of the question stays out, because the API of `m` has no place for its kind";
    assert!(ran.err.contains(note), "{}", ran.err);
}

#[test]
fn a_temperature_and_a_schema_go_into_the_request() {
    let desk = Desk::new("wish", "{\"a\": 1}");
    let schema = desk.place.write("schema.json", "{\"type\": \"object\"}");
    desk.ask(&["--temperature", "0.7", "why?"]);
    assert_eq!(desk.upstream.last()["temperature"], 0.7);
    assert!(desk.upstream.last()["tools"].is_array());
    assert_eq!(desk.ask(&["--schema", &schema, "why?"]).0, "{\"a\": 1}\n");
    let body = desk.upstream.last();
    assert_eq!(body["response_format"]["json_schema"]["schema"], json!({"type": "object"}));
    assert_eq!(body["tools"], Value::Null, "many models take no tools beside a schema");
    desk.ask(&["--schema", &schema, "--tools", "on", "why?"]);
    assert!(desk.upstream.last()["tools"].is_array());
    let list = desk.place.write("list.json", "[]");
    for (words, code, why) in [
        (["--temperature", "warm"], 2, "a number from 0 on"),
        (["--temperature", "-1"], 2, "'-1'"),
        (["--schema", &list], 1, "is no JSON schema"),
    ] {
        let all = [&["--config", &desk.config][..], &words, &["why?"]].concat();
        let ran = desk.place.ask(&all);
        assert_eq!(ran.code, Some(code), "{}", ran.err);
        assert!(ran.err.contains(why), "{}", ran.err);
    }
}

#[test]
fn quiet_code_and_usage_choose_what_is_printed() {
    let desk = Desk::new("printed", ANSWER);
    assert_eq!(desk.ask(&["-q", "why?"]), (ANSWER.to_owned(), String::new()));
    let (code, said) = desk.ask(&["-x", "why?"]);
    assert_eq!(code, "ls -l\n\nprint(1)\n");
    assert!(said.contains("so I think") && !said.contains("Here:"), "{said}");
    let (_, said) = desk.ask(&["-q", "--usage", "why?"]);
    assert_eq!(said, "usage: 10 tokens in, 8 out (3 thought)\n");
    let prose = Desk::new("prose", "no code");
    let ran = prose.place.ask(&["--config", &prose.config, "-q", "-x", "why?"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(1), ""), "{}", ran.err);
    assert!(ran.err.starts_with("no code\nerror: "), "{}", ran.err);
}

#[test]
fn a_loop_over_lines_keeps_its_standard_input() {
    let desk = Desk::new("loop", "fine");
    let think = env!("CARGO_BIN_EXE_think");
    let line = format!(
        "while read -r name; do '{think}' ask -n -q --config '{}' \"Who is $name?\"; done",
        desk.config
    );
    let mut shell = std::process::Command::new("/bin/sh");
    shell.args(["-c", &line]).env("HOME", desk.place.home());
    shell.env("XDG_DATA_HOME", desk.place.home()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = shell.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"Ada\nBob\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().stdout, b"fine\nfine\n");
    assert_eq!(desk.messages()[0]["content"], "Who is Bob?");
}
