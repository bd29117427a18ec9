//! The states a screen can be in, each reached as a user reaches it.

use crate::asked::{letter, permission, refused, replying, tools, typed_ahead, writing};
use crate::desk::{Desk, model, start, thinking};
use crossterm::event::{KeyCode, KeyModifiers};
use std::time::Duration;
use thinkthrough_chat::screen::Scroll;
use thinkthrough_chat::screen::model::{Activity, Body, EntryId, ThoughtState, ToolState, View};
use thinkthrough_chat::session::{
    Ended, Hit, Kept, Listed, Message, Offer, Profile, Progress, Start, Stored,
};
use thinkthrough_core::content::{Block, Content, Speaker, Text};
use thinkthrough_core::settings::{Display, Partial};

pub(crate) const THOUGHT: &str = "The user wants to know why the build is slow. Two things come to mind:\n\n\
1. the linker, because every binary links the whole workspace;\n\
2. the tables of the tokenizer, 35 MB that are compiled again.\n\n\
I should look at the timings before I guess. `cargo build --timings` writes them down.";

pub(crate) const ANSWER: &str = "The **linker** takes most of it. What I measured:\n\n\
| step | before | after |\n|---|--:|--:|\n| compile | 41 s | 40 s |\n| link | 63 s | 9 s |\n\n\
Put this into `.cargo/config.toml`:\n\n\
```toml\n# a faster linker\n[target.x86_64-unknown-linux-gnu]\nrustflags = [\"-Clink-arg=-fuse-ld=mold\"]\n```\n\n\
- it needs [mold](https://example.org/mold) on the machine\n- *nothing* else changes\n\n\
> Measured on two cores.";

const QUESTION: &str = "Why is the build so slow?";

/// What is seen, and how far it was scrolled before.
pub(crate) struct State {
    pub(crate) name: &'static str,
    pub(crate) view: View,
    pub(crate) scroll: Option<Scroll>,
}

/// All states by name.
pub(crate) fn all() -> Vec<State> {
    let mut states = vec![
        ("empty", Desk::new(Display::Show).view()),
        ("greeting", greeting()),
        ("answer", answer()),
        ("live", live(Display::Show)),
        ("live-collapsed", live(Display::Collapsed)),
        ("live-stream-only", live(Display::StreamOnly)),
        ("live-off", live(Display::Off)),
        ("collapsed", answered(Display::Collapsed).view()),
        ("stream-only", answered(Display::StreamOnly).view()),
        ("off", answered(Display::Off).view()),
        ("not-in-response", not_in_response()),
        ("one-opened", one_opened()),
        ("thought-states", thought_states()),
        ("tools", tools()),
        ("permission", permission().view()),
        ("writing-below-a-question", writing()),
        ("a-letter-on-a-question", letter()),
        ("replying-to-a-question", replying("no, because it is used elsewhere")),
        ("replying-yes-to-a-question", replying("yes")),
        ("a-message-typed-ahead", typed_ahead()),
        ("refused-with-words", refused()),
        ("endings", endings()),
        ("failures", failures()),
        ("formulas", formulas()),
        ("hidden-again", hidden_again()),
        ("notices", notices()),
        ("composer", composer()),
        ("wide-letters", wide_letters()),
        ("unknown-limit", unknown_limit()),
        ("scrolled-up", answer()),
    ];
    states.extend(activities());
    states.extend(overlays());
    let scroll = |name| (name == "scrolled-up").then_some(Scroll::Rows(-6));
    states.into_iter().map(|(name, view)| State { name, view, scroll: scroll(name) }).collect()
}

/// The state in which this is seen. A new one has none yet, and does not compile.
pub(crate) fn of_activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Answering => "answering",
        Activity::Compressing => "compressing",
        Activity::Idle => "answer",
        Activity::Retrying => "retrying",
        Activity::Sending => "sending",
        Activity::Thinking => "live",
        Activity::Tools => "tools",
        Activity::Waiting => "permission",
    }
}

pub(crate) fn of_tool(state: ToolState) -> &'static str {
    match state {
        ToolState::Denied | ToolState::Error | ToolState::Ok | ToolState::Running => "tools",
        ToolState::Waiting => "permission",
    }
}

pub(crate) fn of_thought(state: ThoughtState) -> &'static str {
    match state {
        ThoughtState::Absent
        | ThoughtState::Done
        | ThoughtState::Partial
        | ThoughtState::Withheld => "thought-states",
        ThoughtState::Live => "live",
    }
}

fn greeting() -> View {
    let greeting = "Hello. You talk to `moonshotai/kimi-k3` (`MOONSHOT_API_KEY` is set).\n\
                    `/model` changes the model, also in the middle.\n\
                    It reads this folder, and asks before it changes anything. `/help` says more.";
    let greeting = greeting.to_owned();
    Desk::of(Start { greeting, ..start(Display::Show) }).view()
}

fn answered(display: Display) -> Desk {
    let mut desk = Desk::new(display);
    desk.ask(QUESTION);
    desk.answer(THOUGHT, ANSWER);
    desk
}

pub(crate) fn answer() -> View {
    answered(Display::Show).view()
}

pub(crate) fn live(display: Display) -> View {
    let mut desk = Desk::new(display);
    desk.ask(QUESTION);
    desk.told(Progress::ThoughtBegins(0));
    let more = "And one more thing to consider.\n".repeat(9);
    desk.told(Progress::ThoughtGrows(0, format!("{THOUGHT}\n{more}")));
    desk.wait(7_300);
    desk.view()
}

fn not_in_response() -> View {
    let mut desk = answered(Display::Show);
    desk.line("/set reasoning.includeInResponse false");
    desk.view()
}

/// The thoughts and tools of a view, in their order.
pub(crate) fn openable(view: &View) -> Vec<EntryId> {
    let is_openable = |body: &Body| matches!(body, Body::Thought(_) | Body::Tool(_));
    let entries = view.transcript.iter();
    entries.filter(|(_, body)| is_openable(body)).map(|(id, _)| id).collect()
}

fn one_opened() -> View {
    let mut desk = answered(Display::Off);
    desk.key(KeyCode::Up, KeyModifiers::ALT);
    desk.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    desk.view()
}

fn thought_states() -> View {
    // A thought without its time, an answer without a thought, a withheld thought, and a broken one.
    let kept = Content::new(
        Speaker::Ai,
        vec![thinking("From a stored conversation."), Block::Text(Text::new("Yes."))],
    );
    let effort = Some("high".to_owned());
    let without = Content { effort, ..Content::text(Speaker::Ai, "Certainly.") };
    let contents = vec![
        Content::text(Speaker::Human, "Is it so?"),
        kept,
        Content::text(Speaker::Human, "Certainly?"),
        without,
    ];
    let resumed = Some(Stored { id: "a".into(), contents, ..Stored::default() });
    let mut desk = Desk::of(Start { resumed, ..start(Display::Collapsed) });
    desk.ask("And why?");
    desk.think(0, "", 3);
    desk.told(Progress::TextGrows(1, "That is not said.".into()));
    desk.told(Progress::Done(Ended::default()));
    desk.ask("And?");
    desk.told(Progress::ThoughtBegins(0));
    desk.told(Progress::ThoughtGrows(0, "I was about to".into()));
    desk.wait(75_000);
    desk.press(KeyCode::Esc);
    desk.told(Progress::Done(Ended { is_stopped: true, ..Ended::default() }));
    desk.view()
}

/// Answers that ended without being what was asked for.
fn endings() -> View {
    let mut desk = Desk::new(Display::Show);
    desk.ask(QUESTION);
    let note = |text: &str| Ended { note: Some(text.to_owned()), ..Ended::default() };
    let empty = "the model ended its answer without a word; ask again";
    desk.told(Progress::Done(note(empty)));
    desk.ask("Again?");
    desk.think(0, "Hm.", 3);
    let cut = "the limit of output tokens was reached before there was an answer (`length`); ask for less thinking, or for less at once";
    desk.end(vec![thinking("Hm.")], note(cut));
    desk.view()
}

/// A failure with a wait, and one that is final.
fn failures() -> View {
    let mut desk = Desk::new(Display::Show);
    desk.ask(QUESTION);
    let why = "cannot connect to `http://127.0.0.1:9/v1/chat/completions` (Connection refused)";
    desk.told(Progress::Retries { why: why.to_owned(), wait: Duration::from_secs(1) });
    let failure =
        format!("`own/m`: {why}; check the base URL and that the server runs, then `/retry`");
    desk.told(Progress::Done(Ended { failure: Some(failure), ..Ended::default() }));
    desk.line("/retry");
    desk.told(Progress::Outgoing { warnings: Vec::new() });
    let why = "the provider failed (status 500)".to_owned();
    desk.told(Progress::Retries { why, wait: Duration::from_secs(8) });
    desk.wait(3_200);
    desk.view()
}

fn formulas() -> View {
    let mut desk = Desk::new(Display::Collapsed);
    desk.ask("What is the square?");
    desk.answer(
        "Easy.",
        "It is \\(a^2\\), so \\(a_1 * b_1\\) and\n\n\\[\nx = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}\n\\]\n\nfor $x_1$; it costs $5 and *not* $6.",
    );
    desk.view()
}

/// Opened by itself while all were hidden, and then all were hidden again.
fn hidden_again() -> View {
    let mut desk = answered(Display::Off);
    desk.key(KeyCode::Char('o'), KeyModifiers::CONTROL);
    desk.line("/thinking off");
    desk.view()
}

fn notices() -> View {
    let mut desk = answered(Display::Show);
    for turn in 0..2 {
        desk.ask(&format!("And then, {turn}?"));
        desk.told(Progress::TextGrows(0, "Then it is fast.".into()));
        desk.end(vec![Block::Text(Text::new("Then it is fast."))], Ended::default());
    }
    desk.line("/compress");
    let summary = desk.aside.unwrap();
    desk.tell(Message::Side(summary, Ok("They found a slow linker.".into())));
    desk.tell(Message::Chosen(Ok(Box::new(model("deepseek", "deepseek-v4-pro")))));
    desk.ask("Go on.");
    desk.told(Progress::Warns(
        "400000 of the session's 500000 reasoning tokens are spent (80 %, reported)".into(),
    ));
    desk.told(Progress::Spent(410_000));
    let failure = Some("`deepseek/deepseek-v4-pro`: the key is not accepted (status 401: invalid api key); correct `DEEPSEEK_API_KEY` and start again".into());
    desk.told(Progress::Done(Ended { failure, ..Ended::default() }));
    desk.line("/thinking");
    desk.view()
}

fn composer() -> View {
    let text = "Please look at these three lines:\nfn main() {}\n".to_owned()
        + &"and a rather long last line ".repeat(6);
    let mut desk = answered(Display::Show);
    desk.tell(Message::Sent(vec!["one".into(), text, "three".into()]));
    // The question of this session was sent after them.
    for _ in 0..3 {
        desk.press(KeyCode::Up);
    }
    for _ in 0..12 {
        desk.press(KeyCode::Left);
    }
    desk.view()
}

fn wide_letters() -> View {
    let mut desk = Desk::new(Display::Show);
    desk.ask("日本語で答えてください 🙏");
    desk.answer(
        &"考えています。".repeat(30),
        "| 名前 | 値 |\n|---|---|\n| りんご 🍎 | 1 |\n| é e\u{301} | नमस्ते |\n\n\u{1b}[31mnot red\u{1b}[0m \u{202e}reversed",
    );
    desk.write("日本");
    desk.press(KeyCode::Left);
    desk.view()
}

fn unknown_limit() -> View {
    let mut start = start(Display::Show);
    start.model = model("openai-compatible", "plain");
    start.model.target.price = None;
    let mut desk = Desk::of(start);
    desk.ask(QUESTION);
    desk.told(Progress::TextGrows(0, "Who knows.".into()));
    desk.told(Progress::Done(Ended::default()));
    desk.view()
}

fn activities() -> Vec<(&'static str, View)> {
    let asked = || {
        let mut desk = Desk::new(Display::Show);
        desk.ask(QUESTION);
        desk
    };
    let mut sending = asked();
    sending.wait(2_400);
    let mut answering = asked();
    answering.think(0, THOUGHT, 12);
    answering.told(Progress::TextGrows(1, "The **linker** takes most of it. What I".into()));
    let mut retrying = asked();
    let why = "the provider is busy (status 429)".into();
    retrying.told(Progress::Retries { why, wait: Duration::from_secs(2) });
    retrying.wait(300);
    let mut compressing = answered(Display::Show);
    compressing.ask("And then?");
    compressing.told(Progress::TextGrows(0, "Then it is fast.".into()));
    compressing.end(vec![Block::Text(Text::new("Then it is fast."))], Ended::default());
    compressing.line("/compress");
    let mut queued = asked();
    queued.line("and look at the linker");
    queued.line("and at the tokenizer");
    let mut spent = answered(Display::Show);
    // The cap of a thought and the budget of the session have a word each.
    spent.line("/cap 4000");
    spent.ask("More?");
    spent.told(Progress::Spent(512_000));
    spent.told(Progress::Warns("512000 of the session's 500000 reasoning tokens are spent (102 %, reported); nothing is held back".into()));
    vec![
        ("sending", sending.view()),
        ("answering", answering.view()),
        ("retrying", retrying.view()),
        ("compressing", compressing.view()),
        ("messages-wait", queued.view()),
        ("budget-spent", spent.view()),
    ]
}

fn overlays() -> Vec<(&'static str, View)> {
    let with = |act: &dyn Fn(&mut Desk)| {
        let mut desk = answered(Display::Show);
        act(&mut desk);
        desk.view()
    };
    let offer = |(name, detail): &(&str, &str)| Offer {
        name: (*name).to_owned(),
        detail: (*detail).to_owned(),
    };
    let offers = [
        ("fast", "moonshotai, configured"),
        ("moonshotai/kimi-k3", "its key is set"),
        ("my-vllm/large", "configured, without a key"),
        ("ollama/qwen3:8b", "local server"),
        ("sim/default", "simulated, chat-completions"),
    ];
    let listed = |number: usize| Listed {
        id: format!("{number:032x}"),
        title: format!("session {number}"),
        detail: format!("yesterday, {number} messages, moonshotai/kimi-k3"),
    };
    let hit = |title: &str, is_thought, excerpt: &str| Hit {
        id: title.to_owned(),
        title: title.to_owned(),
        is_thought,
        excerpt: excerpt.to_owned(),
    };
    let hits = vec![
        hit(QUESTION, true, "thought: 1. the linker, because every binary links the whole wor…"),
        hit(QUESTION, false, "answer: The **linker** takes most of it. What I measured:"),
        hit("An older one", false, "question: which linker do we use?"),
    ];
    let found = |hits: Vec<Hit>| {
        with(&move |desk| desk.tell(Message::Stored(Ok(Kept::Found(hits.clone())))))
    };
    vec![
        ("menu", with(&|desk| desk.write("/"))),
        ("nearest-command", with(&|desk| desk.line("/thonking"))),
        (
            "completion",
            with(&|desk| {
                desk.write("/set reasoning.");
                desk.press(KeyCode::Down);
            }),
        ),
        (
            "models",
            with(&|desk| {
                desk.tell(Message::Models(offers.iter().map(offer).collect()));
                desk.write("i");
            }),
        ),
        (
            "sessions",
            with(&|desk| {
                desk.tell(Message::Stored(Ok(Kept::Sessions((1..60).map(listed).collect()))));
                (0..40).for_each(|_| desk.press(KeyCode::Down));
            }),
        ),
        ("paths", paths()),
        ("own-command", own_command()),
        ("status", with(&|desk| desk.line("/status"))),
        ("search", found(hits)),
        ("search-empty", found(Vec::new())),
        ("settings", with(&|desk| desk.line("/set"))),
        ("explain", with(&|desk| desk.line("/explain"))),
        ("profiles", profiles()),
        (
            "help",
            with(&|desk| {
                desk.press(KeyCode::F(1));
                (0..3).for_each(|_| desk.press(KeyCode::Down));
            }),
        ),
    ]
}

/// A message with a folded paste, and a path that is being written.
fn paths() -> View {
    let mut desk = answered(Display::Show);
    desk.tell(Message::Paste("line\n".repeat(42)));
    desk.write(" and @m");
    let files = ["notes.md", "src/main.rs", "src/model.rs", "two words.md"];
    desk.tell(Message::Files(files.map(str::to_owned).to_vec()));
    desk.view()
}

/// A command of the user with its output, and another one that is being written.
fn own_command() -> View {
    let mut desk = Desk::new(Display::Show);
    desk.line("!ls src");
    desk.tell(Message::Ran(1, "main.rs\nmodel.rs\n".to_owned(), false));
    desk.line("!false");
    desk.tell(Message::Ran(2, "[exit status: 1]".to_owned(), true));
    desk.write("!cargo test");
    desk.view()
}

fn profiles() -> View {
    let mut settings = Partial::default();
    settings.set("reasoning.effort", "max").unwrap();
    let careful =
        Profile { name: "careful".into(), model: Some("fast".into()), settings, system: None };
    let quiet = Profile { name: "quiet".into(), ..Profile::default() };
    let profiles = vec![careful, quiet];
    let mut desk = Desk::of(Start { profiles, ..start(Display::Show) });
    desk.line("/profile load quiet");
    desk.line("/profile list");
    desk.view()
}
