//! The repairs that a provider's refusal of thoughts suggests; each is tried once.

use super::{refusal, unlisted};
use crate::contract::{Contract, Readable, Return, SKIPS_SIGNATURE};
use crate::provider::{EffortForm, Target};
use crate::settings::Efforts;

/// A repair of a request that was refused for its thoughts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repair {
    /// The provider takes no thoughts in requests.
    Forbid,
    /// The history contains a wrong thought: all thoughts are removed, and demanded ones count as missing.
    Omit,
    /// The client's thoughts are wrong: the vault's thoughts replace them, as if the client had sent none.
    Replace,
    /// The turn cannot go on with thinking: it goes on without.
    Off,
    /// Thoughts are demanded, in this field and with this value for an empty one, if the wire leaves that open.
    Return(Option<(&'static str, &'static str)>),
    /// Calls must carry their signatures.
    Sign,
    /// An answer with calls goes with its thought or its text, not both.
    Apart,
    /// The model knows only these efforts. An empty set removes the effort.
    Efforts(Efforts),
    /// The request goes without this member.
    Without(&'static str),
}

impl Repair {
    /// The repair that the body of a refusal asks for, if the tables have it.
    #[must_use]
    pub fn of(refusal: &str) -> Option<Self> {
        refusal::repair(refusal)
    }

    /// Whether the body of a 5xx refuses the history, so that a retry would fail as well.
    #[must_use]
    pub fn names_history(failure: &str) -> bool {
        refusal::names_history(failure)
    }

    /// Whether it removes thoughts from one conversation.
    #[must_use]
    pub fn leaves_out(self) -> bool {
        matches!(self, Repair::Omit | Repair::Replace)
    }

    /// Whether it teaches about the model, and not only about one conversation.
    #[must_use]
    pub fn is_learned(self) -> bool {
        self.fact().is_some()
    }

    /// The lesson about the model, as it is stored; `None` if there is no lesson.
    #[must_use]
    pub fn fact(self) -> Option<String> {
        match self {
            Repair::Return(Some((field, empty))) => Some(format!("return {field}={empty}")),
            Repair::Forbid | Repair::Return(None) | Repair::Sign | Repair::Apart => {
                Some(self.as_str().to_owned())
            }
            Repair::Efforts(efforts) => Some(format!("efforts {efforts}")),
            Repair::Without(member) => Some(format!("without {member}")),
            Repair::Off | Repair::Omit | Repair::Replace => None,
        }
    }

    /// The contract that it teaches; `None` if it does not concern the model.
    fn contract(self, contract: Contract) -> Option<Contract> {
        let demanded = Contract { returns: Return::All, required: true, ..contract };
        let learned = match self {
            Repair::Forbid => Contract::NONE,
            Repair::Return(place) => {
                let field = place.map_or(contract.field, |(field, _)| Some(field));
                let empty = place.map_or(contract.empty.unwrap_or(""), |(_, empty)| empty);
                // The provider refused the empty value, so the answer is described in words instead.
                let never_empty =
                    contract.never_empty || contract.required && contract.empty == Some(empty);
                let empty = (!never_empty).then_some(empty);
                Contract { required_in: Return::All, field, empty, never_empty, ..demanded }
            }
            Repair::Sign => Contract {
                required_in: Return::CurrentTurn,
                signed: true,
                readable: Readable::SameHost,
                bypass: Some(SKIPS_SIGNATURE),
                never_empty: true,
                ..demanded
            },
            Repair::Apart => return Some(contract.apart().stated(contract.source)),
            Repair::Off | Repair::Omit | Repair::Replace => return None,
            Repair::Efforts(_) | Repair::Without(_) => return None,
        };
        Some(learned.stated("the provider's refusal"))
    }

    /// The model with this lesson applied; `None` if there is no lesson.
    #[must_use]
    pub fn taught_to(self, target: &Target) -> Option<Target> {
        let mut taught = target.clone();
        match self {
            Repair::Apart | Repair::Forbid | Repair::Return(_) | Repair::Sign => {
                let learned = self.contract(target.rule.contract)?;
                taught = taught.with_contract(learned, "learned");
            }
            Repair::Efforts(efforts) => {
                let path = match target.wire.id() {
                    "responses" => "reasoning.effort",
                    "messages" => "output_config.effort",
                    _ => "reasoning_effort",
                };
                let unknown = EffortForm { path, words: &[], only: None };
                let form = target.rule.thinking.effort.unwrap_or(unknown);
                taught.rule.thinking.effort = Some(EffortForm { only: Some(efforts), ..form });
            }
            Repair::Without(member) => taught.refuses.push(member),
            Repair::Off | Repair::Omit | Repair::Replace => return None,
        }
        Some(taught)
    }

    /// The repair that taught this. A fact of a newer version may be unknown here.
    #[must_use]
    pub fn taught(fact: &str) -> Option<Self> {
        let of_table = refusal::repairs().chain(unlisted::repairs());
        let efforts = || fact.strip_prefix("efforts ").and_then(Efforts::parse);
        of_table
            .into_iter()
            .find(|repair| repair.fact().as_deref() == Some(fact))
            .or_else(|| efforts().map(Repair::Efforts))
    }

    /// Its name in headers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Repair::Forbid => "forbid",
            Repair::Omit => "omit",
            Repair::Replace => "replace",
            Repair::Off => "off",
            Repair::Return(_) => "return",
            Repair::Sign => "sign",
            Repair::Apart => "apart",
            Repair::Efforts(_) => "efforts",
            Repair::Without(_) => "without",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stores contain these texts, so they never change.
    #[test]
    fn a_fact_is_read_back_and_one_that_is_not_known_is_none() {
        for (repair, fact) in [
            (Repair::Forbid, "forbid"),
            (Repair::Sign, "sign"),
            (Repair::Return(None), "return"),
            (Repair::Apart, "apart"),
            (Repair::Without("include"), "without include"),
            (Repair::Efforts(Efforts::parse("low,high").unwrap()), "efforts low,high"),
            (Repair::Efforts(Efforts::default()), "efforts "),
            (Repair::Return(Some(("reasoning", ""))), "return reasoning="),
            (Repair::Return(Some(("reasoning_content", ""))), "return reasoning_content="),
            (Repair::Return(Some(("reasoning_content", " "))), "return reasoning_content= "),
        ] {
            assert_eq!(repair.fact().as_deref(), Some(fact));
            assert_eq!(Repair::taught(fact), Some(repair), "{fact}");
        }
        for repair in [Repair::Off, Repair::Omit, Repair::Replace] {
            assert_eq!((repair.fact(), Repair::taught(repair.as_str())), (None, None));
        }
        for fact in [
            "",
            "return ",
            "efforts great",
            "without model",
            "return thoughts=",
            "return reasoning_content=none",
            "Sign",
        ] {
            assert_eq!(Repair::taught(fact), None, "{fact}");
        }
    }

    #[test]
    fn an_empty_thought_that_was_refused_is_not_sent_again() {
        let empty = |repair: Repair, contract: Contract| repair.contract(contract).unwrap().empty;
        let plain = Contract::plain(Return::ToolCalls, "reasoning_content").required();
        assert_eq!(empty(Repair::Return(None), Contract::NONE), Some(""));
        assert_eq!(empty(Repair::Return(None), plain.with_empty("")), None);
        let blank = Repair::Return(Some(("reasoning_content", " ")));
        assert_eq!(empty(blank, plain.with_empty("")), Some(" "));
    }

    #[test]
    fn what_is_known_is_found_and_nothing_else() {
        let field = Repair::Return(Some(("reasoning_content", "")));
        for (text, repair) in [
            (
                "The `reasoning_content` in the thinking mode must be passed back to the API.",
                Some(field),
            ),
            (
                "The `reasoning_text` in the thinking mode must be passed back to the API.",
                Some(Repair::Return(None)),
            ),
            (
                r#"{"message":"Param Incorrect","param":"The `reasoning_content` in the thinking mode must be passed back to the API."}"#,
                Some(field),
            ),
            (
                "messages.3: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.",
                Some(Repair::Omit),
            ),
            ("Item with id 'rs_1' not found.", Some(Repair::Omit)),
            ("The block is bound to a different conversation.", Some(Repair::Omit)),
            ("property 'reasoning_content' is unsupported", Some(Repair::Forbid)),
            (
                r#"{"type":"extra_forbidden","loc":["body","messages",1,"reasoning_content"]}"#,
                Some(Repair::Forbid),
            ),
            (r#"{"type":"extra_forbidden","loc":["body","n"]}"#, None),
            ("`max_tokens` must be greater than `thinking.budget_tokens`", None),
            ("Rate limit reached", None),
        ] {
            assert_eq!(Repair::of(text), repair, "{text}");
        }
    }
}
