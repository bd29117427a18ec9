//! Continues a conversation with its own model and settings, and stores their changes.

use super::conversation::Conversation;
use super::message::{Effect, Keep, Scroll, Stored};
use super::model::Model;
use super::{Layers, Session};
use crate::resumption;
use crate::screen::model::{Body, Level};
use std::sync::Arc;
use thinkthrough_core::settings::Partial;
use thinkthrough_store::{ConversationState, Cost};

/// Options of the command line. They win over the state of every conversation that this session opens.
#[derive(Debug)]
pub(super) struct Flags {
    /// The command line names the model.
    pub(super) names_model: bool,
    profile: Option<(String, Partial)>,
    settings: Partial,
    /// The instructions of `-s` or of the profile.
    own: Option<String>,
}

impl Flags {
    pub(super) fn of(layers: &Layers, names_model: bool, own: Option<String>) -> Self {
        let (profile, settings) = (layers.profile.clone(), layers.session.clone());
        Flags { names_model, profile, settings, own }
    }
}

impl Session {
    /// Shows a conversation of the store and takes over its settings and its cost, but not its model.
    pub(super) fn open(&mut self, stored: Stored) {
        self.is_titled = stored.title.is_some();
        let state = stored.state.clone();
        // An imported conversation has no state, and continues with the current settings.
        if state != ConversationState::default() {
            self.layers.conversation = state.reasoning.clone();
            self.layers.profile.clone_from(&self.flags.profile);
            self.layers.session.clone_from(&self.flags.settings);
        }
        self.instructions.own.clone_from(&self.flags.own);
        self.cost = state.cost;
        self.in_store = state;
        self.conversation = Conversation::stored(stored);
        self.used = self.conversation.reasoning_tokens();
        self.effect(Effect::Resume(Arc::clone(self.conversation.contents())));
        self.show_all();
        if let Some(compression) = self.conversation.compression() {
            let text = format!(
                "messages 1 to {} are sent as a summary; `/compress undo` takes it back",
                compression.upto
            );
            self.view.transcript.push(Body::Compression(text));
        }
        self.is_stale = true;
        self.effect(Effect::Scroll(Scroll::Bottom));
    }

    /// Continues the conversation that the user picked; looks for its model first if another one is in use.
    pub(super) fn on_opened(&mut self, stored: Stored) {
        self.clear();
        let title = stored.title.clone().unwrap_or_else(|| stored.id.clone());
        let state = stored.state.clone();
        self.open(stored);
        self.say(format!("opened: {}", self.cover.text(&title)));
        let held = state.model.clone().filter(|held| *held != self.model.name);
        match held.filter(|_| !self.flags.names_model) {
            Some(held) => {
                self.resuming = Some(state);
                self.effect(Effect::Choose(held));
            }
            None => self.say_taken_up(&state, None),
        }
    }

    /// The model of the picked conversation was found, or the model in use stays.
    pub(super) fn on_resumed(
        &mut self,
        state: &ConversationState,
        chosen: Result<Box<Model>, String>,
    ) {
        let held = state.model.as_deref().unwrap_or_default();
        let contents = self.conversation.contents();
        let lost = |model: &Model| resumption::lost_provider(held, contents, &model.target);
        let why = match chosen.map(|it| (it.missing_key.clone().or_else(|| lost(&it)), it)) {
            Ok((None, model)) => {
                self.switch(*model);
                None
            }
            Ok((Some(why), _)) | Err(why) => Some(why),
        };
        let unreachable = why.map(|why| resumption::unreachable(held, &why, &self.model.name));
        self.say_taken_up(state, unreachable.as_deref());
        if let Some(prompt) = self.queue.pop_front() {
            self.submit(prompt);
        }
    }

    /// Shows the lines about the continued conversation; the reason why another model answers is a warning.
    pub(super) fn say_taken_up(&mut self, state: &ConversationState, unreachable: Option<&str>) {
        let settings = self.layers.resolve();
        let answers = (self.model.name.as_str(), &self.model.target);
        let contents = self.conversation.contents();
        let lines = resumption::lines(state, unreachable, contents, answers, &settings);
        for line in lines {
            let is_warning = unreachable == Some(line.as_str());
            self.notice(if is_warning { Level::Warning } else { Level::Info }, line);
        }
    }

    /// Another model answers from now on.
    pub(super) fn switch(&mut self, model: Model) {
        self.model = model;
        self.take_model_settings();
        self.is_stale = true;
        self.count = None;
    }

    /// Keeps the model with the conversation, if the store has another one.
    pub(super) fn keep_model(&mut self) {
        let is_new = self.in_store.model.as_ref() != Some(&self.model.name);
        if is_new && !self.conversation.contents().is_empty() {
            self.in_store.model = Some(self.model.name.clone());
            self.effect(Effect::Keep(Keep::Model(self.model.name.clone())));
        }
    }

    /// Keeps the chosen settings with the conversation, if the store has others.
    pub(super) fn keep_reasoning(&mut self) {
        let chosen = ConversationState::chosen(&self.layers.resolve());
        if self.in_store.reasoning != chosen && !self.conversation.contents().is_empty() {
            self.in_store.reasoning = chosen.clone();
            self.effect(Effect::Keep(Keep::Reasoning(chosen)));
        }
    }

    /// Adds the cost of a request to the conversation.
    pub(super) fn book(&mut self, cost: Cost) {
        let before = self.cost;
        self.cost += cost;
        if self.cost != before && !self.conversation.contents().is_empty() {
            self.effect(Effect::Keep(Keep::Cost(cost)));
        }
    }
}
