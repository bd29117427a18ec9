//! The terminal client without a terminal: messages in, effects out.
//!
//! [`Session::update`] is a function of the session, a [`Message`] and the time, without I/O. Its caller draws
//! [`Session::view`] and carries out each [`Effect`], in order.

mod ask;
mod command;
mod composer;
mod conversation;
mod count;
mod entries;
mod format;
mod keys;
mod layers;
mod message;
mod model;
mod permission;
mod picker;
mod progress;
mod prompt;
mod resume;
mod start;

#[cfg(test)]
mod tests;

pub use command::help;
pub use conversation::{Conversation, Plan};
pub use count::Counter;
pub use format::Format;
pub use layers::{Change, Layers, Profile};
pub use message::{
    Compression, Count, Counted, Effect, Ended, Hit, Keep, Kept, Listed, Message, Offer,
    Permission, Progress, Question, RunId, Scroll, Side, Stored, Verdict, Write, Wrote,
};
pub use model::Model;
pub use start::Start;

use crate::cover::Cover;
use crate::instructions::Instructions;
use crate::lessons::Lessons;
use crate::own_commands::OwnCommand;
use crate::screen::model::{Activity, Body, Level, Status, Transcript, View};
use ask::Run;
use composer::Composer;
use permission::Asking;
use picker::Picker;
use prompt::{Prompt, Shell};
use resume::Flags;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::content::Block;
use thinkthrough_core::request::Tool;
use thinkthrough_core::settings::Display;
use thinkthrough_core::tokens::TokenCount;
use thinkthrough_limits::BudgetRules;
use thinkthrough_store::{ConversationState, Cost};

/// The state of the terminal client.
#[derive(Debug)]
pub struct Session {
    view: View,
    composer: Composer,
    layers: Layers,
    flags: Flags,
    profiles: Vec<Profile>,
    lessons: Lessons,
    model: Model,
    /// Displays that the user chose for models after the configuration was read.
    shown: BTreeMap<String, Display>,
    utility: Option<Model>,
    tools: Vec<Tool>,
    conversation: Conversation,
    used: u64,
    rules: BudgetRules,
    cost: Cost,
    /// The model and settings of the conversation in the store.
    in_store: ConversationState,
    /// The state of a chosen conversation while its model is resolved.
    resuming: Option<ConversationState>,
    compress_at: u8,
    cover: Cover,
    run: Option<Run>,
    /// Questions that wait for the current one.
    queue: VecDeque<Prompt>,
    /// The running command of the user.
    shell: Option<Shell>,
    /// Outputs of the user's commands for the next question.
    outputs: Vec<String>,
    /// The files of the working folder, once they are listed.
    files: Option<Vec<String>>,
    folder: String,
    store: Option<String>,
    instructions: Instructions,
    commands: Vec<OwnCommand>,
    /// The index of each question of this session, and the run that asked it.
    runs: Vec<(usize, RunId)>,
    clock: Duration,
    /// The media of the next message.
    attached: Vec<Block>,
    last_run: RunId,
    /// The summary in progress, and the question that waits for it.
    compressing: Option<Compressing>,
    picker: Option<Picker>,
    /// The tool call that waits for the user's permission.
    asking: Option<Asking>,
    /// The time of the next retry.
    retry_at: Option<Duration>,
    count: Option<TokenCount>,
    counts: u64,
    is_stale: bool,
    is_titled: bool,
    takes_mouse: bool,
    /// The time at which the temporary message disappears.
    message_until: Duration,
    /// The state that the temporary message is about.
    message_about: Option<Subject>,
    /// Ctrl-C was just pressed while idle. Pressed again, it quits.
    is_leaving: bool,
    /// The last time at which Ctrl-C stopped something.
    stopped_at: Option<Duration>,
    effects: Vec<Effect>,
}

#[derive(Debug)]
struct Compressing {
    run: RunId,
    plan: Plan,
    before: Option<TokenCount>,
    then: Option<Prompt>,
}

/// The state that a temporary message is about. The message ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Subject {
    /// Ctrl-C was just pressed while idle.
    Leaving,
    /// The answer is being stopped.
    Stopping,
}

/// How long a temporary message stays.
const MESSAGE: Duration = Duration::from_secs(5);

impl Session {
    /// Begins a session.
    #[must_use]
    pub fn new(start: Start) -> Self {
        let mut session = Session {
            view: View::default(),
            composer: Composer::default(),
            flags: Flags::of(&start.layers, start.names_model, start.instructions.own.clone()),
            layers: start.layers,
            profiles: start.profiles,
            model: start.model,
            shown: BTreeMap::new(),
            utility: start.utility,
            tools: Vec::new(),
            conversation: Conversation::default(),
            used: 0,
            rules: start.budget,
            cost: Cost::default(),
            in_store: ConversationState::default(),
            resuming: None,
            compress_at: start.compress_at,
            cover: start.cover,
            lessons: start.lessons,
            run: None,
            queue: VecDeque::new(),
            shell: None,
            outputs: Vec::new(),
            files: None,
            folder: start.folder,
            store: start.store,
            instructions: start.instructions,
            commands: start.commands,
            runs: Vec::new(),
            clock: start.clock,
            attached: start.attached,
            last_run: 0,
            compressing: None,
            picker: None,
            asking: None,
            retry_at: None,
            count: None,
            counts: 0,
            is_stale: true,
            is_titled: false,
            takes_mouse: start.takes_mouse,
            message_until: Duration::ZERO,
            message_about: None,
            is_leaving: false,
            stopped_at: None,
            effects: Vec::new(),
        };
        session.take_model_settings();
        for paragraph in start.greeting.split("\n\n").filter(|it| !it.is_empty()) {
            session.view.transcript.push(Body::Notice(Level::Info, paragraph.to_owned()));
        }
        if let Some(missing) = session.model.missing_key.clone() {
            session.notice(Level::Warning, format!("{missing}, or choose another with `/model`"));
        }
        if let Some(stored) = start.resumed {
            let state = stored.state.clone();
            session.open(stored);
            session.say_taken_up(&state, start.unreachable.as_deref());
        }
        session.view.composer.placeholder = "ask, or type / for commands".to_owned();
        if let Some(prompt) = start.prompt {
            session.submit(prompt.into());
        }
        session.refresh();
        session
    }

    /// Applies the settings of a new model.
    fn take_model_settings(&mut self) {
        self.layers.rule = self.model.target.rule.settings();
        self.layers.model = self.model.settings.clone();
        // The model's settings were read before the user changed the display.
        if let Some(display) = self.shown.get(&self.model.name) {
            self.layers.model.display = Some(*display);
        }
    }

    /// The view to draw.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Returns true while a timer or a temporary message is on the screen.
    #[must_use]
    pub fn is_moving(&self) -> bool {
        self.is_asking() || self.compressing.is_some() || self.view.status.message.is_some()
    }

    /// Returns true while a question or a command of the user is in progress.
    #[must_use]
    pub fn is_asking(&self) -> bool {
        self.run.is_some() || self.shell.is_some()
    }

    /// Returns true if the conversation has a message.
    #[must_use]
    pub fn has_messages(&self) -> bool {
        !self.conversation.contents().is_empty()
    }

    /// The id and the title of the conversation, if it is stored.
    #[must_use]
    pub fn stored(&self) -> Option<(&str, String)> {
        let id = self.conversation.id.as_deref()?;
        let title = self.conversation.title.as_deref().unwrap_or_default();
        Some((id, self.cover.text(title).into_owned()))
    }

    /// Stops the current question and drops the queued ones, because the user quits.
    pub fn leave(&mut self) -> Vec<Effect> {
        self.queue.clear();
        self.stop_shell();
        self.stop_run();
        std::mem::take(&mut self.effects)
    }

    /// Handles a message. `now` is the time since the start of the session.
    pub fn update(&mut self, message: Message, now: Duration) -> Vec<Effect> {
        self.view.now = now;
        if self.view.status.message.is_some() && now >= self.message_until {
            self.view.status.message = None;
            self.is_leaving = false;
        }
        if !matches!(message, Message::Key(_) | Message::Paste(_)) {
            self.settle_letter();
        }
        match message {
            Message::Key(key) => self.on_key(key),
            Message::Paste(text) => self.on_paste(&text),
            Message::Click(id) => self.toggle_entry(id),
            Message::Pick(row) => self.pick(row),
            Message::Tick => {}
            Message::Progress(run, told) => self.on_progress(run, told),
            Message::Chosen(chosen) => self.on_chosen(chosen),
            Message::Models(offers) => self.on_models(offers),
            Message::Counted(counted) => self.on_counted(counted),
            Message::Side(side, said) => self.on_side(side, said),
            Message::Stored(Ok(kept)) => self.on_kept(kept),
            Message::Written(Ok(wrote)) => self.on_written(&wrote),
            Message::Tools(tools) => {
                self.tools = tools;
                self.is_stale = true;
            }
            Message::Paid(model, usage) => self.pay(&model, usage.as_ref()),
            Message::Window(name, tokens) => {
                if self.model.name == name {
                    self.model.target.rule.context = tokens;
                }
            }
            Message::Warned(text) => self.notice(Level::Warning, text),
            Message::Sent(lines) => self.on_sent(lines),
            Message::Page(title, text) => self.show_page(title, text),
            Message::Files(files) => self.on_files(files),
            Message::Attached(words, found) => self.on_attached(words, found),
            Message::Ran(run, output, is_error) => self.on_ran(run, &output, is_error),
            Message::Edited(Ok(text)) => {
                self.question_fetch();
                self.composer.put(&text);
            }
            Message::Said(Ok(text)) => self.notice(Level::Info, text),
            Message::Stored(Err(error))
            | Message::Written(Err(error))
            | Message::Edited(Err(error))
            | Message::Said(Err(error)) => self.notice(Level::Error, error),
        }
        self.end_message();
        self.recount();
        self.refresh();
        std::mem::take(&mut self.effects)
    }

    /// Removes the temporary message if the state that it is about has ended.
    fn end_message(&mut self) {
        let is_over = match self.message_about {
            None => false,
            Some(Subject::Leaving) => !self.is_leaving,
            Some(Subject::Stopping) => !self.run.as_ref().is_some_and(|run| run.is_stopping),
        };
        if is_over {
            (self.view.status.message, self.message_about) = (None, None);
        }
    }

    /// Updates the time until the next retry.
    fn refresh_retry(&mut self) {
        let status = &mut self.view.status;
        let left = self.retry_at.map(|at| at.saturating_sub(self.view.now));
        if status.activity == Activity::Retrying && left.is_none_or(|left| left.is_zero()) {
            status.activity = Activity::Sending;
        }
        status.retry_in = left.filter(|_| status.activity == Activity::Retrying);
    }

    /// Adds a notice to the transcript.
    fn notice(&mut self, level: Level, text: impl Into<String>) {
        self.view.transcript.push(Body::Notice(level, text.into()));
    }

    /// Shows a temporary message.
    fn say(&mut self, text: impl Into<String>) {
        self.view.status.message = Some(text.into());
        self.message_about = None;
        self.message_until = self.view.now + MESSAGE;
    }

    /// Shows a temporary message about a state, until the state ends.
    fn say_about(&mut self, subject: Subject, text: &str) {
        self.say(text);
        self.message_about = Some(subject);
    }

    /// Whether the client takes the mouse.
    #[must_use]
    pub fn takes_mouse(&self) -> bool {
        self.takes_mouse
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Adds the earlier messages to the transcript.
    fn show_all(&mut self) {
        let contents = self.conversation.contents().iter();
        let contents: Vec<_> = contents.map(|content| self.cover.content(content)).collect();
        entries::show(&contents, &mut self.view.transcript);
    }

    /// Resets the session to an empty conversation.
    fn clear(&mut self) {
        self.view.transcript = Transcript::default();
        self.view.focus = None;
        self.conversation = Conversation::default();
        self.used = 0;
        self.cost = Cost::default();
        self.in_store = ConversationState::default();
        self.resuming = None;
        self.stop_shell();
        self.shell = None;
        self.outputs.clear();
        self.runs.clear();
        self.effect(Effect::Resume(Arc::default()));
        self.is_titled = false;
        self.is_stale = true;
    }

    fn on_written(&mut self, wrote: &Wrote) {
        match wrote {
            Wrote::Display { display, path } => {
                let (display, path) = (display.as_str(), path.display());
                let text = format!("`reasoning.display` is `{display}` in `{path}` from now on");
                self.notice(Level::Info, text);
            }
            Wrote::Profile { name, path } => {
                let text = format!("profile `{name}` is saved in `{}`", path.display());
                self.notice(Level::Info, text);
            }
            Wrote::NoProfile { name } => {
                self.notice(Level::Info, format!("profile `{name}` is deleted"));
            }
        }
    }

    /// Updates the parts of the view that depend on other state.
    fn refresh(&mut self) {
        let resolved = self.layers.resolve();
        self.follow_mode(resolved.display.value, resolved.include_in_response.value);
        let note = self.reply_note().or_else(|| self.prompt_note());
        let view = &mut self.view;
        view.display = resolved.display.value;
        view.shows_thoughts = resolved.include_in_response.value;
        view.composer.text = self.composer.text();
        view.composer.cursor = self.composer.cursor();
        view.composer.note = match self.queue.len() {
            0 if self.composer.is_walking() => self.composer.note(),
            0 => note.unwrap_or_default(),
            1 => "1 message waits".to_owned(),
            waiting => format!("{waiting} messages wait"),
        };
        view.status.model.clone_from(&self.model.name);
        view.status.effort = if resolved.enabled.value {
            resolved.effort.value.map(|effort| effort.as_str().to_owned())
        } else {
            Some(Status::NO_THINKING.to_owned())
        };
        let cap = resolved.max_tokens.value.filter(|_| resolved.enabled.value);
        view.status.cap = cap.map(|cap| cap.to_string());
        view.status.effective = self.count.map(|count| count.tokens);
        view.status.limit = self.model.limit();
        self.view.status.budget = self.budget_shown();
        self.view.status.cost = self.cost.shown();
        self.refresh_question();
        self.refresh_overlay();
        if self.compressing.is_some() {
            self.view.status.activity = Activity::Compressing;
        } else if self.run.is_none() {
            let runs = self.shell.is_some();
            self.view.status.activity = if runs { Activity::Tools } else { Activity::Idle };
        } else if self.asking.is_some() {
            self.view.status.activity = Activity::Waiting;
        }
        self.refresh_retry();
    }
}
