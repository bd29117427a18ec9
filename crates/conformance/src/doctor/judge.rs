//! Judges the records of the three ways.

use super::course::{Round, Trace};
use super::scenario::{Check, Expect, Habit, Scenario};
use super::span;
use super::{Mark, Row};
use crate::log::ThoughtState;

/// Judges a scenario and makes its row of the table.
pub(super) fn judge(
    scenario: &Scenario,
    direct: &Trace,
    naive: &Trace,
    gateway: Result<&Option<Trace>, &String>,
) -> Row {
    let right = direct_fault(direct);
    let (helpless, how) = helpless(scenario, direct, naive);
    let (mark, why, is_fine) = match gateway {
        Ok(None) => (Mark::Skip, "no gateway was asked".to_owned(), true),
        Err(why) => (Mark::Skip, why.clone(), true),
        Ok(Some(gateway)) => match gateway_fault(scenario, direct, gateway) {
            None => (Mark::Pass, helped(gateway), true),
            Some(Fault::PassedOn(text)) => {
                (Mark::Fail, format!("passed on: {text}"), scenario.may_pass_on)
            }
            Some(Fault::Own(text)) => (Mark::Fail, text, false),
        },
    };
    let is_as_expected = scenario.expect == Expect::Any || helpless == Helpless::AsExpected;
    let wrong =
        right.as_ref().map(|fault| format!("the right client: {fault}; ")).unwrap_or_default();
    Row {
        scenario: scenario.id.to_string(),
        direct: if right.is_none() { Mark::Pass } else { Mark::Fail },
        naive: if helpless == Helpless::Not { Mark::Pass } else { Mark::Fail },
        gateway: mark,
        reason: format!("{wrong}naive: {how}; gateway: {why}"),
        is_expected: right.is_none() && is_as_expected && is_fine,
    }
}

/// The fault of the direct way, which should have none.
fn direct_fault(trace: &Trace) -> Option<String> {
    if let Some(broken) = &trace.broken {
        return Some(broken.clone());
    }
    for round in &trace.rounds {
        if round.status != 200 && round.status != 0 && trace.cuts == 0 {
            return Some(format!("refused: {}", short(&round.refusal)));
        }
        if round.states(ThoughtState::Foreign) + round.states(ThoughtState::Altered) > 0 {
            return Some("the simulator does not know its own thoughts".to_owned());
        }
    }
    None
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Helpless {
    AsExpected,
    Otherwise,
    Not,
}

/// The result of the naive way, and whether the scenario expects it.
fn helpless(scenario: &Scenario, direct: &Trace, naive: &Trace) -> (Helpless, String) {
    if let Some(broken) = &naive.broken {
        return (Helpless::Otherwise, broken.clone());
    }
    let refused = naive.rounds.iter().find(|round| round.status >= 400);
    if let Some(round) = refused {
        let text = words(&round.refusal);
        let said = format!("refused: {}", short(&round.refusal));
        return match scenario.expect {
            Expect::Refused(expected) if text.contains(expected) => (Helpless::AsExpected, said),
            Expect::Either => (Helpless::AsExpected, said),
            _ => (Helpless::Otherwise, said),
        };
    }
    let counted = pairs(direct, naive).find(|(right, round)| round.counted < right.counted);
    if let Some((right, round)) = counted {
        let said = format!("{} of {} tokens counted", number(round), number(right));
        let is_expected = scenario.expect == Expect::Miscounted;
        return (if is_expected { Helpless::AsExpected } else { Helpless::Otherwise }, said);
    }
    let lost =
        pairs(direct, naive).find(|(right, round)| round.losses().len() > right.losses().len());
    if let Some((_, round)) = lost {
        let said = format!("silent: {}", round.losses().last().cloned().unwrap_or_default());
        let is_expected = matches!(scenario.expect, Expect::Lost | Expect::Either);
        return (if is_expected { Helpless::AsExpected } else { Helpless::Otherwise }, said);
    }
    (Helpless::Not, "nothing happened".to_owned())
}

enum Fault {
    /// The gateway passed on the provider's refusal of a faulty request.
    PassedOn(String),
    Own(String),
}

fn gateway_fault(scenario: &Scenario, direct: &Trace, trace: &Trace) -> Option<Fault> {
    if let Some(broken) = &trace.broken {
        return Some(Fault::Own(broken.clone()));
    }
    for (index, round) in trace.rounds.iter().enumerate() {
        let is_cut = trace.cuts > 0 && (round.status >= 500 || round.status == 0);
        if round.status != 200 && !is_cut && !round.is_stranger {
            return Some(refusal(scenario, round, index));
        }
        if let Some(fault) = foreign(round) {
            return Some(Fault::Own(format!("request {}: {fault}", index + 1)));
        }
        if round.repaired > 0 && scenario.checks.contains(&Check::AtOnce) {
            let text = format!("request {}: refused and repaired", index + 1);
            return Some(Fault::Own(text));
        }
        if round.is_stranger {
            continue;
        }
        let fault = own(scenario, direct.rounds.get(index), round);
        if let Some(fault) = fault.filter(|_| !round.is_after_loss) {
            return Some(Fault::Own(format!("request {}: {fault}", index + 1)));
        }
    }
    let short =
        trace.rounds.len() < direct.rounds.len() && !trace.rounds.iter().any(|it| it.is_stranger);
    if short {
        return Some(Fault::Own("the conversation ended early".to_owned()));
    }
    let grown = scenario.checks.contains(&Check::Prefix).then(|| span::grown(trace)).flatten();
    grown.map(Fault::Own)
}

fn refusal(scenario: &Scenario, round: &Round, index: usize) -> Fault {
    let text = words(&round.refusal);
    match scenario.expect {
        Expect::Refused(expected) if scenario.may_pass_on && text.contains(expected) => {
            Fault::PassedOn(short(&round.refusal))
        }
        _ => Fault::Own(format!(
            "request {}: refused with {}: {}",
            index + 1,
            round.status,
            short(&round.refusal)
        )),
    }
}

/// The fault of a request with thoughts that do not belong there.
fn foreign(round: &Round) -> Option<String> {
    let arrived = round.arrived.as_ref()?;
    let said = span::strings(&arrived.body);
    let own = if round.is_stranger { &round.thoughts } else { &round.strange };
    if own.iter().any(|thought| said.iter().any(|said| said.contains(thought.as_str()))) {
        return Some("a thought of somebody else was sent".to_owned());
    }
    let foreign = round.states(ThoughtState::Foreign);
    let is_dummy = round.losses().iter().any(|loss| loss.starts_with("dummy signature"));
    if foreign > 0 && !is_dummy {
        return Some(format!("{foreign} thoughts are not the provider's own"));
    }
    let altered = round.states(ThoughtState::Altered);
    (altered > 0).then(|| format!("{altered} thoughts were altered"))
}

/// The fault of a request, compared with the same request of the direct way.
fn own(scenario: &Scenario, right: Option<&Round>, round: &Round) -> Option<String> {
    let arrived = round.arrived.as_ref()?;
    if let Some(right) = right {
        if right.counted != round.counted {
            return Some(format!("{} of {} tokens counted", number(round), number(right)));
        }
        let is_worse = round.losses().len() > right.losses().len() && round.own() < right.own();
        if is_worse {
            return Some(round.losses().last().cloned().unwrap_or_default());
        }
        let native = round.losses().iter().find(|loss| loss.contains("native form"));
        if let Some(loss) = native {
            return Some(loss.clone());
        }
        let are_whole = right.answer.is_whole && round.answer.is_whole;
        if are_whole && right.answer.calls.len() != round.answer.calls.len() {
            return Some("the answer calls other tools".to_owned());
        }
    }
    if scenario.checks.contains(&Check::Every) {
        let said = span::strings(&arrived.body);
        let is_there = |thought: &&String| !said.iter().any(|said| said.contains(thought.as_str()));
        let gone = round.thoughts.iter().filter(is_there).count();
        if gone > 0 {
            return Some(format!("{gone} of {} thoughts did not arrive", round.thoughts.len()));
        }
    }
    let is_odd = scenario.habits.contains(&Habit::OddBytes);
    let is_kept = !scenario.checks.contains(&Check::Bytes)
        || is_odd && span::only_thoughts_were_added(&round.sent, &arrived.body);
    (!is_kept).then(|| "bytes that nobody had to change were changed".to_owned())
}

fn helped(trace: &Trace) -> String {
    let last = trace.rounds.iter().rev().find(|round| !round.is_stranger && round.own() > 0);
    let own: usize = trace.rounds.iter().map(Round::own).sum();
    let repaired: usize = trace.rounds.iter().map(|round| round.repaired).sum();
    let mut said = format!("passes, {own} times a thought came back as it left");
    if repaired > 0 {
        said.push_str(&format!(", {repaired} refusals repaired"));
    }
    if trace.cuts > 0 {
        said.push_str(&format!(", {} streams cut", trace.cuts));
    }
    if let Some(explained) = last.and_then(|round| round.explained.as_deref()) {
        let counts = explained.split("; trace=").next().unwrap_or_default();
        said.push_str(&format!(" ({counts})"));
    }
    said
}

/// The requests of two ways, in pairs.
fn pairs<'a>(right: &'a Trace, other: &'a Trace) -> impl Iterator<Item = (&'a Round, &'a Round)> {
    right.rounds.iter().zip(&other.rounds)
}

fn number(round: &Round) -> String {
    round.counted.map_or_else(|| "no".to_owned(), |count| count.to_string())
}

/// All strings of a refusal, or its plain text.
fn words(refusal: &str) -> String {
    let json = refusal.trim().strip_prefix("data:").unwrap_or(refusal);
    let said = span::strings(json.trim().as_bytes());
    if said.is_empty() { refusal.to_owned() } else { said.join(" ") }
}

/// The longest string of a refusal, cut to one line.
fn short(refusal: &str) -> String {
    let json = refusal.trim().strip_prefix("data:").unwrap_or(refusal);
    let said = span::strings(json.trim().as_bytes());
    let longest = said.into_iter().max_by_key(String::len).unwrap_or_else(|| refusal.to_owned());
    let mut out: String = longest.split_whitespace().collect::<Vec<_>>().join(" ");
    if out.chars().count() > LINE {
        out = out.chars().take(LINE).collect::<String>() + "...";
    }
    format!("`{out}`")
}

/// The most characters of a quotation in the table.
const LINE: usize = 120;
