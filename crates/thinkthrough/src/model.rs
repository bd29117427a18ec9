//! Models: where a request goes, and what the model wants, demands and refuses of thoughts.
//!
//! A [`Target`] is a provider's endpoint with a model. Its [`ModelRule`] says how thinking is switched, and its
//! [`Contract`] which thoughts go back. All rules are data with a source; an unknown model gets the rule of its family
//! if its name shows one.
//!
//! ```
//! use thinkthrough::model::Target;
//!
//! let target = Target::built_in("anthropic", None, "claude-sonnet-4-5").unwrap();
//! println!("{} ({})", target.url(true), target.rule_source);
//! assert!(target.rule.contract.signed, "Claude reads only thoughts with its own signature");
//!
//! // A server of one's own.
//! let own = Target { base_url: "http://127.0.0.1:8000/v1".into(), ..Target::built_in("vllm", None, "qwen3").unwrap() };
//! assert_eq!(own.url(false), "http://127.0.0.1:8000/v1/chat/completions");
//! ```

pub use thinkthrough_core::contract::{
    Contract, Level, Older, Readable, Return, Told as InWords, WeakIds,
};
pub use thinkthrough_core::price::{Day, Dollars, Price, Rates};
pub use thinkthrough_core::provider::{
    Account, Auth, BudgetForm, EffortForm, Endpoint, ModelRule, OtherForm, Provider, SdkAddress,
    Target, ThinkingForm, UnknownTarget, WhileThinking, find as find_provider,
};
pub use thinkthrough_core::tokens::{
    IncrementalCount, TokenCount, TokenSource, Tokenizer, TokenizerFailure,
};
