//! The effort beside an answer: the one that its model was asked for.

use super::*;
use thinkthrough_core::settings::{Effort, Setting, Source as From};

const WITHOUT_THOUGHT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"4.\"},\
    \"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The effort of the answer's thought, and of the answer itself.
async fn efforts(is_on: bool, scripted: Option<&'static str>) -> [Option<String>; 2] {
    let mut stage = Stage::new("deepseek-v4");
    stage.settings.effort = Setting { value: Some(Effort::High), source: From::Session };
    stage.settings.enabled = Setting { value: is_on, source: From::Session };
    stage.upstream.scripted.lock().unwrap().extend(scripted);
    let asked = (None, &Nobody as &dyn Approve);
    let outcome = stage.ask(asked, &mut question(), &mut Notes::default()).await;
    let answer = outcome.added.first().unwrap();
    [answer.thoughts().next().and_then(|it| it.effort.clone()), answer.effort.clone()]
}

#[tokio::test]
async fn the_thought_has_the_effort_or_else_the_answer() {
    let high = Some("high".to_owned());
    assert_eq!(efforts(true, None).await, [high.clone(), None]);
    assert_eq!(efforts(true, Some(WITHOUT_THOUGHT)).await, [None, high]);
}

#[tokio::test]
async fn with_thinking_off_no_effort_is_asked_for_and_none_is_shown() {
    assert_eq!(efforts(false, None).await, [None, None]);
    assert_eq!(efforts(false, Some(WITHOUT_THOUGHT)).await, [None, None]);
}
