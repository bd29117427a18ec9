//! A session of the Agent Client Protocol: one conversation in an editor.

use super::Kit;
use super::replay::replay;
use super::rpc::{Outbox, Problem, Reply};
use super::setup::{EFFORT, Mode, effort, write_modes, write_options};
use super::show::{Show, write_call};
use crate::agent::{Control, Outcome, Setup, run};
use crate::cover::{Cover, Covered};
use crate::ending::{Ending, Stop};
use crate::failure::Attempt;
use crate::instructions::with_instructions;
use crate::kept::{Beside, Keeper, Kept};
use crate::resumption;
use crate::tools::{Approve, Pending, Question, ToolKind, Verdict};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as Lock, MutexGuard, PoisonError};
use std::time::UNIX_EPOCH;
use thinkthrough_core::content::Content;
use thinkthrough_core::settings::{Display, Resolved, Setting, Source};
use thinkthrough_json::Raw;
use thinkthrough_store::ConversationState;
use tokio::sync::{Mutex, OwnedMutexGuard};

/// Shared between the running prompt and the messages that arrive meanwhile.
#[derive(Debug)]
pub(super) struct Session {
    id: String,
    kit: Kit,
    outbox: Arc<Outbox>,
    /// The stored conversation.
    kept: Option<Kept>,
    /// Locked while a prompt runs.
    conversation: Arc<Mutex<Vec<Content>>>,
    /// Number of requests over all prompts.
    round: AtomicUsize,
    said: Lock<Said>,
}

/// The start of a session: an empty or a stored conversation.
pub(super) struct Past {
    /// The stored conversation.
    pub(super) kept: Option<Kept>,
    /// The messages for requests, compressed if the conversation is.
    pub(super) contents: Vec<Content>,
}

/// A prompt that has begun. No other prompt can begin until it is dropped.
pub(super) struct Begun {
    conversation: OwnedMutexGuard<Vec<Content>>,
    control: Control,
}

/// State that the editor can change.
#[derive(Debug)]
struct Said {
    control: Control,
    mode: Mode,
    settings: Resolved,
}

impl Session {
    pub(super) fn new(id: String, kit: Kit, outbox: Arc<Outbox>, past: Past) -> Self {
        let settings = kit.settings.clone();
        let said = Said { control: Control::new(), mode: Mode::default(), settings };
        let Past { kept, contents } = past;
        let (conversation, round) = (Arc::new(Mutex::new(contents)), AtomicUsize::new(0));
        Session { id, kit, outbox, kept, conversation, round, said: Lock::new(said) }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Builds the reply to `session/new` or `session/load`. Only a new session needs its id in the reply.
    pub(super) fn describe(&self, is_new: bool) -> Raw {
        let said = self.said();
        Raw::build(|w| {
            w.object(|w| {
                if is_new {
                    w.field_str("sessionId", &self.id);
                }
                write_modes(w, said.mode);
                write_options(w, said.settings.effort.value);
            });
        })
    }

    pub(super) fn stop(&self) {
        self.said().control.stop();
    }

    pub(super) async fn close(&self) {
        self.kit.tools.close().await;
    }

    pub(super) fn set_mode(&self, id: &str) -> Result<(), Problem> {
        self.said().mode = Mode::parse(id)?;
        Ok(())
    }

    /// Sets an option from the next request on, and stores it with the conversation.
    pub(super) async fn set_option(&self, key: &str, value: &str) -> Reply {
        if key != EFFORT {
            return Err(Problem::params(&format!(
                "there is no option `{key}`; there is `{EFFORT}`"
            )));
        }
        let now = effort(value)?;
        let settings = {
            let mut said = self.said();
            said.settings.effort = Setting { value: now, source: Source::Session };
            said.settings.clone()
        };
        if let Some(kept) = &self.kept {
            let done = kept.keep_settings(&settings).await;
            done.map_err(|error| Problem::failed(&error.to_string()))?;
        }
        Ok(Raw::build(|w| w.object(|w| write_options(w, now))))
    }

    /// Begins a prompt. From here on it can be stopped.
    pub(super) fn begin(&self) -> Result<Begun, Problem> {
        let conversation = Arc::clone(&self.conversation).try_lock_owned().map_err(|_| {
            Problem::params("a prompt is being answered; cancel it or wait for its end")
        })?;
        let mut said = self.said();
        // A stop of the previous prompt must not stop this one.
        said.control = Control::new();
        Ok(Begun { conversation, control: said.control.clone() })
    }

    /// Sends the earlier messages to the editor.
    pub(super) async fn replay(&self, contents: &[Content]) {
        let settings = self.said().settings.clone();
        let contents = contents.iter().map(|content| self.kit.cover.content(content));
        let contents: Vec<Content> = contents.collect();
        replay(&mut self.show(&settings), &self.kit.tools, &contents).await;
    }

    /// Shows the lines about the loaded conversation in the editor.
    pub(super) fn say_taken_up(&self, state: &ConversationState, contents: &[Content]) {
        let settings = self.said().settings.clone();
        let Kit { name, target, unreachable, .. } = &self.kit;
        let answers = (name.as_str(), target);
        let lines = resumption::lines(state, unreachable.as_deref(), contents, answers, &settings);
        lines.iter().for_each(|line| self.show(&settings).say(line));
    }

    /// Asks a question and reports every event to the editor.
    pub(super) async fn prompt(&self, begun: Begun, question: Content) -> Reply {
        let Begun { mut conversation, control } = begun;
        let settings = self.said().settings.clone();
        let asker = Asker(self);
        let mut setup = Setup::new(&self.kit.target, &settings, &self.kit.transport);
        setup.auth = self.kit.auth.clone();
        setup.tools = Some(&self.kit.tools);
        setup.approve = &asker;
        setup.gate = Some(&self.kit.gate);
        let traced = self.kit.tracer.as_ref().and_then(|tracer| tracer.question(&self.id));
        setup.traced = traced.as_ref();
        let Kit { name, target, .. } = &self.kit;
        let mut instructions = self.kit.instructions.clone();
        instructions.set_date(UNIX_EPOCH.elapsed().unwrap_or_default().as_secs());
        let question = with_instructions(&conversation, &instructions, question);
        let keeper =
            self.kept.as_ref().map(|kept| kept.ask(question.clone(), name, target, &settings));
        let before = conversation.len();
        conversation.extend(question);
        let asked = conversation.len();
        let mut show = self.show(&settings);
        let mut covered = Covered::new(&self.kit.cover, &mut show);
        let mut watch = Beside::new(keeper.as_ref(), &mut covered);
        let outcome = run(&setup, &mut conversation, &control, &mut watch).await;
        if control.is_stopped() {
            // The user continues from the stopped prompt, even if it has no answer yet.
            keeper.iter().for_each(Keeper::interrupted);
        } else if conversation.len() == asked {
            // Without an answer the question is not kept, so that the user can ask it again.
            conversation.truncate(before);
        }
        if let Some(keeper) = keeper
            && let Err(error) = keeper.end().await
        {
            show.say(&format!("the conversation is not kept: {error}"));
        }
        let reason = match outcome {
            // The protocol wants "cancelled" for every cancelled prompt, even if it failed as well.
            _ if control.is_stopped() => "cancelled",
            Ok(outcome) => {
                if let Some(ending) = Ending::of(&outcome) {
                    show.say(&self.kit.cover.text(&ending.to_string()));
                }
                stop_reason(&self.asked(), &outcome, &self.kit.cover)?
            }
            Err(error) => return Err(Problem::failed(&self.asked().unreached(&error))),
        };
        Ok(Raw::build(|w| w.object(|w| w.field_str("stopReason", reason))))
    }

    fn asked(&self) -> Attempt<'_> {
        let Kit { name, key_from, .. } = &self.kit;
        Attempt { model: name, key_from: key_from.as_deref(), again: None }
    }

    fn show(&self, settings: &Resolved) -> Show<'_> {
        let thoughts = settings.include_in_response.value && settings.display.value != Display::Off;
        Show::new(&self.id, &self.outbox, &self.round, thoughts)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stop reason of a prompt that was not cancelled, in the words of the protocol.
fn stop_reason(
    asked: &Attempt<'_>,
    outcome: &Outcome,
    cover: &Cover,
) -> Result<&'static str, Problem> {
    if let Some(failure) = &outcome.failure {
        return Err(Problem::failed(&cover.text(&asked.refused(failure))));
    }
    if let Some(refused) = &outcome.refused {
        return Err(Problem::failed(&refused.to_string()));
    }
    if outcome.is_unfinished {
        return Ok("max_turn_requests");
    }
    let answer = outcome.rounds.last().map(|round| &round.answer);
    if answer.is_some_and(|answer| answer.refusal.is_some()) {
        return Ok("refusal");
    }
    let word = answer.and_then(|answer| answer.finish_reason.as_deref()).unwrap_or_default();
    Ok(match Stop::of(word) {
        Some(Stop::Length | Stop::Context) => "max_tokens",
        Some(Stop::Filter) => "refusal",
        None => "end_turn",
    })
}

/// Asks the editor for permissions.
struct Asker<'a>(&'a Session);

impl Approve for Asker<'_> {
    fn approve<'a>(&'a self, question: &'a Question) -> Pending<'a, Verdict> {
        Box::pin(async move {
            let mode = self.0.said().mode;
            match mode {
                Mode::Read
                    if question.kind != ToolKind::Read && question.kind != ToolKind::Search =>
                {
                    return Verdict::Deny("the session is read-only".to_owned());
                }
                Mode::Edits if question.kind == ToolKind::Edit && question.reason.is_none() => {
                    return Verdict::Once;
                }
                Mode::Ask | Mode::Edits | Mode::Read => {}
            }
            let round = self.0.round.load(Ordering::Acquire);
            let question = &self.0.kit.cover.question(question);
            let params = Raw::build(|w| {
                w.object(|w| {
                    w.field_str("sessionId", &self.0.id);
                    w.key("toolCall").object(|w| write_call(w, round, question));
                    w.key("options").array(|w| {
                        for (id, name, kind) in [
                            ("once", "Allow once".to_owned(), "allow_once"),
                            (
                                "always",
                                format!("Always in this session: {}", question.grant),
                                "allow_always",
                            ),
                            ("deny", "Do not allow".to_owned(), "reject_once"),
                        ] {
                            w.object(|w| {
                                w.field_str("optionId", id);
                                w.field_str("name", &name);
                                w.field_str("kind", kind);
                            });
                        }
                    });
                });
            });
            let reply = self.0.outbox.ask("session/request_permission", &params).await;
            let chosen = reply.ok().and_then(|reply| {
                reply.doc().root().get("outcome").and_then(|outcome| outcome.string("optionId"))
            });
            match chosen.as_deref() {
                Some("once") => Verdict::Once,
                Some("always") => Verdict::Always,
                _ => Verdict::Deny(String::new()),
            }
        })
    }
}
