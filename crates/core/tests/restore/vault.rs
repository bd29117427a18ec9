//! A vault in memory, and short words for conversations.

use std::collections::BTreeMap;
use thinkthrough_core::content::{
    Block, Content, Origin, Parameters, Speaker, Text, Thinking, ToolCall, ToolResponse,
};
use thinkthrough_core::contract::{Contract, Readable, Return, WeakIds};
use thinkthrough_core::decide::answers;
use thinkthrough_core::decision::Decision;
use thinkthrough_core::request::Tool;
use thinkthrough_core::restore::{
    About, Answered, Ask, Delivery, Head, Kept, Question, Secret, Version, capture, more, ticket,
};
use thinkthrough_core::wire::find;
use thinkthrough_json::{Extra, Raw};

pub(crate) const PLAIN: Contract =
    Contract { required: true, ..Contract::plain(Return::All, "reasoning_content") };
pub(crate) const TICKETS: Contract = Contract { tickets: Some(WeakIds::Counted), ..PLAIN };
pub(crate) const SIGNED: Contract = Contract::sealed(Return::All);
pub(crate) const TAILED: Contract = SIGNED;
pub(crate) const BOUND: Contract =
    Contract { bound: true, readable: Readable::SameModel, ..SIGNED };

/// The form of tickets for callers of this API.
pub(crate) fn form(wire: &str) -> ticket::Form {
    ticket::Form::of(find(wire).unwrap())
}

/// One tenant's records, and the request at hand.
pub(crate) struct Vault {
    pub(crate) secret: Secret,
    pub(crate) contract: Contract,
    pub(crate) origin: Origin,
    pub(crate) is_thinking: bool,
    /// Callers get a ticket in the place of the signature of thoughts.
    pub(crate) signs: bool,
    /// Nothing is known about the endpoint.
    pub(crate) is_unlisted: bool,
    pub(crate) records: BTreeMap<String, (Head, Kept)>,
    pub(crate) clock: u64,
}

/// What a request says beside its messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    pub(crate) hint: Option<&'static str>,
    pub(crate) tools: Vec<Tool>,
}

impl Vault {
    pub(crate) fn new(contract: Contract) -> Self {
        let origin = Origin {
            provider: "p".into(),
            endpoint: "https://p.example".into(),
            model: "m".into(),
            account: None,
        };
        Vault {
            secret: Secret::new([9; 32]),
            contract,
            origin,
            is_thinking: true,
            signs: false,
            is_unlisted: false,
            records: BTreeMap::new(),
            clock: 0,
        }
    }

    pub(crate) fn plan(
        &self,
        contents: &[Content],
        frame: &Frame,
    ) -> (Question, Vec<Head>, Vec<Decision>) {
        let about = About {
            tools: &frame.tools,
            hint: frame.hint,
            is_sealed: self.contract.signed,
            is_unlisted: self.is_unlisted,
        };
        let question = Question::read(contents, about, &self.secret, Version::CURRENT);
        let keys = question.keys();
        let hit = |head: &Head| head.all_keys().any(|key| keys.binary_search(&key).is_ok());
        let mut heads: Vec<Head> =
            self.records.values().map(|(head, _)| head).filter(|head| hit(head)).cloned().collect();
        let ask = Ask {
            contract: &self.contract,
            origin: &self.origin,
            is_own_wire: true,
            is_thinking: self.is_thinking,
            is_afresh: false,
        };
        let more = more(&question, &heads, &ask);
        heads.extend(
            more.iter().filter_map(|id| self.records.get(id)).map(|(head, _)| head.clone()),
        );
        let plan = answers(&question, &heads, &ask);
        (question, heads, plan)
    }

    /// The answer to a request is recorded; gives its record's id.
    pub(crate) fn answered(
        &mut self,
        contents: &[Content],
        frame: &Frame,
        answer: &Content,
        delivery: Delivery,
    ) -> Option<String> {
        let (question, _, plan) = self.plan(contents, frame);
        self.clock += 1;
        let id = format!("r{:06}", self.clock);
        let answered = Answered {
            record: &id,
            content: answer.clone(),
            origin: &self.origin,
            delivery,
            at: self.clock,
            tickets: self.contract.tickets.map(|_| form("chat-completions")),
            has_thought_ticket: self.signs,
        };
        let (head, kept) = capture(&question, &plan, answered, &self.secret)?;
        self.records.insert(id.clone(), (head, kept));
        Some(id)
    }

    /// The answer as its caller gets it: with tickets, where they are minted.
    pub(crate) fn given(&self, mut answer: Content, record: &str) -> Content {
        for block in &mut answer.blocks {
            if let (true, Block::Thinking(thinking)) = (self.signs, block) {
                thinking.signature = Some(ticket::of_thought(&self.secret, record));
            }
        }
        let calls = answer.blocks.iter_mut().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        });
        if self.contract.tickets.is_some() {
            for (call, nth) in calls.zip(0..) {
                call.id = Some(ticket::mint(&self.secret, record, nth, form("chat-completions")));
            }
        }
        answer
    }
}

pub(crate) fn system(text: &str) -> Content {
    Content::text(Speaker::System, text)
}

pub(crate) fn human(text: &str) -> Content {
    Content::text(Speaker::Human, text)
}

/// A thought with a signature that is made of it.
pub(crate) fn thought(text: &str) -> Block {
    Block::Thinking(Thinking {
        signature: Some(format!("sig:{text}")),
        ..Thinking::new(text, "thinking")
    })
}

/// A thought of which there is only what is sealed.
pub(crate) fn wordless(name: &str) -> Block {
    Block::Thinking(Thinking {
        encrypted_content: Some(format!("sealed {name}")),
        ..Thinking::new("", "encrypted_content")
    })
}

/// A thought in plain words.
pub(crate) fn unsigned(words: &str) -> Block {
    Block::Thinking(Thinking::new(words, "reasoning_content"))
}

pub(crate) fn text(text: &str) -> Block {
    Block::Text(Text::new(text))
}

pub(crate) fn call(id: &str, name: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall {
        id: (!id.is_empty()).then(|| id.to_owned()),
        name: name.to_owned(),
        parameters: Parameters::from_text(arguments),
        signature: None,
        extra: Extra::default(),
    })
}

/// A call with a signature.
pub(crate) fn signed(call: Block, signature: &str) -> Block {
    match call {
        Block::ToolCall(call) => {
            Block::ToolCall(ToolCall { signature: Some(signature.to_owned()), ..call })
        }
        other => other,
    }
}

pub(crate) fn ai(blocks: Vec<Block>) -> Content {
    Content::new(Speaker::Ai, blocks)
}

pub(crate) fn result(id: &str, text: &str) -> Content {
    let response = ToolResponse {
        call_id: (!id.is_empty()).then(|| id.to_owned()),
        name: None,
        result: Raw::string(text).into(),
        is_error: false,
        extra: Extra::default(),
    };
    Content::new(Speaker::Tool, vec![Block::ToolResponse(response)])
}

pub(crate) fn tool(name: &str) -> Tool {
    Tool::Function {
        name: name.into(),
        description: None,
        parameters: None,
        extra: Extra::default(),
    }
}

/// The same messages as a client that drops thoughts sends them.
pub(crate) fn bare(contents: &[Content]) -> Vec<Content> {
    let bare = contents.iter().map(|content| {
        let mut content = content.clone();
        content.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
        content
    });
    bare.collect()
}
