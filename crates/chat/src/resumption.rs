//! The lines that every face prints when it continues a conversation.

use thinkthrough_core::content::Content;
use thinkthrough_core::decide;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::{Key, Resolved, Source};
use thinkthrough_store::ConversationState;

/// The lines of a face. They give the reason if the conversation's own model is `unreachable`, list the state that
/// was taken up again, and count the thoughts that the model in `answers` cannot read if it is another one.
#[must_use]
pub fn lines(
    state: &ConversationState,
    unreachable: Option<&str>,
    contents: &[Content],
    answers: (&str, &Target),
    settings: &Resolved,
) -> Vec<String> {
    let (model, target) = answers;
    let mut lines: Vec<String> = unreachable.map(str::to_owned).into_iter().collect();
    lines.extend(taken_up(state, model, settings));
    if state.model.as_deref().is_some_and(|held| held != model) {
        let count = decide::withheld(contents, target, settings);
        lines.extend((count > 0).then(|| withheld(count)));
    }
    lines
}

/// Lists the state that is in force again: `taken up: m, effort high, thought cap 4000, $0.12 so far`. Leaves out
/// each value that the command line overrides; `model` answers, and `settings` are in force.
fn taken_up(state: &ConversationState, model: &str, settings: &Resolved) -> Option<String> {
    let mut parts = Vec::new();
    parts.extend(state.model.iter().filter(|held| *held == model).cloned());
    for key in ConversationState::KEYS {
        let (value, source) = settings.get(key);
        if source == Source::Conversation {
            parts.push(worded(key, &value));
        }
    }
    parts.extend(state.cost.shown().map(|cost| format!("{cost} so far")));
    (!parts.is_empty()).then(|| format!("taken up: {}", parts.join(", ")))
}

fn worded(key: Key, value: &str) -> String {
    match (key, value) {
        (Key::Enabled, "false") => "thinking off".to_owned(),
        (Key::Enabled, _) => "thinking on".to_owned(),
        (Key::MaxTokens, _) => format!("thought cap {value}"),
        _ => format!("{} {value}", key.short()),
    }
}

/// The line for a model of the conversation that cannot be reached: the reason, and the model that answers instead.
#[must_use]
pub fn unreachable(held: &str, why: &str, instead: &str) -> String {
    format!(
        "the model of this conversation, `{held}`, cannot be reached ({why}); `{instead}` answers"
    )
}

/// The reason why `target` is not the model that the conversation calls `held`, if that name was `provider/model` of
/// an earlier answer and now leads to another provider. With one provider left, every unknown name leads to it.
#[must_use]
pub fn lost_provider(held: &str, contents: &[Content], target: &Target) -> Option<String> {
    let mut origins = contents.iter().rev().filter_map(|content| content.origin.as_ref());
    let origin = origins.find(|origin| format!("{}/{}", origin.provider, origin.model) == held)?;
    let provider = &origin.provider;
    (*provider != target.provider).then(|| format!("there is no provider `{provider}` any more"))
}

/// The line about thoughts that the current model cannot read, and the way to use them again.
#[must_use]
pub(crate) fn withheld(count: usize) -> String {
    match count {
        1 => "1 thought stays here, because only the model that thought it can read it; it is kept, and goes back if you \
              change back to that model"
            .to_owned(),
        _ => format!(
            "{count} thoughts stay here, because only the models that thought them can read them; they are kept, and go \
             back if you change back to those models"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{lost_provider, taken_up, withheld};
    use thinkthrough_core::content::{Content, Speaker};
    use thinkthrough_core::provider::Target;
    use thinkthrough_core::settings::{Layer, Partial, Source, resolve};
    use thinkthrough_store::{ConversationState, Cost};

    fn partial(said: &[(&str, &str)]) -> Partial {
        let mut partial = Partial::default();
        for (key, value) in said {
            partial.set(key, value).unwrap();
        }
        partial
    }

    #[test]
    fn a_name_that_now_leads_to_another_provider_is_lost() {
        let of = |provider: &str, model: &str| {
            let target = Target::built_in("openai-compatible", None, model).unwrap();
            Target { provider: provider.to_owned(), ..target }
        };
        let origin = Some(of("own", "m").origin(None));
        let said = [Content { origin, ..Content::text(Speaker::Ai, "fine") }];
        let lost = Some("there is no provider `own` any more".to_owned());
        for (held, target, expected) in [
            ("own/m", of("own", "m"), None),
            ("own/m", of("other", "own/m"), lost),
            // The name of an entry may lead elsewhere at any time.
            ("fast", of("other", "x"), None),
        ] {
            assert_eq!(lost_provider(held, &said, &target), expected, "{held}");
        }
    }

    #[test]
    fn one_sentence_says_how_many_thoughts_stay_and_what_brings_them_back() {
        let one = "1 thought stays here, because only the model that thought it can read it; it is kept, and goes back \
            if you change back to that model";
        let two = "2 thoughts stay here, because only the models that thought them can read them; they are kept, and \
            go back if you change back to those models";
        assert_eq!([withheld(1), withheld(2)], [one, two]);
    }

    #[test]
    fn one_line_names_what_was_taken_up_and_not_what_was_overridden() {
        let cost = Cost { micro: 120_000, is_partial: false };
        let all = [("effort", "high"), ("maxTokens", "4000")];
        let off = [("enabled", "false"), ("display", "collapsed")];
        let none = Cost::default();
        for (said, cost, flags, model, expected) in [
            (
                &all[..],
                cost,
                &[][..],
                "m",
                Some("taken up: m, effort high, thought cap 4000, $0.12 so far"),
            ),
            (&off, none, &[], "m", Some("taken up: m, thinking off, display collapsed")),
            (
                &all,
                cost,
                &[("effort", "low")],
                "other",
                Some("taken up: thought cap 4000, $0.12 so far"),
            ),
            (&[], none, &[], "other", None),
        ] {
            let state =
                ConversationState { model: Some("m".to_owned()), reasoning: partial(said), cost };
            let flags = Layer { source: Source::Session, values: partial(flags) };
            let settings = resolve(&[state.layer(), flags]);
            assert_eq!(taken_up(&state, model, &settings).as_deref(), expected);
        }
    }
}
