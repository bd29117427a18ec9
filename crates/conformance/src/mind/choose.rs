//! Chooses the next tool calls.

use serde_json::Value;

use super::offer::Offer;
use super::reading::{Clause, Reading};
use super::trade::Trade;
use super::words::{bare, clauses, is_file, keys};
use super::{Call, Choice, Scene, Turn, fill};

/// The mind compares at most this many tools with each clause of a question.
const OFFERS: usize = 256;

/// The mind fills arguments for at most this many clauses of a question.
const TRIES: usize = 4;

/// The most calls at once for the clauses of a question.
const CALLS: usize = 2;

/// The mind looks at most at this many files of a listing.
const LISTED: usize = 1000;

/// The next calls. Empty if the mind is to answer.
pub(super) fn next_calls(scene: &Scene, turn: &Turn<'_>) -> Vec<Call> {
    if scene.tools.is_empty() || scene.choice == Choice::None {
        return Vec::new();
    }
    let question = Reading::of(&turn.question);
    let words: Vec<&str> = bare(&question.lower).collect();
    let tools = scene.tools.iter().take(OFFERS);
    let mut offers: Vec<Offer<'_>> = tools.map(|tool| Offer::of(tool, &words)).collect();
    if scene.choice == Choice::Auto {
        // An agent's first try must change nothing.
        offers.retain(|offer| offer.only_looks() || offer.is_named);
    }
    if !turn.calls.is_empty() {
        return follow_up(&offers, turn, &question).into_iter().collect();
    }
    let mut calls = wanted(scene, &offers, &question);
    if calls.is_empty() {
        calls.extend(forced(scene, &offers, &question));
    }
    if !scene.parallel {
        calls.truncate(1);
    }
    calls
}

/// The calls that the words of the request ask for, one for each clause.
fn wanted(scene: &Scene, offers: &[Offer<'_>], question: &Reading<'_>) -> Vec<Call> {
    let offered: Vec<&Offer<'_>> = match &scene.choice {
        Choice::Named(name) => offers.iter().filter(|offer| offer.tool.name == *name).collect(),
        Choice::Auto | Choice::None | Choice::Any => offers.iter().collect(),
    };
    let mut calls: Vec<Call> = Vec::new();
    let mut last: Option<&Offer<'_>> = None;
    let mut tries = 0;
    for text in clauses(question.text) {
        let clause = Clause::of(text);
        let offer = best(&offered, &clause, question)
            .or_else(|| last.filter(|offer| fill::has_value(offer, &clause)));
        let Some(offer) = offer else { continue };
        let arguments = if offer.spans_clauses {
            fill::arguments(offer, question, question, 0)
        } else {
            fill::arguments(offer, &Reading::of(text), question, 0)
        };
        let call = Call { name: offer.tool.name.clone(), arguments };
        if !calls.contains(&call) {
            calls.push(call);
        }
        last = Some(offer);
        tries += 1;
        let is_free = scene.choice == Choice::Auto && !offer.is_named;
        if is_free || calls.len() == CALLS || tries == TRIES {
            break;
        }
    }
    if let ([only], true) = (calls.as_slice(), question.lower.contains("parallel")) {
        calls.extend(second(&offered, last, only, question));
    }
    calls
}

/// A second call for a request that wants two at once but names one thing. It is a call of another
/// tool that needs no values, else a call of the same tool with the next best values.
fn second(
    offered: &[&Offer<'_>],
    first: Option<&Offer<'_>>,
    call: &Call,
    question: &Reading<'_>,
) -> Option<Call> {
    let first = first?;
    let is_other =
        |offer: &&&Offer<'_>| offer.tool.name != first.tool.name && fill::is_ready(offer, question);
    let (offer, nth) = offered.iter().find(is_other).map_or((first, 1), |offer| (*offer, 0));
    let mut arguments = fill::arguments(offer, question, question, nth);
    if offer.tool.name == call.name && arguments == call.arguments {
        fill::vary(&mut arguments, &offer.tool.schema);
    }
    Some(Call { name: offer.tool.name.clone(), arguments })
}

/// A call that the request demands although its words fit no tool.
fn forced(scene: &Scene, offers: &[Offer<'_>], question: &Reading<'_>) -> Option<Call> {
    let ready = || offers.iter().find(|offer| fill::is_ready(offer, question));
    let asked = bare(&question.lower).any(|word| matches!(word, "tool" | "tools"));
    let offer = match &scene.choice {
        Choice::Named(name) => offers.iter().find(|offer| offer.tool.name == *name)?,
        Choice::Any => ready().or_else(|| offers.first())?,
        Choice::Auto if asked => ready()?,
        Choice::Auto | Choice::None => return None,
    };
    let arguments = fill::arguments(offer, question, question, 0);
    Some(Call { name: offer.tool.name.clone(), arguments })
}

/// The tool with the best score for the clause. `None` if no tool fits well enough.
fn best<'o, 'a>(
    offered: &[&'o Offer<'a>],
    clause: &Clause<'_>,
    question: &Reading<'_>,
) -> Option<&'o Offer<'a>> {
    let mut found: Option<(usize, &Offer<'a>)> = None;
    for offer in offered {
        let points = offer.score(clause);
        let fits = points >= 3 && !fill::needs_file(offer, question);
        if fits && found.is_none_or(|(best, _)| points > best) {
            found = Some((points, offer));
        }
    }
    found.map(|(_, offer)| offer)
}

/// The call that reads one file after a listing, if the user asks about the content of files.
fn follow_up(offers: &[Offer<'_>], turn: &Turn<'_>, question: &Reading<'_>) -> Option<Call> {
    let named = |name: &str, trade| {
        let offer = offers.iter().find(|offer| offer.tool.name == name);
        offer.is_some_and(|offer| offer.trade == trade)
    };
    let listed = turn.calls.last().filter(|call| named(&call.name, Trade::Lister))?;
    let reader = offers.iter().find(|offer| offer.trade == Trade::Reader)?;
    let read_before = turn.calls.iter().any(|call| call.name == reader.tool.name);
    if read_before || !wants_content(question) {
        return None;
    }
    let (_, result, failed) = turn.results.last()?;
    let file = file_in(result, question).filter(|_| !failed)?;
    let folder = listed.arguments.as_object().and_then(|map| {
        map.iter().find(|(key, _)| fill::is_path(key)).and_then(|(_, value)| value.as_str())
    });
    let path = match folder {
        Some(folder) if !matches!(folder, "." | "./" | "") && !file.starts_with(folder) => {
            format!("{}/{file}", folder.trim_end_matches('/'))
        }
        Some(_) | None => file,
    };
    let path = Reading::of(&path);
    let arguments = fill::arguments(reader, &path, &path, 0);
    Some(Call { name: reader.tool.name.clone(), arguments })
}

fn wants_content(question: &Reading<'_>) -> bool {
    let spoken = ["say", "says", "about", "explain", "inside", "text"];
    keys(question.text).contains("read")
        || bare(&question.lower).any(|word| spoken.contains(&word))
        || !question.files.is_empty()
}

/// The file of a listing that the question means: a file that it names, else a readme, a text file,
/// or the first file.
fn file_in(listing: &str, question: &Reading<'_>) -> Option<String> {
    let names = match serde_json::from_str::<Value>(listing) {
        Ok(value) => strings(&value),
        Err(_) => bare(listing).map(str::to_owned).collect(),
    };
    let plain = ["README", "LICENSE", "LICENCE", "Makefile", "Dockerfile", "justfile"];
    let readable = |name: &String| is_file(name) || plain.contains(&name.as_str());
    let files: Vec<String> = names.into_iter().filter(readable).take(LISTED).collect();
    let words: Vec<&str> = bare(&question.lower).collect();
    let named = files.iter().find(|name| {
        let lower = name.to_lowercase();
        let stem = lower.split('.').next().unwrap_or_default();
        words.iter().any(|word| word.ends_with(&lower) || *word == stem)
    });
    let readme = || files.iter().find(|name| name.to_lowercase().contains("readme"));
    let text = || files.iter().find(|name| name.ends_with(".md") || name.ends_with(".txt"));
    named.or_else(readme).or_else(text).or_else(|| files.first()).cloned()
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => bare(text).map(str::to_owned).collect(),
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(map) => map.values().flat_map(strings).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
