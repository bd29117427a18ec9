//! The kinds of worlds: which habits clients have, and what happens to their conversations.

use super::Random;
use super::change::{Copied, Habit, Reminded, Split};

/// What happens to conversations from time to time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// An earlier message of the user is edited.
    Edits,
    /// The head becomes a summary; the last turn stays.
    Compacts,
    /// The head becomes a summary, in the middle of a turn.
    CompactsInTurn,
    Forks,
    /// The last answer is asked for again.
    Retries,
    /// What another agent did stands in between from now on.
    MergesAgents,
    /// A hundred agents begin with the same words.
    Swarms,
    /// The next answers come from another model, which may not be able to read the thoughts of the first.
    Switches,
    /// Half of the conversations are begun with the other model.
    AsksBoth,
    /// Some answers are not stored, and others are evicted.
    Loses,
    /// The look-up of one request in eight fails.
    FailsLookups,
    /// The store is empty from now on; the next time it has again what it had.
    Empties,
}

/// A kind of world.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    /// Every client has one of these, one in four has none.
    pub(super) habits: &'static [Habit],
    pub(super) events: &'static [Event],
}

/// Answers are asked for again here, too, so that there are some that look alike.
const fn habit(name: &'static str, habits: &'static [Habit]) -> Kind {
    Kind { name, habits, events: &[Event::Retries] }
}

const fn event(name: &'static str, events: &'static [Event]) -> Kind {
    Kind { name, habits: &[], events }
}

/// The kind in which everything comes together.
pub(super) const MIXED: &str = "mixed";

pub(super) const KINDS: &[Kind] = &[
    event("sends all as it was", &[]),
    habit("clears old results", &[Habit::ClearsResults(1), Habit::ClearsResults(3)]),
    habit("truncates old results", &[Habit::Truncates(1), Habit::Truncates(2)]),
    habit("reminds in the first message", &[Habit::Reminds(Reminded::First)]),
    habit("reminds in the newest message", &[Habit::Reminds(Reminded::Newest)]),
    habit("reminds in every message", &[Habit::Reminds(Reminded::Every)]),
    habit("says the time", &[Habit::SaysTheTime]),
    event("edits earlier messages", &[Event::Edits]),
    habit("drops old images", &[Habit::DropsImages]),
    habit("adds defaults to arguments", &[Habit::AddsDefaults]),
    habit("drops nulls from arguments", &[Habit::DropsNulls]),
    habit("clears old arguments", &[Habit::ClearsArguments]),
    habit("slides", &[Habit::Slides(6), Habit::Slides(9)]),
    event("compacts", &[Event::Compacts]),
    event("compacts in mid-turn", &[Event::CompactsInTurn]),
    event("forks", &[Event::Forks]),
    event("retries", &[Event::Retries]),
    event("merges sub-agents in", &[Event::MergesAgents]),
    event("swarms", &[Event::Swarms]),
    habit(
        "splits parallel calls",
        &[
            Habit::Splits(Split::Each),
            Habit::Splits(Split::Repeating),
            Habit::Splits(Split::Before),
        ],
    ),
    habit("merges answers", &[Habit::Merges]),
    habit("sanitises and cuts ids", &[Habit::CleansIds, Habit::CutsIds, Habit::NumbersIds]),
    habit("drops ids", &[Habit::DropsIds]),
    event("switches models", &[Event::Switches]),
    event("asks two models", &[Event::AsksBoth, Event::Retries]),
    event("asks two models and switches", &[Event::AsksBoth, Event::Retries, Event::Switches]),
    event("loses records", &[Event::Loses]),
    event("has a store that breaks", &[Event::FailsLookups, Event::Loses, Event::Empties]),
    habit("keeps thoughts", &[Habit::KeepsThoughts, Habit::StripsThoughts]),
    habit(
        "shows copies of thoughts",
        &[
            Habit::Shows(Copied::Think),
            Habit::Shows(Copied::Thinking),
            Habit::Shows(Copied::Details),
            Habit::Shows(Copied::Quoted),
        ],
    ),
    Kind { name: MIXED, habits: ALL_HABITS, events: ALL_EVENTS },
];

const ALL_HABITS: &[Habit] = &[
    Habit::ClearsResults(2),
    Habit::Truncates(1),
    Habit::Reminds(Reminded::First),
    Habit::Reminds(Reminded::Newest),
    Habit::Reminds(Reminded::Every),
    Habit::SaysTheTime,
    Habit::DropsImages,
    Habit::AddsDefaults,
    Habit::DropsNulls,
    Habit::ClearsArguments,
    Habit::Slides(8),
    Habit::Splits(Split::Each),
    Habit::Splits(Split::Repeating),
    Habit::Splits(Split::Before),
    Habit::Merges,
    Habit::CleansIds,
    Habit::CutsIds,
    Habit::NumbersIds,
    Habit::DropsIds,
    Habit::KeepsThoughts,
    Habit::StripsThoughts,
    Habit::Shows(Copied::Think),
    Habit::Shows(Copied::Quoted),
];

const ALL_EVENTS: &[Event] = &[
    Event::Edits,
    Event::Compacts,
    Event::CompactsInTurn,
    Event::Forks,
    Event::Retries,
    Event::MergesAgents,
    Event::Swarms,
    Event::Switches,
    Event::AsksBoth,
    Event::Loses,
    Event::FailsLookups,
    Event::Empties,
];

impl Kind {
    pub(super) fn is_mixed(&self) -> bool {
        self.name == MIXED
    }

    pub(super) fn has(&self, event: Event) -> bool {
        self.events.contains(&event)
    }

    /// The habits of one more client, in the order in which it gives way to them.
    pub(super) fn draw(&self, random: &mut Random) -> Vec<Habit> {
        if self.habits.is_empty() || random.once_in(4) {
            return Vec::new();
        }
        let count = if self.is_mixed() { 1 + random.below(4) } else { 1 };
        let mut habits: Vec<Habit> = (0..count).map(|_| random.one(self.habits)).collect();
        habits.sort_unstable();
        habits.dedup_by_key(|habit| std::mem::discriminant(habit));
        habits
    }
}
