//! Recorded conversations at a host of one's own: a `base_url` and a wire, and nothing else is known of it. What the model's
//! family says of its thoughts holds there, too.

use crate::conversation::{Told, tell};
use crate::recordings::cases;
use thinkthrough_core::content::{Block, Content};
use thinkthrough_core::exchange::build;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::Resolved;

/// What stands for nothing known, by wire.
const UNKNOWN: [(&str, &str); 2] =
    [("chat-completions", "openai-compatible"), ("messages", "anthropic-compatible")];

/// The conversation as if all of it had happened there; `None` where nothing is known of the model either.
fn moved(told: &Told<'_>) -> Option<(Target, Vec<Content>)> {
    let wire = told.case.wire.id();
    let (_, provider) = UNKNOWN.iter().find(|(id, _)| *id == wire)?;
    let mut target = Target::built_in(provider, Some(wire), &told.case.model).unwrap();
    "http://house.example/v1".clone_into(&mut target.base_url);
    let mut contents = told.request.contents.clone();
    for at in &told.answers {
        contents[*at].origin = Some(target.origin(None));
    }
    (!target.rule.contract.source.is_empty()).then_some((target, contents))
}

#[test]
fn what_a_family_says_of_its_thoughts_holds_at_a_host_of_ones_own() {
    let cases = cases();
    let (mut count, mut lost) = (0, Vec::new());
    for told in cases.iter().filter(|case| case.replay.is_some()) {
        let Some(told) = tell(told, &cases) else { continue };
        let Some((target, contents)) = moved(&told) else { continue };
        // OpenRouter's list of details is that host's form, whatever the model.
        let is_familys = |block: &Block| match block {
            Block::Thinking(it) => it.source_field != "reasoning_details",
            _ => false,
        };
        let has_thought = |at: &usize| told.request.contents[*at].blocks.iter().any(is_familys);
        let sent = |of: &Outgoing| {
            of.decisions.iter().filter(|it| it.block.is_some() && it.action.is_sent()).count()
        };
        let home = told.ours(&Resolved::default());
        if !told.answers.iter().any(has_thought) || sent(&home) == 0 {
            continue;
        }
        let house = build(&told.request.with_contents(contents), &target, &Resolved::default());
        count += 1;
        if sent(&house) < sent(&home) {
            let of = (sent(&house), sent(&home));
            lost.push(format!(
                "{} {} {:?} {}",
                told.case.id, told.case.model, of, target.rule_source
            ));
        }
    }
    println!("{count} continuations, {} lose thoughts: {lost:#?}", lost.len());
    assert!(cases.is_empty() || count >= 31, "{count}");
    assert!(lost.is_empty(), "{} of {count}: {lost:#?}", lost.len());
}
