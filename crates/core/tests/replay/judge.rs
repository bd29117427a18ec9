//! Compares what we send with what recorded clients sent.

use crate::conversation::{Told, tell};
use crate::exceptions::exceptions;
use crate::marks::{Mark, SIBLINGS, is_nothing, runs};
use crate::recordings::cases;
use serde_json::Value;
use std::collections::BTreeMap;
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::contract::Return;
use thinkthrough_core::settings::{Include, Layer, Partial, Resolved, Source, resolve};

/// How one answer went back.
#[derive(Clone, Debug, PartialEq)]
enum Verdict {
    /// The same reasoning in the same place, by the model's contract alone.
    Same,
    /// The same, once the user asks for it: nothing is known that makes the model need it.
    SameWhenAsked,
    /// The client sent none, and ours does what the contract says.
    ByContract,
    /// Something else.
    Different(String),
}

#[derive(Default)]
struct Score {
    same: usize,
    asked: usize,
    by_contract: usize,
    excepted: usize,
    different: usize,
}

#[test]
fn reasoning_goes_back_as_recorded_clients_sent_it() {
    let cases = cases();
    let exceptions = exceptions();
    let mut scores: BTreeMap<(String, &str), Score> = BTreeMap::new();
    let (mut failures, mut unused) = (Vec::new(), exceptions.clone());
    for case in cases.iter().filter(|case| case.replay.is_some()) {
        let told = tell(case, &cases).unwrap();
        let score = scores.entry((case.provider.clone(), case.wire.id())).or_default();
        for verdict in verdicts(&told) {
            match (verdict, exceptions.get(case.conversation.as_str())) {
                (Verdict::Same, _) => score.same += 1,
                (Verdict::SameWhenAsked, _) => score.asked += 1,
                (Verdict::ByContract, _) => score.by_contract += 1,
                (Verdict::Different(_), Some(_)) => {
                    score.excepted += 1;
                    unused.remove(case.conversation.as_str());
                }
                (Verdict::Different(how), None) => {
                    score.different += 1;
                    failures.push(format!("{} ({}): {how}", case.id, told.target.rule_source));
                }
            }
        }
    }
    let mut all = Score::default();
    for ((provider, wire), score) in &scores {
        println!("{wire} {provider}: {}", score.shown());
        all.add(score);
    }
    println!("in all: {}", all.shown());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(cases.is_empty() || unused.is_empty(), "excepted, but the same: {unused:?}");
}

/// One verdict for each answer in the history of a request.
fn verdicts(told: &Told<'_>) -> Vec<Verdict> {
    let theirs = if told.is_whole { runs(told.case.wire.id(), &told.theirs()) } else { Vec::new() };
    let by_contract = told.ours(&Resolved::default());
    let asked = told.ours(&asking());
    let body = |body: &str| -> Value { serde_json::from_str(body).unwrap() };
    let ours = runs(told.case.wire.id(), &body(&by_contract.body));
    let ours_when_asked = runs(told.case.wire.id(), &body(&asked.body));
    let verdict = |answer: &usize| {
        let at = run_of(&told.request.contents, *answer);
        let (ours, asked) = (run(&ours, at), run(&ours_when_asked, at));
        let theirs = run(&theirs, at);
        if let Some(payload) = invented(ours, &told.request.contents[*answer]) {
            return Verdict::Different(format!("{payload} is not from the answer"));
        }
        // What a client makes of an answer that had none is its own.
        let had_any = told.request.contents[*answer].blocks.iter().any(bears)
            || told.request.contents[*answer].signature.is_some();
        if !had_any || !theirs.iter().any(Mark::bears) {
            return by_rule(told, *answer, ours);
        }
        if !theirs.iter().any(Mark::is_thought) && ours.iter().any(Mark::is_thought) {
            // It left the readable thoughts out and kept the payloads beside them.
            return match (by_rule(told, *answer, ours), difference(&rest(ours), theirs)) {
                (Verdict::ByContract, None) => Verdict::Same,
                (Verdict::ByContract, Some(how)) => Verdict::Different(how),
                (other, _) => other,
            };
        }
        match (difference(ours, theirs), difference(asked, theirs)) {
            (None, _) => Verdict::Same,
            (Some(_), None) => Verdict::SameWhenAsked,
            (Some(how), Some(_)) => Verdict::Different(how),
        }
    };
    told.answers.iter().map(verdict).collect()
}

/// A payload in ours that the answer did not have.
fn invented(ours: &[Mark], answer: &Content) -> Option<String> {
    const PAYLOADS: [&str; 6] =
        ["data", "encrypted_content", "format", "id", "signature", "thoughtSignature"];
    // Marks spell signatures in one of the two alphabets of base64.
    let spelled = |text: &str| text.replace('-', "+").replace('_', "/");
    let said = spelled(&format!("{:?}", answer.blocks));
    let payloads = ours.iter().flat_map(|mark| PAYLOADS.map(|key| mark.says[key].as_str()));
    payloads.flatten().find(|payload| !said.contains(&spelled(payload))).map(str::to_owned)
}

/// Everything but the thoughts.
fn rest(marks: &[Mark]) -> Vec<Mark> {
    marks.iter().filter(|mark| !mark.is_thought()).cloned().collect()
}

fn run(runs: &[Vec<Mark>], at: usize) -> &[Mark] {
    runs.get(at).map(Vec::as_slice).unwrap_or_default()
}

/// The user wants every thought to go back, as these clients do.
fn asking() -> Resolved {
    let values = Partial { include_in_context: Some(Include::True), ..Partial::default() };
    resolve(&[Layer { source: Source::Session, values }])
}

/// Which run of messages of the model a content belongs to.
fn run_of(contents: &[Content], at: usize) -> usize {
    let is_model = |at: usize| contents[at].speaker == Speaker::Ai;
    (0..at).filter(|at| is_model(*at) && (*at == 0 || !is_model(*at - 1))).count()
}

/// What is different, as far as reasoning goes; `None` if nothing is.
fn difference(ours: &[Mark], theirs: &[Mark]) -> Option<String> {
    let kinds = |marks: &[Mark]| marks.iter().map(|mark| mark.kind.clone()).collect::<Vec<_>>();
    if kinds(ours) != kinds(theirs) {
        return Some(format!("{:?} instead of {:?}", kinds(ours), kinds(theirs)));
    }
    let pairs = ours.iter().zip(theirs).filter(|(_, theirs)| theirs.bears());
    let mut different = pairs.filter(|(ours, theirs)| !says_the_same(&ours.says, &theirs.says));
    different.next().map(|(ours, theirs)| format!("{} instead of {}", ours.says, theirs.says))
}

/// Whether ours says what theirs says. A member of the answer that the client left out may stand in ours; nothing
/// that it sent may be missing or different. A client that says one thought under several names, since it does not
/// know which one the server reads, has said it once.
fn says_the_same(ours: &Value, theirs: &Value) -> bool {
    let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) else {
        return ours == theirs;
    };
    let is_said = |(key, value): &(&String, &Value)| ours.get(*key) == Some(*value);
    let mut said = theirs.iter().filter(|(_, value)| !is_nothing(value));
    let is_string = |key: &String| SIBLINGS.contains(&key.as_str());
    let first = said.clone().next();
    if said.clone().all(|(key, value)| is_string(key) && first.is_some_and(|(_, it)| it == value)) {
        return ours.len() == 1 && said.any(|pair| is_said(&pair));
    }
    said.all(|pair| is_said(&pair))
}

/// Whether a block of an answer bears reasoning.
fn bears(block: &Block) -> bool {
    match block {
        Block::Thinking(_) => true,
        Block::Text(text) => text.signature.is_some(),
        Block::ToolCall(call) => call.signature.is_some(),
        Block::Media(_) | Block::Other(_) | Block::ToolResponse(_) => false,
    }
}

/// Whether ours follows the contract where the client sent nothing.
fn by_rule(told: &Told<'_>, answer: usize, ours: &[Mark]) -> Verdict {
    let contents = &told.request.contents;
    let is_question = |content: &Content| {
        content.speaker == Speaker::Human
            && !content.blocks.iter().all(|block| matches!(block, Block::ToolResponse(_)))
    };
    let begin = contents[..answer].iter().rposition(is_question).unwrap_or(0);
    let end = contents[answer..].iter().position(is_question).map(|at| answer + at);
    let turn = &contents[begin..end.unwrap_or(contents.len())];
    let has_calls = turn.iter().any(|content| content.tool_calls().next().is_some());
    let is_wanted = match told.target.rule.contract.returns {
        Return::Never => false,
        Return::CurrentTurn => end.is_none(),
        Return::ToolCalls => end.is_none() || has_calls,
        Return::All => true,
    };
    let contract = &told.target.rule.contract;
    let may = |block: &&Block| match block {
        Block::Thinking(thinking) => {
            !contract.signed || contract.unsealed || thinking.has_payload()
        }
        block => bears(block),
    };
    let said = &contents[answer];
    let on_message = usize::from(said.signature.is_some() && !said.partial);
    let count = || said.blocks.iter().filter(may).count() + on_message;
    let should = if is_wanted { count() } else { 0 };
    let does = ours.iter().filter(|mark| mark.bears()).count();
    if does == should {
        return Verdict::ByContract;
    }
    Verdict::Different(format!("{does} pieces of reasoning where the contract wants {should}"))
}

impl Score {
    fn add(&mut self, other: &Score) {
        self.same += other.same;
        self.asked += other.asked;
        self.by_contract += other.by_contract;
        self.excepted += other.excepted;
        self.different += other.different;
    }

    fn shown(&self) -> String {
        format!(
            "{} the same, {} the same when asked for, {} sent nothing and ours follows the contract, {} excepted, {} different",
            self.same, self.asked, self.by_contract, self.excepted, self.different
        )
    }
}
