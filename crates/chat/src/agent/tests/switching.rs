//! A conversation continues with any model, whichever models gave its answers.

use super::*;
use thinkthrough_conformance::list;
use thinkthrough_core::content::Block;
use thinkthrough_core::exchange::build;

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

/// The seals in a body.
fn seals(body: &str) -> usize {
    body.matches("\"signature\":").count()
}

#[tokio::test]
async fn a_thought_that_is_refused_costs_itself_alone_and_is_not_sent_again() {
    let (tools, mut conversation) = (toolbox(Script::default()), question());
    let asked = (Some(&tools), &Nobody as &dyn Approve);
    let stage = Stage::new("anthropic-omitted");
    stage.ask(asked, &mut conversation, &mut Notes::default()).await;
    let mut thoughts = conversation.iter_mut().flat_map(|content| &mut content.blocks);
    let first = thoughts.find_map(|block| match block {
        Block::Thinking(thinking) => thinking.signature.as_mut(),
        _ => None,
    });
    first.unwrap().replace_range(..8, "QWx0ZXJl");
    let all = |from: usize| stage.upstream.bodies.lock().unwrap()[from..].to_vec();
    for tries in [2, 1] {
        conversation.push(Content::text(Speaker::Human, "And what is 2 + 2?"));
        let before = all(0).len();
        let outcome = stage.ask((None, &Nobody), &mut conversation, &mut Notes::default()).await;
        assert_eq!(outcome.failure, None);
        let sent = all(before);
        assert_eq!(sent.len(), tries, "{sent:#?}");
        let last = sent.last().unwrap();
        assert!(!last.contains("QWx0ZXJl") && seals(last) > 0, "{last}");
        // The counted and explained request is the sent request.
        let contents = conversation[..conversation.len() - 1].to_vec();
        let request = Request { contents, stream: true, ..Request::default() };
        let built = build(&request, &stage.target, &stage.settings).body;
        assert_eq!(built == *last, tries == 1, "{built}\n{last}");
    }
    let marks: Vec<usize> = conversation.iter().map(|content| content.refused.len()).collect();
    assert_eq!(marks.iter().sum::<usize>(), 1, "{marks:?}");
}
