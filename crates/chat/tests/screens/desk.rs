//! A session without a terminal, driven in the same way as in the program.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::time::Duration;
use thinkthrough_chat::Cover;
use thinkthrough_chat::instructions::Instructions;
use thinkthrough_chat::screen::model::View;
use thinkthrough_chat::session::{
    Counted, Effect, Ended, Layers, Message, Model, Progress, Session, Side, Start,
};
use thinkthrough_core::content::{
    Block, Content, Parameters, Speaker, Text, Thinking, ToolCall, ToolResponse,
};
use thinkthrough_core::price::{Price, Rates};
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::{Display, Partial};
use thinkthrough_core::tokens::TokenCount;
use thinkthrough_core::usage::Usage;
use thinkthrough_json::{Extra, Raw};
use thinkthrough_limits::BudgetRules;

pub(crate) struct Desk {
    session: Session,
    now: Duration,
    run: u64,
    /// The last request to the utility model, if any.
    pub(crate) aside: Option<Side>,
}

pub(crate) fn model(provider: &str, name: &str) -> Model {
    let rates = Rates { input: 600_000, output: 2_500_000, ..Rates::default() };
    let price = Some(Price { rates, ..Price::default() });
    Model {
        name: format!("{provider}/{name}"),
        target: Target { price, ..Target::built_in(provider, None, name).unwrap() },
        settings: Partial::default(),
        why: "`MOONSHOT_API_KEY` is set".to_owned(),
        missing_key: None,
        is_simulated: false,
    }
}

/// The start of a session with this display of thoughts.
pub(crate) fn start(display: Display) -> Start {
    let mut layers = Layers::default();
    layers.user.display = Some(display);
    layers.session.set("reasoning.effort", "high").unwrap();
    Start {
        lessons: thinkthrough_chat::Lessons::default(),
        model: model("moonshotai", "kimi-k3"),
        names_model: false,
        utility: None,
        layers,
        profiles: Vec::new(),
        budget: BudgetRules::DEFAULT,
        compress_at: 80,
        cover: Cover::default(),
        takes_mouse: true,
        resumed: None,
        unreachable: None,
        instructions: Instructions::default(),
        clock: Duration::ZERO,
        prompt: None,
        attached: Vec::new(),
        folder: "/home/user/project".to_owned(),
        commands: Vec::new(),
        store: Some("/home/user/.local/share/thinkthrough/thinkthrough.db".to_owned()),
        greeting: String::new(),
    }
}

impl Desk {
    pub(crate) fn new(display: Display) -> Self {
        Self::of(start(display))
    }

    pub(crate) fn of(start: Start) -> Self {
        let mut desk =
            Desk { session: Session::new(start), now: Duration::ZERO, run: 0, aside: None };
        desk.tell(Message::Tick);
        desk
    }

    /// Sends a message. Every counted request has 123,000 tokens.
    pub(crate) fn tell(&mut self, message: Message) {
        for effect in self.session.update(message, self.now) {
            match effect {
                Effect::Ask(question) => self.run = question.run,
                Effect::Aside(side, _) => self.aside = Some(side),
                Effect::Count(count) => {
                    let count = Counted {
                        number: count.number,
                        count: TokenCount::tokenized(123_000),
                        warning: None,
                    };
                    self.session.update(Message::Counted(count), self.now);
                }
                _ => {}
            }
        }
    }

    pub(crate) fn told(&mut self, told: Progress) {
        self.tell(Message::Progress(self.run, told));
    }

    pub(crate) fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        self.tell(Message::Tick);
    }

    pub(crate) fn key(&mut self, code: KeyCode, modifiers: KeyModifiers) {
        self.tell(Message::Key(KeyEvent::new(code, modifiers)));
    }

    pub(crate) fn press(&mut self, code: KeyCode) {
        self.key(code, KeyModifiers::NONE);
    }

    pub(crate) fn write(&mut self, text: &str) {
        text.chars().for_each(|char| self.press(KeyCode::Char(char)));
    }

    pub(crate) fn line(&mut self, text: &str) {
        self.tell(Message::Paste(text.to_owned()));
        self.press(KeyCode::Enter);
    }

    /// Sends a question and reports its request.
    pub(crate) fn ask(&mut self, text: &str) {
        self.line(text);
        self.told(Progress::Outgoing { warnings: Vec::new() });
    }

    pub(crate) fn think(&mut self, block: usize, text: &str, seconds: u64) {
        self.told(Progress::ThoughtBegins(block));
        if !text.is_empty() {
            self.told(Progress::ThoughtGrows(block, text.to_owned()));
        }
        self.wait(seconds * 1_000);
        self.told(Progress::ThoughtEnds { block, is_withheld: text.is_empty(), whole: None });
    }

    pub(crate) fn call(&mut self, block: usize, name: &str, parameters: &str) {
        let id = format!("call{block}");
        let parameters = Parameters::from_text(parameters);
        let call = ToolCall { parameters, ..ToolCall::new(Some(id.as_str()), name) };
        self.told(Progress::Calls(block, call));
    }

    pub(crate) fn gave(&mut self, call: usize, text: &str, is_error: bool) {
        let response = ToolResponse {
            call_id: None,
            name: None,
            result: Raw::string(text).into(),
            is_error,
            extra: Extra::default(),
        };
        self.told(Progress::Gave { call, response, took: Duration::from_millis(2_300) });
    }

    /// Ends the run with this answer.
    pub(crate) fn end(&mut self, blocks: Vec<Block>, ended: Ended) {
        let usage = Usage {
            input_tokens: Some(120_000),
            output_tokens: Some(1_800),
            reasoning_tokens: Some(1_240),
            ..Usage::default()
        };
        let partial = blocks.iter().any(|it| matches!(it, Block::Thinking(it) if it.partial));
        let content = Content { usage: Some(usage), partial, ..Content::new(Speaker::Ai, blocks) };
        self.told(Progress::Spent(40_210));
        self.told(Progress::Added(Box::new(content)));
        self.told(Progress::Done(ended));
    }

    /// Answers with a thought of 12 seconds.
    pub(crate) fn answer(&mut self, thought: &str, text: &str) {
        self.think(0, thought, 12);
        self.told(Progress::TextGrows(1, text.to_owned()));
        self.end(vec![thinking(thought), Block::Text(Text::new(text))], Ended::default());
    }

    pub(crate) fn view(&self) -> View {
        self.session.view().clone()
    }
}

pub(crate) fn thinking(text: &str) -> Block {
    Block::Thinking(Thinking::new(text, "reasoning_content"))
}
