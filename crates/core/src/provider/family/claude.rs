//! Claude, by generations.
//!
//! - Up to 4.5 thinking is manual: it has a budget, and the API refuses a tool loop whose last assistant message does
//!   not begin with its thinking block.
//! - From 4.6 it is adaptive with an effort; from 4.7 the text is withheld unless `display` asks for a summary; from
//!   5 it is on by default.
//! - Fable from 5.1 on, Mythos 5.2 and the 5.5 models bind every block to all messages before it. The smallest of
//!   them can be switched off, and Sonnet 5.5 can think between calls only.
//! - A tool choice that forces a call is refused while the model thinks.
//!
//! Sending blocks back is always allowed. Facts: the guides on extended and adaptive thinking and the pages about the
//! news in Opus 5, Opus 5.5, Sonnet 5.5, Fable 5.1 and Fable 5.2 (autumn 2026).

use crate::contract::{Contract, Readable, Return};
use crate::settings::Effort;

const ADAPTIVE_PAGE: &str =
    "https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking";
const EXTENDED_PAGE: &str =
    "https://platform.claude.com/docs/en/build-with-claude/extended-thinking";
const BOUND_PAGE: &str =
    "https://platform.claude.com/docs/en/about-claude/models/whats-new-fable-5-1";

/// Blocks that every host of Claude opens.
/// Source: the guide on extended thinking, on signatures across platforms.
const SEALED: Contract = Contract { readable: Readable::Family, ..Contract::sealed(Return::All) };

/// Manual thinking: blocks are demanded in tool loops.
pub(in crate::provider) const MANUAL: Contract = Contract { only_when_on: true, ..SEALED }
    .required_in(Return::CurrentTurn)
    .stated(EXTENDED_PAGE);

/// Adaptive thinking: blocks are missed, not demanded.
pub(in crate::provider) const ADAPTIVE: Contract = SEALED.stated(ADAPTIVE_PAGE);

/// Every block is bound to its prefix and its model.
pub(in crate::provider) const BOUND: Contract =
    Contract { bound: true, readable: Readable::SameModel, ..Contract::sealed(Return::All) }
        .stated(BOUND_PAGE);

pub(in crate::provider) const FOUR: &[(Effort, &str)] = &[
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Max, "max"),
];

pub(in crate::provider) const FIVE: &[(Effort, &str)] = &[
    (Effort::Low, "low"),
    (Effort::Medium, "medium"),
    (Effort::High, "high"),
    (Effort::Xhigh, "xhigh"),
    (Effort::Max, "max"),
];

/// Declares `RULES` for a wire whose members for thinking are between `$open` and `$close`, below `$path`. Fable 5.1
/// reads the thoughts of `$reads`. `$others` come behind, the last of them for every name.
macro_rules! rules {
    ($open:literal, $close:literal, $path:literal, $bound:expr, $reads:expr $(, $others:expr)* $(,)?) => {
        const OFF: &str = concat!($open, r#""thinking":{"type":"disabled"}"#, $close);
        /// The only form of off that Sonnet 5.5 takes; it still thinks between calls.
        const BETWEEN: &str = concat!($open, r#""thinking":{"type":"between_tools"}"#, $close);
        const SHOW: &str =
            concat!($open, r#""thinking":{"type":"adaptive","display":"summarized"}"#, $close);
        const EFFORT: &str = concat!($path, "output_config.effort");
        const ON_REQUEST: ThinkingForm =
            ThinkingForm::on(concat!($open, r#""thinking":{"type":"adaptive"}"#, $close))
                .choosing(WhileThinking::Automatic);
        const OMITTED: ThinkingForm = ThinkingForm::ON
            .effort(EFFORT, claude::FIVE)
            .show(SHOW)
            .choosing(WhileThinking::Automatic);
        const MANUAL: ThinkingForm = ThinkingForm::on(concat!(
            $open,
            r#""thinking":{"type":"enabled","budget_tokens":2048}"#,
            $close
        ))
        .budget(BudgetForm {
            path: concat!($path, "thinking.budget_tokens"),
            with: Some(concat!($open, r#""thinking":{"type":"enabled"}"#, $close)),
            min: 1024,
            // With the usual room for the answer below the most that these models give, 64,000 tokens.
            max: 55_808,
            below_max_tokens: true,
            is_exact: false,
        })
        .off(OFF)
        .choosing(WhileThinking::Automatic);
        /// Opus 4 and 4.1 give at most 32,000 tokens.
        const SHORT: ThinkingForm =
            MANUAL.budget(BudgetForm { max: 23_808, ..MANUAL.budget.unwrap() });

        /// Only Fable 5.2 and Mythos 5.2 read thoughts of Fable 5.2.
        const FABLE: Contract = Contract { reads: &["claude-fable-5-2"], ..$bound };
        const NEWEST: ModelRule =
            ModelRule::new("*claude-fable-5-2*", 1_000_000, FABLE, OMITTED);

        const RULES: &[ModelRule] = &[
            ModelRule::new("*claude-haiku-5-5*", 1_000_000, $bound, OMITTED.off(OFF)),
            ModelRule::new("*claude-opus-5-5*", 1_000_000, $bound, OMITTED),
            ModelRule::new("*claude-sonnet-5-5*", 1_000_000, $bound, OMITTED.off(BETWEEN)),
            ModelRule::new(
                "*claude-fable-5-1*",
                1_000_000,
                Contract { reads: $reads, ..$bound },
                OMITTED,
            ),
            NEWEST,
            ModelRule::new("*claude-fable-5*", 1_000_000, claude::ADAPTIVE, OMITTED),
            ModelRule::new("*claude-mythos-5-2*", 1_000_000, FABLE, OMITTED),
            ModelRule::new("*claude-mythos*", 1_000_000, claude::ADAPTIVE, OMITTED),
            ModelRule::new("*claude-opus-5*", 1_000_000, claude::ADAPTIVE, OMITTED.off(OFF)),
            ModelRule::new("*claude-sonnet-5*", 1_000_000, claude::ADAPTIVE, OMITTED.off(OFF)),
            ModelRule::new(
                "*claude-opus-4-8*",
                1_000_000,
                claude::ADAPTIVE,
                ON_REQUEST.effort(EFFORT, claude::FIVE).show(SHOW).off(OFF),
            ),
            ModelRule::new(
                "*claude-opus-4-7*",
                1_000_000,
                claude::ADAPTIVE,
                ON_REQUEST.effort(EFFORT, claude::FIVE).show(SHOW).off(OFF),
            ),
            // These show a summary without being asked, and still take a budget, which is discouraged.
            ModelRule::new(
                "*claude-*-4-6*",
                1_000_000,
                claude::ADAPTIVE,
                ON_REQUEST.effort(EFFORT, claude::FOUR).off(OFF),
            ),
            ModelRule::new("*claude-opus-4-5*", 200_000, claude::MANUAL, MANUAL),
            ModelRule::new("*claude-opus-4*", 200_000, claude::MANUAL, SHORT),
            ModelRule::new("*claude-sonnet-4*", 200_000, claude::MANUAL, MANUAL),
            ModelRule::new("*claude-haiku-4*", 200_000, claude::MANUAL, MANUAL),
            ModelRule::new("*claude-3-7*", 200_000, claude::MANUAL, MANUAL),
            ModelRule::thoughtless("*claude-3-*"),
            ModelRule::thoughtless("*claude-2*"),
            ModelRule::thoughtless("*claude-v*"),
            ModelRule::thoughtless("*claude-instant*"),
            NEWEST.assumed("*claude-*"),
            $($others,)*
        ];
    };
}
pub(in crate::provider) use rules;
