//! A conversation goes on with any model, whoever gave its answers.

use super::*;
use thinkthrough_conformance::list;

#[tokio::test]
async fn every_simulator_goes_on_with_the_tool_loop_of_every_other_and_back() {
    let (tools, mut refused) = (toolbox(Script::default()), Vec::new());
    // Each provider that has rules of its own.
    let has_rules = |it: &thinkthrough_conformance::Listed| provider::find(it.provider).is_some();
    let ids: Vec<&str> = list().iter().filter(|it| has_rules(it)).map(|it| it.id).collect();
    for first in &ids {
        let mut begun = question();
        let asked = (Some(&tools), &Nobody as &dyn Approve);
        let outcome = Stage::new(first).ask(asked, &mut begun, &mut Notes::default()).await;
        assert_eq!(outcome.failure, None, "{first}");
        for second in ids.iter().filter(|second| *second != first) {
            let mut conversation = begun.clone();
            for next in [second, first] {
                conversation.push(Content::text(Speaker::Human, "Use beta once more."));
                let outcome =
                    Stage::new(next).ask(asked, &mut conversation, &mut Notes::default()).await;
                if let Some(failure) = outcome.failure {
                    refused.push(format!("{first} to {second}, at {next}: {}", failure.message));
                    break;
                }
            }
        }
    }
    let pairs = ids.len() * (ids.len() - 1);
    assert!(refused.is_empty(), "{} of {pairs}:\n{}", refused.len(), refused.join("\n"));
}
