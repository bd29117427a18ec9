//! Where a recorded client sent reasoning back and the API took it, our request carries the same in the same place.

use crate::reading::{Case, cases};
use serde_json::{Value, json};
use thinkthrough_core::request::Request;
use thinkthrough_core::wire::Dialect;

/// What an item of the model is, as far as the place of reasoning is concerned.
fn kind(item: &Value) -> Option<&'static str> {
    match (item["type"].as_str(), item["role"].as_str()) {
        (Some("reasoning"), _) => Some("reasoning"),
        (Some("function_call"), _) => Some("call"),
        (Some("message") | None, Some("assistant")) => Some("message"),
        _ => None,
    }
}

/// The items that we would send back for this answer.
fn ours(case: &Case) -> Vec<Value> {
    let contents = vec![case.answer().into_content(None)];
    let request = Request { model: "m".to_owned(), contents, ..Request::default() };
    let written = case.wire.write_request(&request, &Dialect::default());
    assert!(written.untranslated.is_empty(), "{:?}", written.untranslated);
    let body: Value = serde_json::from_str(&written.body).unwrap();
    body["input"].as_array().unwrap().clone()
}

/// Whether our reasoning item says what the client's said; another payload of the same item is as right, and an
/// id may be left out.
fn says_the_same(ours: &Value, theirs: &Value, expected: &Value) -> bool {
    let blob = &theirs["encrypted_content"];
    let others = &expected["encrypted_alternatives"];
    let is_same_blob = ours["encrypted_content"] == *blob
        || others.as_array().is_some_and(|others| others.contains(blob));
    let is_same_id = theirs.get("id").is_none() || ours["id"] == theirs["id"];
    let no_content = json!([]);
    let content = |item: &'_ Value| item.get("content").unwrap_or(&no_content).clone();
    let is_same_content = theirs.get("content").is_none() || content(ours) == content(theirs);
    is_same_blob && is_same_id && is_same_content && ours["summary"] == theirs["summary"]
}

#[test]
fn reasoning_goes_back_as_recorded_clients_sent_it() {
    let cases = cases();
    let (mut agreed, mut failures) = (0, Vec::new());
    for case in &cases {
        let Some(replay) = &case.replay else { continue };
        let Some(appended) = replay["appended"].as_array() else { continue };
        let theirs: Vec<&Value> = appended.iter().filter(|item| kind(item).is_some()).collect();
        if !theirs.iter().any(|item| kind(item) == Some("reasoning")) {
            continue;
        }
        let Some(previous) = cases.iter().find(|other| replay["previous"] == other.id.as_str())
        else {
            continue;
        };
        let ours = ours(previous);
        let kinds =
            |items: &[&Value]| items.iter().filter_map(|item| kind(item)).collect::<Vec<_>>();
        let our_kinds = kinds(&ours.iter().collect::<Vec<_>>());
        if our_kinds != kinds(&theirs) {
            failures.push(format!("{}: {our_kinds:?} and not {:?}", case.id, kinds(&theirs)));
            continue;
        }
        let expected = previous.expected["thinking"].as_array().unwrap();
        let pairs = ours.iter().filter(|item| kind(item).is_some()).zip(&theirs);
        let mut thoughts = expected.iter();
        for (our, their) in pairs.filter(|(our, _)| kind(our) == Some("reasoning")) {
            let expected = thoughts.next().unwrap_or(&Value::Null);
            if says_the_same(our, their, expected) {
                agreed += 1;
            } else {
                failures.push(format!("{}: {our} and not {their}", case.id));
            }
        }
    }
    println!("{agreed} recorded reasoning items agree, {} differ", failures.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
