//! The labels by which a trace is found.

use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::exchange::RequestContext;
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::restore::Secret;
use thinkthrough_core::turns::begins;

/// The facts about a request that are known before its answer.
#[derive(Clone, Debug)]
pub(crate) struct Labels {
    pub(crate) tenant: Tenant,
    /// For budgets and events. Without a named session, all conversations with the same first question share one.
    pub(crate) session: String,
    /// The same for all requests of a user's turn.
    pub(crate) run: String,
    pub(crate) model: String,
    pub(crate) provider: String,
    thread: Thread,
}

/// The session of a trace, which tells apart conversations that begin with the same question.
#[derive(Clone, Debug)]
enum Thread {
    /// The same as for budgets and events.
    Same,
    /// The first answer of the conversation belongs to it.
    Known { session: String, run: String },
    /// The answer that is still to come will be the first one.
    Begins { secret: Secret, question: String, turn: String },
}

impl Labels {
    /// The labels of a request. `is_kept_there` says that its provider may store the answer: then a later request names
    /// the answer, and has the same session in place of the messages.
    pub(crate) fn of(
        tenant: Tenant,
        secret: &Secret,
        (hint, is_kept_there): (Option<&str>, bool),
        asked: &RequestContext<'_>,
    ) -> Self {
        let (session, run, thread) = read(secret, (hint, is_kept_there), asked.contents());
        let target = asked.target();
        Labels {
            tenant,
            session,
            run,
            model: target.model.clone(),
            provider: target.provider.clone(),
            thread,
        }
    }

    /// The session and the turn of the trace, after an answer that begins with these words.
    pub(crate) fn of_trace(self, answer: Option<&str>) -> (String, String) {
        match (self.thread, answer) {
            (Thread::Known { session, run }, _) => (session, run),
            (Thread::Begins { secret, question, turn }, Some(answer)) => {
                names(&secret, &question, answer, &turn)
            }
            (Thread::Same | Thread::Begins { .. }, _) => (self.session, self.run),
        }
    }
}

fn read(
    secret: &Secret,
    (hint, is_kept_there): (Option<&str>, bool),
    contents: &[Content],
) -> (String, String, Thread) {
    let first = contents.iter().find(|content| content.speaker == Speaker::Human);
    let question = first.map(Content::visible_text).unwrap_or_default();
    let turns = contents.iter().filter(|content| begins(content)).count();
    let last = contents.iter().rfind(|content| begins(content));
    let turn = format!("{turns} {}", last.map(Content::visible_text).unwrap_or_default());
    let session = match hint {
        Some(hint) => named(hint, secret),
        None => secret.pseudonym(&question),
    };
    let run = secret.pseudonym(&format!("{session} {turn}"));
    let is_answer = |content: &&Content| content.speaker == Speaker::Ai;
    let answers = contents.iter().skip_while(|content| !is_answer(content)).take_while(is_answer);
    let thread = match opening(answers.flat_map(|content| &content.blocks)) {
        _ if hint.is_some() || is_kept_there => Thread::Same,
        Some(answer) => {
            let (session, run) = names(secret, &question, &answer, &turn);
            Thread::Known { session, run }
        }
        None if contents.iter().any(|content| is_answer(&content)) => Thread::Same,
        None => Thread::Begins { secret: secret.clone(), question, turn },
    };
    (session, run, thread)
}

/// The session and the turn of a conversation with this first question and answer.
fn names(secret: &Secret, question: &str, answer: &str, turn: &str) -> (String, String) {
    let session = secret.pseudonym(&format!("{question}\n{answer}"));
    let run = secret.pseudonym(&format!("{session} {turn}"));
    (session, run)
}

/// The beginning of an answer, in a form that is the same in the answer and in a later request: its words, without a
/// copy of the thought, and its calls without ids, white space and the order of arguments. `None` if it has neither.
pub(crate) fn opening<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Option<String> {
    let mut all = String::new();
    for block in blocks {
        if all.len() > OPENING {
            break;
        }
        match block {
            Block::Text(text) => {
                let text = text.text.trim_start();
                let copy = text.strip_prefix("<think>").and_then(|it| it.split_once("</think>"));
                let text = copy.map_or(text, |(_, rest)| rest);
                let words = text.split_whitespace().flat_map(|word| word.chars().chain([' ']));
                all.extend(words.take(OPENING));
            }
            Block::ToolCall(call) => {
                all.push_str(&call.name);
                let signs = call.parameters.as_text().chars().filter(char::is_ascii_alphanumeric);
                let mut signs: Vec<char> = signs.take(OPENING).collect();
                signs.sort_unstable();
                all.extend(signs);
            }
            Block::Thinking(_) | Block::ToolResponse(_) | Block::Media(_) | Block::Other(_) => {}
        }
    }
    (!all.is_empty()).then_some(all)
}

/// The most letters of a text or of arguments that count.
const OPENING: usize = 2_000;

/// The session's name as its client gave it. Replaces control characters, which could steer a terminal, by blanks,
/// and adds a pseudonym to keep such names apart. Changes no other characters, because a secret in the name is masked
/// later and is found only in its original form.
fn named(hint: &str, secret: &Secret) -> String {
    if !hint.contains(char::is_control) {
        return hint.to_owned();
    }
    let shown = hint.replace(char::is_control, " ");
    format!("{shown}~{}", secret.pseudonym(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_two_names_are_two() {
        let secret = Secret::new([7; 32]);
        for name in ["plain", "two words", "Träume", ""] {
            assert_eq!(named(name, &secret), name);
        }
        let names = ["a\tb", "ab", "a b", "a\nb", "a\u{7f}b"];
        let shown: std::collections::BTreeSet<String> =
            names.iter().map(|name| named(name, &secret)).collect();
        assert_eq!(shown.len(), names.len());
        assert!(shown.iter().all(|name| !name.contains(char::is_control)));
    }

    #[test]
    fn conversations_that_begin_alike_are_told_apart_by_their_first_answer() {
        let secret = Secret::new([7; 32]);
        let said = |speaker, text: &str| Content::text(speaker, text);
        let labels = |contents: &[Content]| {
            let (session, run, thread) = read(&secret, (None, false), contents);
            let target = (String::new(), String::new());
            let (model, provider) = target;
            Labels { tenant: Tenant::local(), session, run, model, provider, thread }
        };
        let question = said(Speaker::Human, "Fix the tests");
        let first = labels(std::slice::from_ref(&question));
        let traces = ["I look at them.", "Which tests?"].map(|answer| {
            let answer = Block::text(answer);
            first.clone().of_trace(opening([&answer]).as_deref())
        });
        assert_ne!(traces[0], traces[1]);
        // A client may show the thought at the head of the text, and change white space.
        let answer = said(Speaker::Ai, "<think>Hm.</think>\n\nI look  at them.\n");
        let next = [question.clone(), answer, said(Speaker::Human, "And?")];
        let (session, run) = labels(&next).of_trace(Some("later"));
        assert_eq!(session, traces[0].0);
        assert_ne!(run, traces[0].1, "another turn");
        // Budgets are not escaped by another first answer.
        assert_eq!(labels(&next).session, first.session);
        assert_eq!(first.clone().of_trace(None), (first.session.clone(), first.run));
    }

    #[test]
    fn a_tool_loop_is_one_turn_of_one_session() {
        use thinkthrough_core::content::{Parameters, ToolCall};
        let secret = Secret::new([7; 32]);
        let call = |id: &str, arguments: &str| {
            let parameters = Parameters::from_text(arguments);
            Block::ToolCall(ToolCall { parameters, ..ToolCall::new(Some(id), "ls") })
        };
        let question = Content::text(Speaker::Human, "Fix it");
        let (_, _, begun) = read(&secret, (None, false), std::slice::from_ref(&question));
        let Thread::Begins { secret, question: words, turn } = begun else { panic!("it begins") };
        let answer = opening([&call("a", r#"{"path":"x","all":true}"#)]).unwrap();
        let ended = names(&secret, &words, &answer, &turn);
        let again = call("b", r#"{ "all": true, "path": "x" }"#);
        let contents = [question, Content::new(Speaker::Ai, vec![again])];
        let (_, _, thread) = read(&secret, (None, false), &contents);
        let Thread::Known { session, run } = thread else { panic!("it is known") };
        assert_eq!((session, run), ended);
        for (hint, is_kept_there) in [(Some("named"), false), (None, true)] {
            let (_, _, thread) = read(&secret, (hint, is_kept_there), &contents);
            assert!(matches!(thread, Thread::Same));
        }
    }
}
