//! What a provider's refusal says about the thoughts of a request, and what can be done about it once.

use super::{RequestContext, question, refusal};
use crate::content::{Block, Content};
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

/// The rule that was learned stands in the provider's own words.
const SOURCE: &str = "the provider's refusal";

impl RequestContext<'_> {
    /// Prepares the request otherwise from now on.
    pub fn repair(&mut self, repair: Repair) {
        let contract = self.target.rule.contract;
        let learned = match repair {
            Repair::Forbid => Contract::NONE,
            Repair::Return(place) => Contract {
                returns: Return::All,
                required: true,
                required_in: Return::All,
                field: place.map_or(contract.field, |(field, _)| Some(field)),
                empty: place.map_or(contract.empty, |(_, empty)| Some(empty)),

                ..contract
            },
            Repair::Sign => Contract {
                returns: Return::All,
                required: true,
                required_in: Return::CurrentTurn,
                signed: true,
                unsealed: contract.unsealed,
                readable: Readable::SameEndpoint,
                bypass: Some(SKIPS_SIGNATURE),
                ..contract
            },
            Repair::Off => return self.switch_off(),
            Repair::Omit => return self.take_out(true),
            Repair::Replace => return self.take_out(false),
        };
        self.target =
            self.target.clone().with_contract(Contract { source: SOURCE, ..learned }, "learned");
    }

    fn switch_off(&mut self) {
        let thinking = &mut self.target.rule.thinking;
        // Who refuses in these words is switched off in these.
        thinking.off = thinking.off.or(Some(r#"{"thinking":{"type":"disabled"}}"#));
        self.settings.enabled.value = false;
    }

    /// The question is asked anew, because a thought that is left out is one that is missing.
    fn take_out(&mut self, all: bool) {
        let mut bare = self.request.contents.clone();
        bare.iter_mut().for_each(take_out);
        self.omits = all;
        if self.question.is_some() {
            let owner = self.owner.as_ref();
            self.question = Some(question(&self.request, &bare, owner, &self.target));
        }
        self.bare = Some(bare);
    }
}

/// Takes thoughts out of a message, with their payloads on other blocks, and the ids by which items hang on them.
fn take_out(content: &mut Content) {
    content.signature = None;
    content.blocks.retain(|block| !matches!(block, Block::Thinking(_)));
    for block in &mut content.blocks {
        let extra = match block {
            Block::Text(text) => {
                text.signature = None;
                &mut text.extra
            }
            Block::ToolCall(call) => {
                call.signature = None;
                // A call without an id of its own may say so there.
                if call.id.is_none() {
                    continue;
                }
                &mut call.extra
            }
            Block::Media(_) | Block::Other(_) | Block::Thinking(_) | Block::ToolResponse(_) => {
                continue;
            }
        };
        extra.fields.retain(|(key, _)| key != "id");
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
