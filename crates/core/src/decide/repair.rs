//! What a provider's refusal says about the thoughts of a request, and what can be done about it once.

use super::refusal;
use crate::contract::{Contract, Readable, Return, SKIPS_SIGNATURE};

/// A repair of a request that was refused for its thoughts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Repair {
    /// The provider takes no thoughts in requests.
    Forbid,
    /// What stands in the history does not hold: all of it goes, and what is demanded counts as missing.
    Omit,
    /// What the client sends of thoughts does not hold: the vault's take their place, as if it had sent none.
    Replace,
    /// The turn cannot go on with thinking: it goes on without.
    Off,
    /// Thoughts are demanded, in this field and with this for an empty one where the wire leaves that open.
    Return(Option<(&'static str, &'static str)>),
    /// Calls must carry their signatures.
    Sign,
}

impl Repair {
    /// The repair that the body of a refusal asks for, if it is one of those that are known.
    #[must_use]
    pub fn of(refusal: &str) -> Option<Self> {
        refusal::repair(refusal)
    }

    /// Whether it says something about the model, and not only about one conversation.
    #[must_use]
    pub fn is_learned(self) -> bool {
        self.fact().is_some()
    }

    /// What it teaches about the model, as it is stored; `None` where it teaches nothing.
    #[must_use]
    pub fn fact(self) -> Option<String> {
        match self {
            Repair::Return(Some((field, empty))) => Some(format!("return {field}={empty}")),
            Repair::Forbid | Repair::Return(None) | Repair::Sign => Some(self.as_str().to_owned()),
            Repair::Off | Repair::Omit | Repair::Replace => None,
        }
    }

    /// The contract that it teaches; `None` where it says nothing about the model.
    #[must_use]
    pub fn contract(self, contract: Contract) -> Option<Contract> {
        let demanded = Contract { returns: Return::All, required: true, ..contract };
        let learned = match self {
            Repair::Forbid => Contract::NONE,
            Repair::Return(place) => Contract {
                required_in: Return::All,
                field: place.map_or(contract.field, |(field, _)| Some(field)),
                empty: place.map_or(contract.empty, |(_, empty)| Some(empty)),
                ..demanded
            },
            Repair::Sign => Contract {
                required_in: Return::CurrentTurn,
                signed: true,
                readable: Readable::SameHost,
                bypass: Some(SKIPS_SIGNATURE),
                ..demanded
            },
            Repair::Off | Repair::Omit | Repair::Replace => return None,
        };
        Some(learned.stated("the provider's refusal"))
    }

    /// The repair that taught this. A fact of a newer version may be one that nobody here knows.
    #[must_use]
    pub fn taught(fact: &str) -> Option<Self> {
        refusal::repairs().find(|repair| repair.fact().as_deref() == Some(fact))
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
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These stand in stores; they never change.
    #[test]
    fn a_fact_is_read_back_and_one_that_is_not_known_is_none() {
        for (repair, fact) in [
            (Repair::Forbid, "forbid"),
            (Repair::Sign, "sign"),
            (Repair::Return(None), "return"),
            (Repair::Return(Some(("reasoning_content", ""))), "return reasoning_content="),
            (Repair::Return(Some(("reasoning_content", " "))), "return reasoning_content= "),
        ] {
            assert_eq!(repair.fact().as_deref(), Some(fact));
            assert_eq!(Repair::taught(fact), Some(repair), "{fact}");
        }
        for repair in [Repair::Off, Repair::Omit, Repair::Replace] {
            assert_eq!((repair.fact(), Repair::taught(repair.as_str())), (None, None));
        }
        for fact in ["", "return ", "return thoughts=", "return reasoning_content=none", "Sign"] {
            assert_eq!(Repair::taught(fact), None, "{fact}");
        }
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
