//! Model rules: name patterns, contracts, and the request fields that control thinking.

use crate::contract::{Contract, Return};
use crate::settings::{Effort, Efforts, Format, Partial};

/// The data about the models whose names match a pattern.
#[derive(Clone, Copy, Debug)]
pub struct ModelRule {
    /// Glob over the model's name: `*` is any run of characters; case is ignored.
    pub pattern: &'static str,
    /// The context window in tokens; 0 if unknown.
    pub context: u64,
    /// The treatment of thoughts in requests.
    pub contract: Contract,
    /// How thinking is asked for.
    pub thinking: ThinkingForm,
    /// The tag family that separates thoughts from text, for models that think in tags.
    pub tags: Option<&'static str>,
    /// The second form in which the endpoint takes thoughts back, if it has one beside the contract's.
    pub other: Option<OtherForm>,
    /// These models are unknown and are treated as the newest ones.
    pub assumed: bool,
}

/// A second form in which an endpoint takes thoughts back; `reasoning.format` chooses between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherForm {
    /// The value that chooses this form.
    pub format: Format,
    /// The field that thoughts go back in, in place of the contract's; `think_tags` is the text itself.
    pub field: &'static str,
    /// The flags that are sent in place of the contract's.
    pub flags: Option<&'static str>,
    /// The tag family of answers to requests of this form, if the model thinks in tags.
    pub tags: Option<&'static str>,
}

impl ModelRule {
    /// A rule without any data.
    pub const UNKNOWN: ModelRule = ModelRule {
        pattern: "*",
        context: 0,
        contract: Contract::NONE,
        thinking: ThinkingForm::NONE,
        tags: None,
        other: None,
        assumed: false,
    };

    /// A rule about models that keep their thoughts apart from the text by themselves.
    #[must_use]
    pub const fn new(
        pattern: &'static str,
        context: u64,
        contract: Contract,
        thinking: ThinkingForm,
    ) -> Self {
        ModelRule { pattern, context, contract, thinking, ..ModelRule::UNKNOWN }
    }

    /// A rule about models that do not think.
    #[must_use]
    pub const fn thoughtless(pattern: &'static str) -> Self {
        ModelRule { pattern, ..ModelRule::UNKNOWN }
    }

    /// One of the last rules of an endpoint: names of this pattern that no rule before it knows are taken for models
    /// of this rule, the newest.
    ///
    /// It is unknown whether they think, and which parameters they refuse. So it keeps only parameters that never
    /// make a request fail, at any provider:
    ///
    /// - Thoughts that are there go back. None is demanded, so no request is refused or changed because a thought is
    ///   missing.
    /// - The gateway adds no flag, no switch and no request to show thoughts. A model that does not think refuses
    ///   these; OpenAI's does `include`, Moonshot's does `keep`.
    /// - An effort is sent, in the words of the newest model, but only if the user or the caller names one.
    /// - Thinking is not switched off, because some of the newest refuse that.
    /// - If flags decide about the form of thoughts, the second form applies, which needs no flag.
    #[must_use]
    pub const fn assumed(self, pattern: &'static str) -> Self {
        let thinking = ThinkingForm { effort: self.thinking.effort, ..ThinkingForm::NONE };
        let ModelRule { contract, tags, .. } = self.elsewhere();
        ModelRule {
            pattern,
            contract: contract.assumed(),
            thinking,
            tags,
            assumed: true,
            ..ModelRule::UNKNOWN
        }
    }

    /// The rule for the same model at an unknown host, which may refuse the provider's flags. If these flags decide
    /// about the form of thoughts, the second form applies, which needs no flag.
    #[must_use]
    pub const fn elsewhere(self) -> Self {
        let (contract, tags) = match self.other {
            Some(OtherForm { field, tags, flags: None, .. }) if self.contract.flags.is_some() => {
                (Contract { field: Some(field), ..self.contract }, tags)
            }
            _ => (self.contract, self.tags),
        };
        ModelRule { contract: Contract { flags: None, ..contract }, tags, other: None, ..self }
    }

    /// Whether every name matches.
    #[must_use]
    pub fn is_any(&self) -> bool {
        self.pattern == ModelRule::UNKNOWN.pattern
    }

    /// Whether the rule is about models that were known when it was written.
    #[must_use]
    pub fn is_about_some(&self) -> bool {
        !self.assumed && !self.is_any()
    }

    /// Thoughts can also go back in another form.
    #[must_use]
    pub const fn or(self, other: OtherForm) -> Self {
        ModelRule { other: Some(other), ..self }
    }

    /// The settings that the rule implies: the layer above the built-in defaults.
    #[must_use]
    pub fn settings(&self) -> Partial {
        // If no setting names a format, the contract's form applies.
        let is_native = self.other.is_some_and(|other| other.format == Format::Field);
        Partial { format: is_native.then_some(Format::Native), ..Partial::default() }
    }

    /// Whether the models are known not to think.
    #[must_use]
    pub fn is_thoughtless(&self) -> bool {
        let (form, contract) = (&self.thinking, &self.contract);
        let is_silent = form.on.is_none() && form.effort.is_none() && form.budget.is_none();
        let is_plain = contract.returns == Return::Never && contract.source.is_empty();
        !self.is_any() && !form.default_on && is_silent && is_plain
    }

    /// Whether the rule is about this model.
    #[must_use]
    pub fn matches(&self, model: &str) -> bool {
        glob(self.pattern, model)
    }
}

/// How a model is asked to think, as JSON objects that are merged into the request body.
#[derive(Clone, Copy, Debug)]
pub struct ThinkingForm {
    /// The model thinks unless it is switched off.
    pub default_on: bool,
    /// Switches thinking on, for models that do not think by default.
    pub on: Option<&'static str>,
    /// Switches thinking off; `None` with `default_on`: it cannot be switched off.
    pub off: Option<&'static str>,
    /// The field and words for an effort.
    pub effort: Option<EffortForm>,
    /// The field for a cap on thinking tokens.
    pub budget: Option<BudgetForm>,
    /// Asks for readable thoughts, if the provider withholds them by default.
    pub show: Option<&'static str>,
    /// The tool choices that are accepted while the model thinks.
    pub choice: WhileThinking,
}

/// The tool choices that a model takes while it thinks. If thinking can be switched off, the model takes the other
/// choices only while it is off; else never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhileThinking {
    /// All tool choices, as far as is known.
    #[default]
    All,
    /// Automatic or none.
    Automatic,
}

impl ThinkingForm {
    /// A model that cannot be asked to think.
    pub const NONE: ThinkingForm = ThinkingForm {
        default_on: false,
        on: None,
        off: None,
        effort: None,
        budget: None,
        show: None,
        choice: WhileThinking::All,
    };

    /// A model that thinks by default.
    pub const ON: ThinkingForm = ThinkingForm { default_on: true, ..ThinkingForm::NONE };

    /// Silence means off, and this switches thinking on.
    #[must_use]
    pub const fn on(on: &'static str) -> Self {
        ThinkingForm { on: Some(on), ..ThinkingForm::NONE }
    }

    /// This switches thinking off.
    #[must_use]
    pub const fn off(self, off: &'static str) -> Self {
        ThinkingForm { off: Some(off), ..self }
    }

    /// Adds an effort at `path`, with these words.
    #[must_use]
    pub const fn effort(
        self,
        path: &'static str,
        words: &'static [(Effort, &'static str)],
    ) -> Self {
        ThinkingForm { effort: Some(EffortForm { path, words, only: None }), ..self }
    }

    /// While it thinks, the model takes these tool choices only.
    #[must_use]
    pub const fn choosing(self, choice: WhileThinking) -> Self {
        ThinkingForm { choice, ..self }
    }

    /// Adds a field for a cap on thinking tokens.
    #[must_use]
    pub const fn budget(self, budget: BudgetForm) -> Self {
        ThinkingForm { budget: Some(budget), ..self }
    }

    /// Thoughts are readable only if asked for.
    #[must_use]
    pub const fn show(self, show: &'static str) -> Self {
        ThinkingForm { show: Some(show), ..self }
    }
}

/// The field and the words for an effort.
#[derive(Clone, Copy, Debug)]
pub struct EffortForm {
    /// The path in the body, members joined by dots: `reasoning.effort`.
    pub path: &'static str,
    /// The words of the provider. A step that is missing takes the nearest one, of two the lower.
    pub words: &'static [(Effort, &'static str)],
    /// The efforts that a refusal listed. They replace `words`.
    pub only: Option<Efforts>,
}

impl EffortForm {
    /// The provider's word for an effort. An effort above `none` never becomes the word for not thinking. If the
    /// provider has no word for not thinking, its lowest word is used.
    #[must_use]
    pub fn word(&self, effort: Effort) -> Option<&'static str> {
        if let Some(only) = self.only {
            return only.nearest(effort).map(Effort::as_str);
        }
        let rank = |effort: Effort| {
            Effort::ALL.iter().position(|step| *step == effort).unwrap_or_default()
        };
        let is_kind = |step: Effort| effort == Effort::None || step != Effort::None;
        let kind = || self.words.iter().filter(|(step, _)| is_kind(*step));
        let nearest = kind().min_by_key(|(step, _)| (rank(*step).abs_diff(rank(effort)), *step));
        nearest.or(self.words.first()).map(|(_, word)| *word)
    }
}

/// The field and the bounds for a cap on thinking tokens.
#[derive(Clone, Copy, Debug)]
pub struct BudgetForm {
    /// The path in the body, members joined by dots: `thinking.budget_tokens`.
    pub path: &'static str,
    /// Members that must be sent with it.
    pub with: Option<&'static str>,
    /// The least that is accepted; less is raised to it.
    pub min: u64,
    /// The most that is accepted; more is lowered to it.
    pub max: u64,
    /// It must stay below the cap on all generated tokens.
    pub below_max_tokens: bool,
    /// The provider ends the thought exactly there. Its cap on the answer may be one on the text alone then. Elsewhere
    /// the model only aims at this cap, and may think more.
    pub is_exact: bool,
}

/// Whether `pattern` matches all of `text`, in linear time except for patterns with many stars. `*` is any run of
/// characters; case is ignored.
#[must_use]
pub fn glob(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let text = text.to_ascii_lowercase();
    let Some(mut rest) =
        parts.next().and_then(|head| text.strip_prefix(&head.to_ascii_lowercase()))
    else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(middle) = last.replace(part.to_ascii_lowercase()) {
            let Some((_, after)) = rest.split_once(middle.as_str()) else { return false };
            rest = after;
        }
    }
    last.map_or(rest.is_empty(), |tail| rest.ends_with(&tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("kimi-k2*", "Kimi-K2-thinking", true),
            ("kimi-k2*", "my-kimi-k2", false),
            ("*claude-*-4*", "us.anthropic.claude-opus-4-5", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("a*a", "a", false),
            ("*mini", "o4-mini", true),
        ] {
            assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn an_effort_that_is_missing_takes_the_nearest_step() {
        use Effort::{High, Low, Max, Medium, Minimal, None, Xhigh};
        for (words, expected) in [
            (&[Low, High][..], [Low, Low, Low, Low, High, High, High]),
            (&[Low, Max], [Low, Low, Low, Low, Low, Max, Max]),
            (&[None, High], [None, High, High, High, High, High, High]),
            (&[None, Low, Xhigh], [None, Low, Low, Low, Xhigh, Xhigh, Xhigh]),
            (&[Low, Medium, Xhigh], [Low, Low, Low, Medium, Medium, Xhigh, Xhigh]),
        ] {
            let words: Vec<_> = words.iter().map(|step| (*step, step.as_str())).collect();
            let form = EffortForm { path: "e", words: words.leak(), only: Option::None };
            let found = Effort::ALL.map(|effort| form.word(effort));
            assert_eq!(found, expected.map(|step| Some(step.as_str())), "{:?}", form.words);
        }
        assert_eq!(Effort::ALL, [None, Minimal, Low, Medium, High, Xhigh, Max]);
    }
}
