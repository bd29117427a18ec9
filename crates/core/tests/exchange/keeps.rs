//! Clients that keep their thoughts and switch models: whatever they do with a thought, it goes to no model that cannot read
//! it. Whose it is, is known by how the conversation was made.
//!
//! `THINKTHROUGH_LOOKUPS=1000000` makes so many requests; `THINKTHROUGH_WORLD=7` makes conversation 7 alone.

use crate::faces::{MODELS, read, request, result, settings};
use crate::{Gateway, Lock};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::content::{Block, Content, Origin, Speaker, Thinking, ToolCall};
use thinkthrough_core::exchange::Thoughts;
use thinkthrough_core::provider::Target;
use thinkthrough_core::wire::Dialect;

const CALLERS: [&str; 4] = ["chat-completions", "messages", "responses", "generate-content"];

/// Seeded random numbers (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).unwrap()
    }
}

/// What a client does with the thoughts of an answer.
#[derive(Clone, Copy, Debug)]
enum Habit {
    Drops,
    Keeps,
    /// It keeps the seals alone.
    Empties,
    Edits,
    /// It writes them into the text.
    Tags,
}

const HABITS: [Habit; 5] = [Habit::Drops, Habit::Keeps, Habit::Empties, Habit::Edits, Habit::Tags];

impl Habit {
    fn shown(self, mut content: Content) -> Content {
        let mut tags = String::new();
        content.blocks.retain_mut(|block| {
            let Block::Thinking(thinking) = block else { return true };
            match self {
                Habit::Drops => return false,
                Habit::Keeps => {}
                Habit::Empties => thinking.thought.clear(),
                Habit::Edits => thinking.thought.push_str(" indeed"),
                Habit::Tags => {
                    tags = format!("<think>\n{}\n</think>\n\n", thinking.thought);
                    return false;
                }
            }
            true
        });
        if !tags.is_empty() {
            content.blocks.insert(0, Block::text(tags));
        }
        if matches!(self, Habit::Drops | Habit::Tags) {
            for block in &mut content.blocks {
                if let Block::ToolCall(call) = block {
                    call.signature = None;
                }
            }
        }
        content
    }
}

/// A thought, and whose it is.
struct Truth {
    maker: Origin,
    words: Vec<String>,
    /// The client has changed the words and what stood before them, so that they may be anybody's.
    is_reworded: bool,
}

/// An answer of this model; the number makes its words and seals its own.
fn said(target: &Target, number: usize, has_call: bool) -> (String, Truth) {
    let text = format!("KEPT{number:06}THOUGHT goes on about it");
    let seal = format!("c2VhbGVk{number:06}QUJDREVGR0hJSktMTU5PUFFSU1RVVg");
    let wire = target.wire.id();
    let sealed = Some(seal.clone());
    let thinking = match wire {
        "messages" => Thinking { signature: sealed, ..Thinking::new(&text, "thinking") },
        "converse" => Thinking { signature: sealed, ..Thinking::new(&text, "reasoningContent") },
        "responses" => Thinking {
            id: Some(format!("rs_0123456789abcdef{number:06}")),
            encrypted_content: sealed,
            summary: Some(Vec::new()),
            ..Thinking::new("", "reasoning")
        },
        "generate-content" => Thinking::new(&text, "thought"),
        _ => Thinking::new(&text, "reasoning_content"),
    };
    let id = format!("call_00_aB1cD2eF3gH4iJ5kL6{number:06}");
    let signature = (wire == "generate-content").then(|| seal.clone());
    let call = ToolCall { signature, ..ToolCall::new(Some(&id), "ls") };
    let rest = if has_call { Block::ToolCall(call) } else { Block::text("One file.") };
    let answer = Answer {
        blocks: vec![Block::Thinking(thinking), rest],
        finish_reason: Some(if has_call { "tool_calls" } else { "stop" }.into()),
        model: Some(target.model.clone()),
        ..Answer::default()
    };
    let words = vec![format!("KEPT{number:06}THOUGHT"), seal];
    (
        target.wire.write_response(&answer),
        Truth { maker: target.origin(None), words, is_reworded: false },
    )
}

/// One conversation; gives how many requests it made.
fn conversation(world: u64, targets: &[Target]) -> usize {
    let mut random = Random(world);
    let caller = CALLERS[random.below(CALLERS.len())];
    let mut gateway = Gateway::new(caller, "openai-compatible", None, "m");
    gateway.settings = settings();
    gateway.handling.thoughts = Thoughts::Show;
    let (mut contents, mut truths, mut requests) = (Vec::new(), Vec::<Truth>::new(), 0);
    let mut habits = Vec::new();
    for question in 0..3 + random.below(3) {
        if question > 0 && random.below(4) == 0 {
            // Answers without calls are not found by their history any more.
            contents[0] = Content::text(Speaker::Human, format!("Rather {question}?"));
            let edited = |(truth, habit): (&mut Truth, &Habit)| {
                truth.is_reworded |= matches!(habit, Habit::Edits);
            };
            truths.iter_mut().zip(&habits).for_each(edited);
        }
        contents.push(Content::text(Speaker::Human, format!("Question {question}?")));
        let calls = random.below(3);
        for round in 0..=calls {
            // Most switch between questions, some in the middle of a loop.
            if round == 0 || random.below(4) == 0 {
                gateway.target = targets[random.below(targets.len())].clone();
            }
            let asked = request(contents.clone(), &gateway.target.model);
            let body = gateway.caller.write_request(&asked, &Dialect::PLAIN).body;
            let prepared = gateway.ask(&body, &Lock);
            requests += 1;
            let sent = prepared.body.as_deref().unwrap_or(&body);
            let (contract, own) = (&gateway.target.rule.contract, gateway.target.origin(None));
            for Truth { maker, words, is_reworded } in &truths {
                if !contract.can_read(maker, &own) {
                    let words = if *is_reworded { &words[1..] } else { &words[..] };
                    let gone = words.iter().find(|word| sent.contains(word.as_str()));
                    assert_eq!(gone, None, "world {world}: {maker:?} to {own:?}:\n{body}\n{sent}");
                }
            }
            let (says, truth) = said(&gateway.target, truths.len(), round < calls);
            truths.push(truth);
            let (got, _) = gateway.answer(prepared, &[&says], None);
            let got = if got.is_empty() { says } else { got };
            let habit = HABITS[random.below(HABITS.len())];
            habits.push(habit);
            contents.push(habit.shown(read(gateway.caller, &got)));
            if round < calls {
                contents.push(result(contents.last().unwrap()));
            }
        }
    }
    requests
}

#[test]
fn no_thought_goes_to_a_model_that_cannot_read_it_whatever_the_client_does() {
    let number = |name: &str| std::env::var(name).ok().and_then(|it| it.parse::<u64>().ok());
    let of = |(provider, wire, model)| Target::built_in(provider, wire, model).unwrap();
    let targets = MODELS.map(of);
    if let Some(world) = number("THINKTHROUGH_WORLD") {
        conversation(world, &targets);
        return;
    }
    let most = number("THINKTHROUGH_LOOKUPS").unwrap_or(1_500);
    let (mut made, mut world) = (0, 0);
    while made < most {
        made += conversation(world, &targets) as u64;
        world += 1;
    }
}
