//! An endpoint that nobody knows: its ids of calls name nothing, so that its callers get tickets.

use crate::tickets::{Client, STREAM, WHOLE, WIRES, native, native_on};
use crate::{Gateway, Lock};
use thinkthrough_core::content::{Block, Content, Speaker, Text};
use thinkthrough_core::contract::{Contract, Return};
use thinkthrough_core::provider::Target;
use thinkthrough_core::restore::ticket;
use thinkthrough_json::Raw;

const ALL: Contract = Contract::plain(Return::All, "reasoning_content");

/// A server that speaks `wire`, of which only this contract is known.
fn gateway(caller: &str, wire: &str, contract: Contract) -> Gateway {
    let mut gateway = Gateway::new(caller, "openai-compatible", None, "m");
    if wire != "chat-completions" {
        gateway.target = Target::built_in("google", Some(wire), "m").unwrap();
        gateway.target.lists_ids = false;
    }
    gateway.target = gateway.target.with_contract(contract, "config");
    gateway
}

/// An agent that clears all results but the newest, and reminds itself in its first message.
pub(crate) fn tidies(client: &mut Client) {
    let newest = client.said.iter().rposition(|it| it.speaker == Speaker::Ai).unwrap();
    for content in client.said.iter_mut().take(newest) {
        match (content.speaker, content.blocks.first_mut()) {
            (Speaker::Tool, Some(Block::ToolResponse(result))) => {
                result.result = Raw::string("[cleared]").into();
            }
            (Speaker::Human, _) => {
                content.blocks.push(Block::Text(Text::new("Mind your list.")));
            }
            _ => {}
        }
    }
}

/// Answers that look alike, with the ids that servers give which nobody knows: small numbers, and random ones.
fn answers(stream: bool, round: usize) -> [String; 2] {
    let answer = if stream { STREAM.concat() } else { WHOLE.to_owned() };
    let random = |nth: usize| format!("call_{round}a{nth}b77c3f2a9c7b1d5e4f60");
    [answer.clone(), answer.replace("read:0", &random(0)).replace("read:1", &random(1))]
}

#[test]
fn every_answer_with_calls_is_known_by_its_tickets_whatever_an_agent_forgets() {
    let wires = || WIRES.into_iter().chain(["mistral-chat"]);
    for (form, wire, stream) in [0, 1]
        .into_iter()
        .flat_map(|form| wires().map(move |wire| (form, wire)))
        .flat_map(|(form, wire)| [true, false].map(|stream| (form, wire, stream)))
    {
        let case = format!("{wire} {stream} {form}");
        let mut gateway = gateway(wire, "chat-completions", ALL);
        gateway.stream = Some(stream);
        let (mut client, mut given, mut seen) = (Client::new(wire, stream), Vec::new(), Vec::new());
        for round in 0..5 {
            let prepared = gateway.ask(&client.request(), &Lock);
            assert_eq!(prepared.counts.restored, round, "{case}");
            assert_eq!(native(&prepared), given, "{case}");
            let answer = answers(stream, round)[form].clone();
            let (said, done) = gateway.answer(prepared, &[&answer], None);
            for block in done.records.into_iter().flat_map(|(_, kept)| kept.blocks) {
                if let Block::ToolCall(call) = block {
                    given.extend(call.id);
                }
            }
            seen.extend(client.reads(&said));
            tidies(&mut client);
        }
        let is_short = |id: &str| id.len() == 9 && id.bytes().all(|b| b.is_ascii_alphanumeric());
        let has_form = |id: &String| match wire {
            "mistral-chat" => is_short(id),
            _ => ticket::is_ticket(id),
        };
        assert!(seen.iter().all(has_form), "{case}: {seen:?}");
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 10, "{case}: {seen:?}");
    }
}

#[test]
fn a_request_on_the_same_wire_has_its_ids_mapped_back_and_nothing_else_changed() {
    let mut gateway = gateway("chat-completions", "chat-completions", ALL);
    let mut client = Client::new("chat-completions", false);
    let first = gateway.ask(&client.request(), &Lock);
    let (said, _) = gateway.answer(first, &[WHOLE], None);
    let tickets = client.reads(&said);
    let asked = client.request();
    let sent = gateway.ask(&asked, &Lock).body.unwrap();
    let mut expected = asked.replace("\"model\":\"kimi-k3\"", "\"model\":\"m\"");
    for (ticket, own) in tickets.iter().zip(["read:0", "read:1"]) {
        expected = expected.replace(ticket.as_str(), own);
    }
    let thought = "\"reasoning_content\":\"Look\",";
    assert_eq!(sent.matches(thought).count(), 1, "{sent}");
    assert_eq!(sent.replacen(thought, "", 1), expected);
}

#[test]
fn a_ticket_whose_record_is_gone_becomes_an_id_that_any_api_takes() {
    for wire in WIRES.into_iter().chain(["mistral-chat"]) {
        let mut gateway = gateway(wire, "chat-completions", ALL);
        let mut client = Client::new(wire, false);
        gateway.stream = Some(false);
        for _ in 0..2 {
            let prepared = gateway.ask(&client.request(), &Lock);
            let (said, _) = gateway.answer(prepared, &[WHOLE], None);
            client.reads(&said);
        }
        gateway.records.remove(0);
        let sent = gateway.ask(&client.request(), &Lock);
        assert_eq!(native(&sent), ["call00000", "call00001", "read:0", "read:1"], "{wire}");
        // The same when more came behind it.
        client.said.push(Content::text(Speaker::Human, "Go on."));
        let later = gateway.ask(&client.request(), &Lock);
        assert_eq!(native(&later), native(&sent), "{wire}");
    }
}

#[test]
fn where_no_thought_goes_back_the_ids_stay_the_servers_and_tickets_go_home() {
    let mut gateway = gateway("chat-completions", "chat-completions", ALL);
    let mut client = Client::new("chat-completions", false);
    let first = gateway.ask(&client.request(), &Lock);
    let (said, _) = gateway.answer(first, &[WHOLE], None);
    client.reads(&said);
    // A refusal taught that the server takes none.
    gateway.target = gateway.target.with_contract(Contract::NONE, "learned");
    let next = gateway.ask(&client.request(), &Lock);
    assert_eq!(native(&next), ["read:0", "read:1"]);
    let (said, _) = gateway.answer(next, &[WHOLE], None);
    assert_eq!(said, WHOLE);
}

#[test]
fn ids_that_another_gateway_minted_are_the_servers_own() {
    let own = "tk_0123456789012345678901";
    let answer = WHOLE.replace("\"read:0\",", &format!("\"{own}\","));
    for contract in [ALL, Contract::NONE] {
        let mut gateway = gateway("chat-completions", "chat-completions", contract);
        let mut client = Client::new("chat-completions", false);
        let first = gateway.ask(&client.request(), &Lock);
        let (said, _) = gateway.answer(first, &[&answer], None);
        let seen = client.reads(&said);
        assert_eq!(seen[0] == own, contract == Contract::NONE);
        let next = gateway.ask(&client.request(), &Lock);
        let sent = next.body.clone().unwrap_or_else(|| client.request());
        assert_eq!(sent.matches(own).count(), 2, "{sent}");
        gateway.records.clear();
        let next = gateway.ask(&client.request(), &Lock);
        let sent = next.body.clone().unwrap_or_else(|| client.request());
        let count = if contract == Contract::NONE { 2 } else { 0 };
        assert_eq!(sent.matches(own).count(), count, "{sent}");
    }
}

#[test]
fn what_was_kept_before_there_were_tickets_is_found_by_its_history() {
    let mut gateway = gateway("chat-completions", "chat-completions", ALL);
    let mut client = Client::new("chat-completions", false);
    gateway.target.rule.contract.tickets = None;
    let first = gateway.ask(&client.request(), &Lock);
    let (said, _) = gateway.answer(first, &[WHOLE], None);
    assert_eq!(client.reads(&said), ["read:0", "read:1"]);
    gateway.target = gateway.target.with_contract(ALL, "config");
    let next = gateway.ask(&client.request(), &Lock);
    assert_eq!((next.counts.restored, native(&next)), (1, vec!["read:0".into(), "read:1".into()]));
    let (said, _) = gateway.answer(next, &[WHOLE], None);
    assert!(client.reads(&said).iter().all(|id| ticket::is_ticket(id)));
    let last = gateway.ask(&client.request(), &Lock);
    assert_eq!(last.counts.restored, 2);
    assert_eq!(native(&last), ["read:0", "read:1"].repeat(2));
}

/// Calls of a server that gives them no ids.
const NAMELESS: &str = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Look","thought":true},{"functionCall":{"name":"read","args":{"a":1}}},{"functionCall":{"name":"read","args":{}}}]},"finishReason":"STOP"}]}"#;

#[test]
fn a_server_without_ids_gets_none_back_as_long_as_the_order_tells_whose_a_result_is() {
    for wire in ["chat-completions", "messages", "responses"] {
        let contract = Contract { field: None, ..ALL };
        let mut gateway = gateway(wire, "generate-content", contract);
        let mut client = Client::new(wire, false);
        gateway.stream = Some(false);
        let first = gateway.ask(&client.request(), &Lock);
        let (said, _) = gateway.answer(first, &[NAMELESS], None);
        let seen = client.reads(&said);
        assert!(seen.len() == 2 && seen.iter().all(|id| ticket::is_ticket(id)), "{seen:?}");
        let next = gateway.ask(&client.request(), &Lock);
        assert_eq!(next.counts.restored, 1, "{wire}");
        assert_eq!(native_on("generate-content", &next), [""; 0], "{wire}");
        let last = client.said.len() - 1;
        client.said.swap(last - 1, last);
        let turned = gateway.ask(&client.request(), &Lock).body.unwrap();
        let [one, two] = ["call00000", "call00001"].map(|id| turned.matches(id).count());
        assert_eq!((one, two), (2, 2), "{wire}: {turned}");
    }
}

#[test]
fn a_gemini_client_may_say_ids_of_calls_and_none_of_results_or_none_at_all() {
    for drops_all in [false, true] {
        let mut gateway = gateway("generate-content", "chat-completions", ALL);
        let mut client = Client::new("generate-content", false);
        gateway.stream = Some(false);
        for round in 0..3 {
            let prepared = gateway.ask(&client.request(), &Lock);
            assert_eq!(prepared.counts.restored, round, "{drops_all}");
            assert_eq!(native(&prepared), ["read:0", "read:1"].repeat(round), "{drops_all}");
            let (said, _) = gateway.answer(prepared, &[WHOLE], None);
            client.reads(&said);
            for block in client.said.iter_mut().flat_map(|it| &mut it.blocks) {
                match block {
                    Block::ToolResponse(result) => result.call_id = None,
                    Block::ToolCall(call) if drops_all => call.id = None,
                    _ => {}
                }
            }
        }
    }
}

/// Two calls in two messages, and none of them has an id.
const NAMELESS_STREAM: &str = "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Look\",\"thought\":true}]}}]}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{\"a\":1}}}]}}]}\r\n\r\ndata: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"functionCall\":{\"name\":\"read\",\"args\":{}}}]},\"finishReason\":\"STOP\"}]}\r\n\r\n";

#[test]
fn a_native_gemini_call_without_an_id_gets_one_and_the_server_gets_none_back() {
    let contract = Contract { field: None, ..ALL };
    for (stream, answer) in [(false, NAMELESS), (true, NAMELESS_STREAM)] {
        // What the agent does with ids of results: it says them, or none, or none of calls either.
        for drops in 0..3 {
            let mut gateway = gateway("generate-content", "generate-content", contract);
            let mut client = Client::new("generate-content", stream);
            gateway.stream = Some(stream);
            for round in 0..4 {
                let case = format!("{stream} {drops} {round}");
                let prepared = gateway.ask(&client.request(), &Lock);
                assert_eq!(prepared.counts.restored, round, "{case}");
                assert_eq!(native_on("generate-content", &prepared), [""; 0], "{case}");
                let (said, _) = gateway.answer(prepared, &[answer], None);
                let seen = client.reads(&said);
                let [one, two] =
                    seen.iter().map(String::as_str).collect::<Vec<_>>().try_into().unwrap();
                assert!(ticket::is_ticket(one) && ticket::is_ticket(two) && one != two, "{case}");
                let bare = said.replacen(&format!("\"id\":\"{one}\","), "", 1);
                assert_eq!(bare.replacen(&format!("\"id\":\"{two}\","), "", 1), answer, "{case}");
                for block in client.said.iter_mut().flat_map(|it| &mut it.blocks) {
                    match block {
                        Block::ToolResponse(result) if drops > 0 => result.call_id = None,
                        Block::ToolCall(call) if drops > 1 => call.id = None,
                        _ => {}
                    }
                }
                if drops < 2 {
                    tidies(&mut client);
                }
            }
        }
    }
}

#[test]
fn the_ids_are_the_same_however_a_stream_is_cut() {
    for (wire, upstream, answer) in WIRES
        .map(|wire| (wire, "chat-completions", STREAM.concat()))
        .into_iter()
        .chain([("generate-content", "generate-content", NAMELESS_STREAM.to_owned())])
    {
        let contract = Contract { field: ALL.field.filter(|_| upstream != wire), ..ALL };
        let ask = |gateway: &mut Gateway| {
            gateway.stream = Some(true);
            gateway.ask(&Client::new(wire, true).request(), &Lock)
        };
        let mut whole = gateway(wire, upstream, contract);
        let asked = ask(&mut whole);
        let (said, _) = whole.answer(asked, &[&answer], None);
        for at in 0..answer.len() {
            let mut cut = gateway(wire, upstream, contract);
            let asked = ask(&mut cut);
            let (head, tail) = answer.split_at(at);
            assert_eq!(cut.answer(asked, &[head, tail], None).0, said, "{wire} {at}");
        }
    }
}
