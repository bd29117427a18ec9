//! Edge cases that occur with real clients.

use super::PASSING;
use super::scenario::{Act, Check, Expect, Habit, Scenario};
use super::texts::{ASIDE, TURNS};

const KIMI: &str = "reasoning_content is missing in assistant tool call message at index";
const ASK: Act = Act::User("What is in this folder, and what does the readme say?");
const AGAIN: Act = Act::User("Thanks. What is in the folder now?");
const EVERY: &[Check] = &[Check::Every];

/// All scenarios of this file, in the order of the list.
pub(super) fn all() -> Vec<Scenario> {
    [ids(), shapes(), histories(), answers(), limits(), places()].concat()
}

fn kimi(id: &'static str, says: &'static str, acts: &[Act]) -> Scenario {
    Scenario::new(id, says, "kimi-k2", acts).refused(KIMI).checking(EVERY)
}

fn ids() -> Vec<Scenario> {
    const SESSIONS: &[Act] = &[
        Act::User("What is in this folder? I am Ann."),
        Act::Send,
        Act::Tools,
        Act::Keep(1),
        Act::New,
        Act::User("What is in this folder? I am Bob."),
        Act::Send,
        Act::Tools,
        Act::Keep(2),
        Act::New,
        Act::User("What is in this folder? I am Cem."),
        Act::Send,
        Act::Tools,
        Act::Loop,
        Act::Back(1),
        Act::Loop,
        Act::Back(2),
        Act::Loop,
    ];
    vec![
        Scenario::new("edge-01", "ids of calls repeat in every turn", "kimi-k3", TURNS)
            .refused(KIMI)
            .checking(EVERY),
        kimi("edge-02", "the client rewrites the ids of calls", TURNS)
            .with(&[Habit::Forget, Habit::CleanIds]),
        Scenario::new(
            "edge-03",
            "the client writes parallel calls into messages of their own",
            "deepseek-v4",
            &[Act::User("Use get_weather for Paris and Rome."), Act::Loop, AGAIN, Act::Loop],
        )
        .refused("must be passed back")
        .with(&[Habit::Forget, Habit::Split])
        .checking(EVERY),
        kimi("edge-04", "three conversations look alike but for the question", SESSIONS),
    ]
}

fn shapes() -> Vec<Scenario> {
    let shaped = |id: &'static str, says: &'static str, habits| kimi(id, says, TURNS).with(habits);
    vec![
        shaped("edge-05-null", "empty content comes back as null", &[Habit::Forget, Habit::Null]),
        shaped("edge-05-absent", "empty content is left out", &[Habit::Forget, Habit::Absent]),
        shaped("edge-05-parts", "content comes back as parts", &[Habit::Forget, Habit::Parts]),
        shaped("edge-05-newline", "a newline is added", &[Habit::Forget, Habit::Newline]),
        shaped(
            "edge-05-arguments",
            "arguments of calls are written anew",
            &[Habit::Forget, Habit::Arguments],
        ),
    ]
}

fn histories() -> Vec<Scenario> {
    const FORK: &[Act] = &[
        ASK,
        Act::Loop,
        Act::Keep(1),
        Act::User("Use get_weather for Paris."),
        Act::Loop,
        Act::Keep(2),
        Act::Back(1),
        Act::User("Use get_weather for Rome."),
        Act::Loop,
        Act::Back(2),
        AGAIN,
        Act::Loop,
    ];
    const COMPACT: &[Act] = &[
        ASK,
        Act::Loop,
        Act::User("Use get_weather for Oslo."),
        Act::Send,
        Act::Tools,
        Act::Compact("Earlier we looked at a folder with a readme."),
        Act::Loop,
    ];
    vec![
        kimi("edge-06", "a conversation forks, and both branches go on", FORK),
        kimi("edge-07", "the head becomes a summary in mid-turn", COMPACT),
        kimi("edge-08", "the system text tells the time", TURNS)
            .with(&[Habit::Forget, Habit::Clock]),
        Scenario::new(
            "edge-08-bound",
            "the system text tells the time, and thoughts are bound to it",
            "anthropic-bound",
            TURNS,
        )
        .with(&[Habit::Clock])
        .refused("The block is bound to a different conversation."),
    ]
}

fn answers() -> Vec<Scenario> {
    const RETRY: &[Act] = &[ASK, Act::Waste, Act::Loop, AGAIN, Act::Waste, Act::Loop];
    const HANG_UP: &[Act] = &[ASK, Act::HangUp(3), Act::Loop, AGAIN, Act::Loop];
    const BACK: &[Act] = &[
        ASK,
        Act::Loop,
        Act::Model("anthropic-manual"),
        AGAIN,
        Act::Loop,
        Act::Model("kimi-k2"),
        AGAIN,
        Act::Loop,
    ];
    const CHOICES: &[Act] = &[Act::Extra(r#"{"n":3}"#), ASK, Act::Loop, AGAIN, Act::Loop];
    vec![
        kimi("edge-09", "a request is sent twice", RETRY),
        Scenario::new("edge-10", "the third of three choices goes on", "vllm", CHOICES)
            .expecting(Expect::Lost)
            .checking(EVERY),
        kimi("edge-11", "the client hangs up in mid-answer and asks again", HANG_UP),
        Scenario::new(
            "edge-12-half",
            "half of a signed thought comes back",
            "anthropic-manual",
            TURNS,
        )
        .with(&[Habit::Half])
        .refused("blocks in the latest assistant message cannot be modified"),
        kimi("edge-12-tags", "the thought comes back in the visible text", TURNS)
            .with(&[Habit::Tagged]),
        Scenario::new("edge-13", "another model in between, and back", "kimi-k2", BACK)
            .through("chat-completions"),
        Scenario::new(
            "edge-14",
            "thinking is off for one question in mid-loop",
            "anthropic-manual",
            ASIDE,
        )
        .refused("Expected `thinking` or `redacted_thinking`, but found `tool_use`"),
    ]
}

fn limits() -> Vec<Scenario> {
    const COUNT: &[Act] = &[ASK, Act::Loop, AGAIN, Act::Send, Act::Tools, Act::Count];
    let long: Vec<Act> =
        [ASK, Act::Loop].into_iter().chain([AGAIN, Act::Loop].repeat(15)).collect();
    vec![
        Scenario::new(
            "edge-15",
            "tokens are counted as they will be sent",
            "anthropic-omitted",
            COUNT,
        )
        .expecting(Expect::Miscounted),
        kimi("edge-16", "what was sent once stays the same, for the prompt cache", TURNS)
            .checking(&[Check::Every, Check::Prefix]),
        kimi(
            "edge-17",
            "an image stands in the history",
            &[Act::Image("What is in this folder?"), Act::Loop, AGAIN, Act::Loop],
        ),
        kimi("edge-20", "sixteen turns with tools", &long),
    ]
}

fn places() -> Vec<Scenario> {
    const STRANGER: &[Act] =
        &[ASK, Act::Send, Act::Tools, Act::Loop, AGAIN, Act::Stranger, Act::Loop];
    const LOST: &[Act] = &[ASK, Act::Send, Act::Tools, Act::Lose, Act::Loop];
    const RESTART: &[Act] = &[ASK, Act::Send, Act::Tools, Act::Kill, Act::Loop];
    const PRESERVE: &[Act] = &[
        Act::Extra(r#"{"preserve_thinking":true}"#),
        Act::User("Hello there!"),
        Act::Loop,
        AGAIN,
        Act::Loop,
    ];
    vec![
        kimi("edge-18", "somebody else sends the same history", STRANGER).known_as(PASSING),
        kimi("edge-19-restart", "the gateway is started again in mid-turn", RESTART),
        Scenario::new("edge-19-lost", "what the gateway knew is lost", "kimi-k2", LOST)
            .refused(KIMI),
        Scenario::new("edge-21-turn", "only the running turn counts", "gemini-3", TURNS)
            .refused("Function call is missing a thought_signature"),
        Scenario::new("edge-21-all", "all turns count, by a flag", "qwen", PRESERVE)
            .expecting(Expect::Lost)
            .checking(EVERY),
        // The gateway changes no ids of this model.
        Scenario::new(
            "edge-22",
            "bytes that nobody had to change arrive as they were sent",
            "deepseek-v4",
            TURNS,
        )
        .refused("must be passed back")
        .with(&[Habit::Forget, Habit::OddBytes])
        .checking(&[Check::Every, Check::Bytes]),
        kimi(
            "kill-9",
            "the gateway is killed between turns, twice",
            &[ASK, Act::Send, Act::Tools, Act::Kill, Act::Loop, AGAIN, Act::Kill, Act::Loop],
        ),
    ]
}
