//! Thoughts without a signature on a wire that wants one: the caller gets a ticket in its place and sends it back.

use crate::{Gateway, Lock, body};
use thinkthrough_core::content::{Block, Content, Speaker, ToolResponse};
use thinkthrough_core::event::Fold;
use thinkthrough_core::exchange::Prepared;
use thinkthrough_core::provider::Target;
use thinkthrough_core::read::{Form, Reader};
use thinkthrough_core::request::{Request, Tool};
use thinkthrough_core::restore::ticket;
use thinkthrough_core::wire::{Dialect, find};
use thinkthrough_json::{Extra, Raw};

/// A client that sends every block back as it came.
struct Client {
    stream: bool,
    said: Vec<Content>,
}

impl Client {
    fn new(stream: bool) -> Self {
        let said = vec![
            Content::text(Speaker::System, "You help."),
            Content::text(Speaker::Human, "Read it."),
        ];
        Client { stream, said }
    }

    fn request(&self) -> String {
        let request = Request {
            model: "m".to_owned(),
            stream: self.stream,
            max_tokens: Some(20_000),
            tools: vec![Tool::Function {
                name: "read".into(),
                description: None,
                parameters: None,
                extra: Extra::default(),
            }],
            contents: self.said.clone(),
            ..Request::default()
        };
        find("messages").unwrap().write_request(&request, &Dialect::PLAIN).body
    }

    /// Reads the answer and runs its calls. Gives the signatures of its thoughts.
    fn reads(&mut self, answer: &str) -> Vec<String> {
        let mut fold = Fold::new();
        let form = if self.stream { Form::Stream } else { Form::Whole };
        let mut reader = Reader::new(find("messages").unwrap(), &Dialect::PLAIN, form);
        reader.push(answer.as_bytes(), &mut fold);
        reader.end(&mut fold);
        let content = fold.finish().into_content(None);
        let results: Vec<Content> =
            content.tool_calls().map(|call| result(call.id.clone())).collect();
        let signature = |block: &Block| match block {
            Block::Thinking(thinking) => thinking.signature.clone(),
            _ => None,
        };
        let signatures = content.blocks.iter().filter_map(signature).collect();
        self.said.push(content);
        self.said.extend(results);
        signatures
    }

    /// The head of the history becomes a summary.
    fn compacts(&mut self) {
        let asked = self.said.iter_mut().find(|it| it.speaker == Speaker::Human).unwrap();
        *asked = Content::text(Speaker::Human, "Summary: it is to be read.");
    }
}

fn result(call_id: Option<String>) -> Content {
    let response = ToolResponse {
        call_id,
        name: None,
        result: Raw::string("text").into(),
        is_error: false,
        extra: Extra::default(),
    };
    Content::new(Speaker::Tool, vec![Block::ToolResponse(response)])
}

const PLAIN: &str = r#"{"id":"1","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"reasoning_content":"Look","tool_calls":[{"id":"call_A1b2C3d4E5","type":"function","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}"#;
const PLAIN_STREAM: &str = concat!(
    r#"data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Look"}}]}"#,
    "\n\n",
    r#"data: {"id":"1","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_A1b2C3d4E5","type":"function","function":{"name":"read","arguments":"{}"}}]}}]}"#,
    "\n\n",
    r#"data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    "\n\ndata: [DONE]\n\n",
);
/// A thought of which nothing can be read.
const SEALED: &str = r#"{"id":"resp_1","object":"response","status":"completed","model":"m","output":[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VhbGVk"},{"type":"function_call","id":"fc_1","call_id":"call_A1b2C3d4E5","name":"read","arguments":"{}","status":"completed"}]}"#;
const SEALED_STREAM: &str = concat!(
    "event: response.output_item.done\ndata: ",
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"c2VhbGVk"}}"#,
    "\n\nevent: response.output_item.done\ndata: ",
    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","id":"fc_1","call_id":"call_A1b2C3d4E5","name":"read","arguments":"{}","status":"completed"}}"#,
    "\n\nevent: response.completed\ndata: ",
    r#"{"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","model":"m","output":[]}}"#,
    "\n\n",
);

fn deepseek() -> Gateway {
    Gateway::new("messages", "deepseek", Some("chat-completions"), "deepseek-v4-flash")
}

fn openai() -> Gateway {
    Gateway::new("messages", "openai", Some("responses"), "gpt-5")
}

/// What goes upstream in the second round, after the client has done something with its history.
fn second(gateway: &mut Gateway, client: &mut Client, answer: &str) -> (Vec<String>, Prepared) {
    let first = gateway.ask(&client.request(), &Lock);
    let (said, _) = gateway.answer(first, &[answer], None);
    let signatures = client.reads(&said);
    client.compacts();
    (signatures, gateway.ask(&client.request(), &Lock))
}

#[test]
fn a_sealed_thought_comes_back_by_its_ticket_where_the_history_before_it_is_another() {
    for (stream, answer) in [(false, SEALED), (true, SEALED_STREAM)] {
        let (mut gateway, mut client) = (openai(), Client::new(stream));
        let (signatures, next) = second(&mut gateway, &mut client, answer);
        let [signature] = signatures.try_into().unwrap();
        assert!(ticket::is_ticket(&signature), "{stream}: {signature}");
        assert_eq!((next.counts.restored, next.counts.missed), (1, 0), "{stream}");
        let sent = body(&next);
        assert!(sent.contains("c2VhbGVk") && !sent.contains("tk_"), "{stream}: {sent}");
        // Without the ticket nobody could say so.
        for block in client.said.iter_mut().flat_map(|it| &mut it.blocks) {
            if let Block::Thinking(thinking) = block {
                thinking.signature = None;
            }
        }
        assert_eq!(gateway.ask(&client.request(), &Lock).counts.restored, 0, "{stream}");
    }
}

#[test]
fn a_ticket_names_its_answer_and_a_lost_one_is_worth_nothing() {
    for change in ["thought", "call", "record"] {
        let (mut gateway, mut client) = (openai(), Client::new(false));
        let first = gateway.ask(&client.request(), &Lock);
        let (said, _) = gateway.answer(first, &[SEALED], None);
        let said = match change {
            "thought" => said.replace(r#""thinking":"""#, r#""thinking":"Mine""#),
            "call" => said.replace(r#""input":{}"#, r#""input":{"a":1}"#),
            _ => {
                gateway.records.clear();
                said
            }
        };
        client.reads(&said);
        client.compacts();
        let next = gateway.ask(&client.request(), &Lock);
        // What the client changed of the thought gives way to what was thought.
        let is_known = change == "thought";
        let counts = if is_known { (1, 0) } else { (0, 1) };
        assert_eq!((next.counts.restored, next.counts.missed), counts, "{change}");
        let sent = body(&next);
        let is_gone = ["tk_", "Mine"].iter().all(|word| !sent.contains(word));
        assert!(is_gone, "{change}: {sent}");
        assert_eq!(sent.contains("c2VhbGVk"), is_known, "{change}: {sent}");
    }
}

#[test]
fn a_plain_thought_stays_the_clients_and_its_ticket_stays_here() {
    for (stream, answer) in [(false, PLAIN), (true, PLAIN_STREAM)] {
        let (mut gateway, mut client) = (deepseek(), Client::new(stream));
        let (signatures, next) = second(&mut gateway, &mut client, answer);
        assert!(signatures.iter().all(|it| ticket::is_ticket(it)), "{stream}: {signatures:?}");
        assert_eq!(signatures.len(), 1, "{stream}");
        let sent = body(&next);
        assert!(sent.contains(r#""reasoning_content":"Look""#), "{stream}: {sent}");
        assert!(!sent.contains("tk_"), "{stream}: {sent}");
    }
}

/// A client that empties a thought and keeps its signature has dropped it.
#[test]
fn an_emptied_thought_is_put_back_by_its_ticket() {
    for blank in ["", " "] {
        let (mut gateway, mut client) = (deepseek(), Client::new(false));
        let first = gateway.ask(&client.request(), &Lock);
        let (said, _) = gateway.answer(first, &[PLAIN], None);
        client.reads(&said);
        for block in client.said.iter_mut().flat_map(|it| &mut it.blocks) {
            if let Block::Thinking(thinking) = block {
                assert!(thinking.signature.as_deref().is_some_and(ticket::is_ticket));
                blank.clone_into(&mut thinking.thought);
            }
        }
        let next = gateway.ask(&client.request(), &Lock);
        assert_eq!((next.counts.restored, next.counts.dropped), (1, 0), "{blank:?}");
        let sent = body(&next);
        assert!(sent.contains(r#""reasoning_content":"Look""#) && !sent.contains("tk_"), "{sent}");
    }
}

#[test]
fn no_ticket_reaches_a_model_that_signs_its_own_thoughts() {
    let (mut gateway, mut client) = (deepseek(), Client::new(false));
    let (_, _) = second(&mut gateway, &mut client, PLAIN);
    gateway.target = Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap();
    for is_lost in [false, true] {
        if is_lost {
            gateway.records.clear();
        }
        let next = gateway.ask(&client.request(), &Lock);
        let sent = body(&next);
        assert!(!sent.contains("tk_") && !sent.contains("Look"), "{is_lost}: {sent}");
        assert!(sent.contains("call_A1b2C3d4E5"), "{is_lost}: {sent}");
    }
}

#[test]
fn what_is_not_kept_or_has_its_own_place_gets_no_ticket() {
    let cases: [fn(&mut Gateway); 3] =
        [|it| it.is_kept = false, |it| it.is_nobodys = true, |it| it.handling.dry_run = true];
    for change in cases {
        let (mut gateway, client) = (deepseek(), Client::new(false));
        change(&mut gateway);
        let first = gateway.ask(&client.request(), &Lock);
        let (said, _) = gateway.answer(first, &[PLAIN], None);
        assert!(said.contains("Look") && !said.contains("tk_"), "{said}");
    }
    let mut gateway = Gateway::new("messages", "anthropic", None, "claude-sonnet-4-5");
    let first = gateway.ask(&Client::new(false).request(), &Lock);
    let answer = r#"{"type":"message","id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"thinking","thinking":"Look","signature":""},{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}"#;
    assert_eq!(gateway.answer(first, &[answer], None).0, answer);
}

#[test]
fn a_signature_in_a_part_of_its_own_stays_with_its_thought() {
    let gateway = Gateway::new("generate-content", "anthropic", None, "claude-sonnet-4-5");
    let parts = r#"{"text":"Look","thought":true},{"text":"","thought":true,"thoughtSignature":"c2VhbGVk"},{"text":"One file."}"#;
    let came = format!(
        r#"{{"generationConfig":{{"thinkingConfig":{{"thinkingBudget":2000}}}},"contents":[{{"role":"user","parts":[{{"text":"List it."}}]}},{{"role":"model","parts":[{parts}]}},{{"role":"user","parts":[{{"text":"And?"}}]}}]}}"#
    );
    let request = thinkthrough_core::wire::read_for(
        gateway.caller,
        gateway.target.wire,
        thinkthrough_json::Doc::parse_str(&came).unwrap().root(),
    );
    let contents = request.unwrap().contents;
    let thoughts: Vec<_> = contents[1].thoughts().collect();
    assert_eq!(thoughts.len(), 1, "{thoughts:?}");
    assert_eq!(thoughts[0].signature.as_deref(), Some("c2VhbGVk"));
}
