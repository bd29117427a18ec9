//! What clients do to conversations, each as a change of the messages that they send.

use super::client::{Sent, thought_in};
use crate::vault::text;
use thinkthrough_core::content::{Block, Content, Parameters, Speaker, ToolCall, ToolResult};
use thinkthrough_json::Raw;

/// What a client does each time that it sends. The order is the order in which a client gives way to several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Habit {
    KeepsThoughts,
    /// Without the thoughts of turns that are over.
    StripsThoughts,
    /// A copy of the thought stands in the text.
    Shows(Copied),
    /// The calls of two answers, one after the other, in one message.
    Merges,
    /// Each call in a message of its own.
    Splits(Split),
    /// The oldest messages are dropped; so many stay.
    Slides(usize),
    /// Tool results are cleared, all but so many.
    ClearsResults(usize),
    /// Tool results are cut, all but so many.
    Truncates(usize),
    Reminds(Reminded),
    DropsImages,
    AddsDefaults,
    DropsNulls,
    ClearsArguments,
    /// Ids of `[A-Za-z0-9_-]` only.
    CleansIds,
    /// Ids of 40 characters at most.
    CutsIds,
    /// A mark behind every second id, as if it came twice.
    NumbersIds,
    DropsIds,
    /// In the system prompt.
    SaysTheTime,
}

/// How an answer with several calls is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Split {
    /// The result of each call stands behind it.
    Each,
    /// The same, and each message has all that the answer says.
    Repeating,
    /// All results stand behind the last call.
    Before,
}

/// Which of the user's messages get a reminder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reminded {
    /// The first, once it was answered.
    First,
    /// The newest, each time in other words.
    Newest,
    /// Each that was answered.
    Every,
}

/// How a copy of a thought is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Copied {
    Think,
    Thinking,
    Details,
    /// As `Details`, each line behind a `>`, and with the signs of HTML escaped.
    Quoted,
}

pub(super) fn change(sent: &mut Vec<Sent>, habit: Habit, requests: usize) {
    match habit {
        Habit::KeepsThoughts | Habit::StripsThoughts => {}
        Habit::Shows(copied) => show(sent, copied),
        Habit::Merges => *sent = merged(sent),
        Habit::Splits(how) => *sent = split(sent, how),
        Habit::Slides(stay) => slide(sent, stay),
        Habit::ClearsResults(stay) => results(sent, stay, |result| {
            *result = Raw::string("[Old tool result content cleared]").into();
        }),
        Habit::Truncates(stay) => results(sent, stay, |result| {
            let start: String = result.text().trim_matches('"').chars().take(3).collect();
            *result = Raw::string(&format!("{start} [truncated]")).into();
        }),
        Habit::Reminds(whom) => remind(sent, whom, requests),
        Habit::DropsImages => drop_images(sent),
        Habit::AddsDefaults => calls(sent, |_, call| {
            replace(call, r#"{"n":1}"#, r#"{"n":1,"depth":10}"#);
            replace(call, "{}", r#"{"depth":10}"#);
        }),
        Habit::DropsNulls => {
            calls(sent, |_, call| replace(call, r#"{"n":1,"limit":null}"#, r#"{"n":1}"#));
        }
        Habit::ClearsArguments => clear_arguments(sent),
        Habit::CleansIds => ids(sent, |id| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            Some(id.chars().map(|c| if is_plain(c) { c } else { '_' }).collect())
        }),
        Habit::CutsIds => ids(sent, |id| Some(id.chars().take(40).collect())),
        Habit::NumbersIds => ids(sent, |id| {
            let is_marked = id.bytes().map(usize::from).sum::<usize>() % 2 == 0;
            Some(if is_marked { format!("{id}_dup2") } else { id.to_owned() })
        }),
        Habit::DropsIds => ids(sent, |_| None),
        Habit::SaysTheTime => say_the_time(sent, requests),
    }
}

fn show(sent: &mut [Sent], copied: Copied) {
    for it in sent {
        let Some(thought) = thought_in(it) else { continue };
        let copy = match copied {
            Copied::Think => format!("<think>\n{thought}\n</think>\n\n"),
            Copied::Thinking => format!("<thinking>{thought}</thinking>\n"),
            Copied::Details => {
                format!("<details>\n<summary>Thought</summary>\n\n{thought}\n\n</details>\n\n")
            }
            Copied::Quoted => {
                let escaped =
                    thought.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
                let lines: Vec<String> = escaped.lines().map(|line| format!("> {line}")).collect();
                let lines = lines.join("\n");
                format!(
                    "<details type=\"reasoning\" done=\"true\">\n<summary>Thought for 2 seconds</summary>\n{lines}\n\
                     </details>\n"
                )
            }
        };
        match it.content.blocks.iter_mut().find_map(said) {
            Some(words) => words.insert_str(0, &copy),
            None => it.content.blocks.insert(0, text(&copy)),
        }
        it.copy = Some(copy);
    }
}

fn said(block: &mut Block) -> Option<&mut String> {
    match block {
        Block::Text(text) => Some(&mut text.text),
        _ => None,
    }
}

/// The results right behind a message, if it has calls and all of these have one.
fn results_of(sent: &[Sent], at: usize) -> Option<&[Sent]> {
    let calls = sent.get(at).filter(|it| it.is_answer())?.calls();
    let results = sent.get(at + 1..at + 1 + calls)?;
    (calls > 0 && results.iter().all(|it| it.is_of(Speaker::Tool))).then_some(results)
}

/// Two answers after one another, of which the second says nothing but calls, become one message with all calls.
fn merged(sent: &[Sent]) -> Vec<Sent> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(first) = sent.get(at) {
        let is_silent = |it: &Sent| it.content.visible_text().is_empty();
        let next = results_of(sent, at).map_or(at + 1, |results| at + 1 + results.len());
        let pair = results_of(sent, at).zip(results_of(sent, next));
        let Some((results, more)) = pair.filter(|_| is_silent(&sent[next])) else {
            all.push(first.clone());
            at += 1;
            continue;
        };
        let mut one = first.clone();
        one.content.blocks.extend(sent[next].content.blocks.iter().cloned());
        one.parts.extend(sent[next].parts.iter().cloned());
        all.push(one);
        all.extend(results.iter().chain(more).cloned());
        at = next + 1 + more.len();
    }
    all
}

fn split(sent: &[Sent], how: Split) -> Vec<Sent> {
    let (mut all, mut at) = (Vec::new(), 0);
    while let Some(it) = sent.get(at) {
        let results = results_of(sent, at).filter(|results| results.len() > 1);
        let (Some(results), [part]) = (results, it.parts.as_slice()) else {
            all.push(it.clone());
            at += 1;
            continue;
        };
        let is_call = |block: &&Block| matches!(block, Block::ToolCall(_));
        let (calls, rest): (Vec<&Block>, Vec<&Block>) = it.content.blocks.iter().partition(is_call);
        for (nth, (call, result)) in calls.iter().zip(results).enumerate() {
            let has_head = nth == 0 || how == Split::Repeating;
            let head = if has_head { rest.as_slice() } else { &[] };
            let blocks = head.iter().chain([call]).map(|block| (*block).clone()).collect();
            all.push(Sent {
                content: Content::new(Speaker::Ai, blocks),
                parts: vec![super::client::Part { name: part.name.clone(), calls: 1 }],
                copy: it.copy.clone().filter(|_| has_head),
                clock: None,
            });
            all.extend((how != Split::Before).then(|| result.clone()));
        }
        if how == Split::Before {
            all.extend_from_slice(results);
        }
        at += 1 + results.len();
    }
    all
}

fn slide(sent: &mut Vec<Sent>, stay: usize) {
    let systems = sent.iter().take_while(|it| it.is_of(Speaker::System)).count();
    let mut start = sent.len().saturating_sub(stay).max(systems);
    // No result stands without its call.
    while sent.get(start).is_some_and(|it| it.is_of(Speaker::Tool)) {
        start += 1;
    }
    sent.drain(systems..start);
}

/// All results but the newest ones.
fn results(sent: &mut [Sent], stay: usize, change: impl Fn(&mut ToolResult)) {
    let blocks = sent.iter_mut().rev().flat_map(|it| it.content.blocks.iter_mut().rev());
    let results = blocks.filter_map(|block| match block {
        Block::ToolResponse(response) => Some(&mut response.result),
        _ => None,
    });
    results.skip(stay).for_each(change);
}

fn remind(sent: &mut [Sent], whom: Reminded, requests: usize) {
    let answered = sent.iter().rposition(Sent::is_answer).unwrap_or(0);
    let first = sent.iter().position(|it| it.is_of(Speaker::Human));
    let newest = sent.iter().rposition(|it| it.is_of(Speaker::Human));
    for (at, it) in sent.iter_mut().enumerate() {
        let words = match whom {
            Reminded::First if Some(at) == first && at < answered => "Keep to the plan.".to_owned(),
            Reminded::Every if it.is_of(Speaker::Human) && at < answered => "Be brief.".to_owned(),
            Reminded::Newest if Some(at) == newest => format!("{requests} todos are left."),
            _ => continue,
        };
        it.content.blocks.push(text(&format!("<system-reminder>{words}</system-reminder>")));
    }
}

fn drop_images(sent: &mut [Sent]) {
    let newest = sent.iter().rposition(|it| it.is_of(Speaker::Human)).unwrap_or(0);
    for it in sent.iter_mut().take(newest) {
        it.content.blocks.retain(|block| !matches!(block, Block::Media(_)));
    }
}

/// Every call; whether it is one of the newest message.
fn calls(sent: &mut [Sent], change: impl Fn(bool, &mut ToolCall)) {
    let newest = sent.iter().rposition(Sent::is_answer);
    for (at, it) in sent.iter_mut().enumerate() {
        for block in &mut it.content.blocks {
            if let Block::ToolCall(call) = block {
                change(Some(at) == newest, call);
            }
        }
    }
}

fn replace(call: &mut ToolCall, old: &str, new: &str) {
    if call.parameters.as_text() == old {
        call.parameters = Parameters::from_text(new);
    }
}

fn clear_arguments(sent: &mut [Sent]) {
    calls(sent, |is_newest, call| {
        if !is_newest {
            call.parameters = Parameters::default();
        }
    });
}

/// Every id, on calls and on the results that name them.
fn ids(sent: &mut [Sent], change: impl Fn(&str) -> Option<String>) {
    for block in sent.iter_mut().flat_map(|it| &mut it.content.blocks) {
        let id = match block {
            Block::ToolCall(call) => &mut call.id,
            Block::ToolResponse(response) => &mut response.call_id,
            _ => continue,
        };
        *id = id.as_ref().and_then(|id| change(id));
    }
}

fn say_the_time(sent: &mut [Sent], requests: usize) {
    let Some(first) = sent.first_mut().filter(|it| it.is_of(Speaker::System)) else { return };
    let (minute, second) = (requests / 60 % 60, requests % 60);
    let clock = format!("2026-03-04 05:{minute:02}:{second:02}");
    first.content.blocks.push(text(&format!("It is {clock}.")));
    first.clock = Some(clock);
}
