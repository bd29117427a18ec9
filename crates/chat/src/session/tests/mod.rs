//! Tests that drive a session by messages and compare its effects and view.

mod asking;
mod commands;
mod context;
mod help;
mod modes;
mod prompts;
mod resuming;
mod talking;
mod writing;

use super::{
    Counter, Effect, Ended, Layers, Message, Model, Progress, Question, Session, Start, Write,
};
use crate::cover::Cover;
use crate::instructions::Instructions;
use crate::screen::model::{Body, Level, Overlay};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;
use thinkthrough_core::content::{Block, Content, Speaker, Text, Thinking};
use thinkthrough_core::exchange::build;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Request;
use thinkthrough_core::settings::Partial;
use thinkthrough_limits::BudgetRules;

pub(super) struct Desk {
    pub(super) session: Session,
    pub(super) now: Duration,
    pub(super) effects: Vec<Effect>,
}

pub(super) fn model(provider: &str, name: &str) -> Model {
    let target = Target::built_in(provider, None, name).unwrap();
    Model {
        name: format!("{provider}/{name}"),
        target,
        settings: Partial::default(),
        why: String::new(),
        missing_key: None,
        is_simulated: false,
    }
}

pub(super) fn start() -> Start {
    Start {
        lessons: crate::Lessons::default(),
        model: model("deepseek", "deepseek-v4-pro"),
        names_model: false,
        utility: None,
        layers: Layers::default(),
        profiles: Vec::new(),
        budget: BudgetRules::DEFAULT,
        compress_at: 80,
        cover: Cover::default(),
        takes_mouse: true,
        resumed: None,
        unreachable: None,
        greeting: String::new(),
        instructions: Instructions::default(),
        clock: Duration::ZERO,
        prompt: None,
        attached: Vec::new(),
        folder: "/project".to_owned(),
        commands: Vec::new(),
        store: None,
    }
}

pub(super) fn desk() -> Desk {
    desk_of(start())
}

pub(super) fn desk_of(start: Start) -> Desk {
    Desk { session: Session::new(start), now: Duration::ZERO, effects: Vec::new() }
}

impl Desk {
    /// Sends a message, and answers a count at once.
    pub(super) fn tell(&mut self, message: Message) {
        self.now += Duration::from_millis(10);
        let effects = self.session.update(message, self.now);
        for effect in effects {
            if let Effect::Count(count) = &effect {
                let counted = Counter::new(None).count((**count).clone());
                self.session.update(Message::Counted(counted), self.now);
            }
            self.effects.push(effect);
        }
    }

    pub(super) fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.tell(Message::Key(KeyEvent::new(code, modifiers)));
    }

    /// Types a line and sends it.
    pub(super) fn line(&mut self, text: &str) {
        self.tell(Message::Paste(text.to_owned()));
        self.press(KeyCode::Enter, KeyModifiers::NONE);
    }

    pub(super) fn told(&mut self, told: Progress) {
        let run = self.asked().last().map_or(0, |question| question.run);
        self.tell(Message::Progress(run, told));
    }

    /// Simulates an answer with a thought and a text.
    pub(super) fn answer(&mut self, thought: &str, text: &str) {
        self.told(Progress::Outgoing { warnings: Vec::new() });
        self.told(Progress::ThoughtBegins(0));
        self.told(Progress::ThoughtGrows(0, thought.to_owned()));
        self.told(Progress::ThoughtEnds { block: 0, is_withheld: false, whole: None });
        self.told(Progress::TextGrows(1, text.to_owned()));
        let question = self.asked().pop().unwrap();
        self.told(Progress::Added(Box::new(answered(&question.target, thought, text))));
        self.told(Progress::Done(Ended::default()));
    }

    pub(super) fn asked(&self) -> Vec<Question> {
        let asked = self.effects.iter().filter_map(|effect| match effect {
            Effect::Ask(question) => Some((**question).clone()),
            _ => None,
        });
        asked.collect()
    }

    /// The body of the last request.
    pub(super) fn wire(&self) -> String {
        wire(self.asked().last().unwrap())
    }

    /// The message in the status line.
    pub(super) fn said(&self) -> String {
        self.session.view().status.message.clone().unwrap_or_default()
    }

    pub(super) fn noticed(&self) -> (Level, String) {
        let notices = self.session.view().transcript.iter().rev();
        let mut notices = notices.filter_map(|(_, body)| match body {
            Body::Notice(level, text) => Some((*level, text.clone())),
            _ => None,
        });
        notices.next().unwrap_or_default()
    }

    pub(super) fn page(&self) -> String {
        match &self.session.view().overlay {
            Some(Overlay::Page(page)) => page.text.clone(),
            _ => String::new(),
        }
    }

    pub(super) fn rows(&self) -> Vec<String> {
        match &self.session.view().overlay {
            Some(Overlay::Completion(list) | Overlay::List(list)) => {
                list.items.iter().map(|item| item.label.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The changes that were written to the configuration.
    pub(super) fn written(&self) -> Vec<&Write> {
        let written = self.effects.iter().filter_map(|effect| match effect {
            Effect::Write(write) => Some(write),
            _ => None,
        });
        written.collect()
    }
}

pub(super) fn answered(target: &Target, thought: &str, text: &str) -> Content {
    let blocks = vec![
        Block::Thinking(Thinking::new(thought, "reasoning_content")),
        Block::Text(Text::new(text)),
    ];
    Content { origin: Some(target.origin(None)), ..Content::new(Speaker::Ai, blocks) }
}

pub(super) fn wire(question: &Question) -> String {
    let request =
        Request { contents: question.contents.clone(), stream: true, ..Request::default() };
    build(&request, &question.target, &question.settings).body
}
