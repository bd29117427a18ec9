//! Answers in progress.

use super::{Folder, answer, local, question, titled};
use proptest::prelude::*;
use thinkthrough_core::content::{
    Block, Content, Origin, Parameters, Speaker, Text, Thinking, ToolCall,
};
use thinkthrough_json::Extra;

on_each_database! {
    a_draft_that_nobody_finished_becomes_a_partial_message,
    a_finished_draft_leaves_the_answer_alone,
}

async fn a_draft_that_nobody_finished_becomes_a_partial_message(folder: Folder) {
    let origin = Origin { provider: "p".into(), model: "m".into(), ..Origin::default() };
    let id = {
        let conversations = local(&folder).await;
        let id = conversations.begin(&titled("t"), &[question("a")]).await.unwrap();
        let mut draft = conversations.draft(&id, Some(&origin)).await.unwrap();
        draft.record(&[Block::Thinking(Thinking::new("let", "thinking"))]).await.unwrap();
        draft.record(&[Block::Thinking(Thinking::new("let me see", "thinking"))]).await.unwrap();
        id
    };
    let conversations = local(&folder).await;
    let thinking = Thinking { partial: true, ..Thinking::new("let me see", "thinking") };
    let said = Content {
        origin: Some(origin),
        partial: true,
        ..Content::new(Speaker::Ai, vec![Block::Thinking(thinking)])
    };
    let whole = conversations.load(&id).await.unwrap();
    assert_eq!(
        (&whole.contents[..], &whole.drafts[..]),
        (&[question("a")][..], &[said.clone()][..])
    );
    let resumed = conversations.resume(&id).await.unwrap();
    assert_eq!((resumed.contents, resumed.drafts), (vec![question("a"), said.clone()], vec![]));
    let again = conversations.resume(&id).await.unwrap();
    assert_eq!(again.contents, [question("a"), said]);
}

async fn a_finished_draft_leaves_the_answer_alone(folder: Folder) {
    let conversations = local(&folder).await;
    let id = conversations.create(&titled("t")).await.unwrap();
    let mut draft = conversations.draft(&id, None).await.unwrap();
    draft.record(&[Block::text("be")]).await.unwrap();
    let mut other = conversations.draft(&id, None).await.unwrap();
    other.record(&[Block::text("other")]).await.unwrap();
    assert_eq!(draft.finish(&[answer("hm", "because")]).await, Ok(1));
    let whole = conversations.load(&id).await.unwrap();
    assert_eq!((whole.contents, whole.drafts.len()), (vec![answer("hm", "because")], 1));
    other.discard().await.unwrap();
    assert_eq!(conversations.load(&id).await.unwrap().drafts, []);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap()
}

/// A step in the life of an answer.
#[derive(Clone, Debug)]
enum Step {
    Push(Block),
    Grow(usize, String),
    Replace(usize, Block),
    Pop,
}

fn block() -> impl Strategy<Value = Block> {
    let signature = proptest::option::of("[a-z]{1,4}");
    prop_oneof![
        "\\PC{1,8}".prop_map(Block::text),
        ("\\PC{1,8}", signature.clone()).prop_map(|(text, signature)| {
            Block::Thinking(Thinking { signature, ..Thinking::new(text, "thinking") })
        }),
        ("\\PC{0,8}", signature).prop_map(|(text, signature)| {
            Block::ToolCall(ToolCall {
                id: Some("1".into()),
                name: "tool".into(),
                parameters: Parameters::Invalid(text),
                signature,
                extra: Extra::default(),
            })
        }),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => block().prop_map(Step::Push),
        6 => (0..4_usize, "\\PC{0,9}").prop_map(|(at, more)| Step::Grow(at, more)),
        1 => (0..4_usize, block()).prop_map(|(at, block)| Step::Replace(at, block)),
        1 => Just(Step::Pop),
    ]
}

fn take(blocks: &mut Vec<Block>, step: Step) {
    match step {
        Step::Push(block) => blocks.push(block),
        Step::Pop => drop(blocks.pop()),
        Step::Replace(at, block) => {
            if let Some(there) = blocks.get_mut(at) {
                *there = block;
            }
        }
        Step::Grow(at, more) => match blocks.get_mut(at) {
            Some(
                Block::Text(Text { text, .. }) | Block::Thinking(Thinking { thought: text, .. }),
            ) => {
                text.push_str(&more);
            }
            Some(Block::ToolCall(ToolCall { parameters: Parameters::Invalid(text), .. })) => {
                text.push_str(&more);
            }
            _ => {}
        },
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn however_an_answer_grows_what_was_recorded_last_is_there(
        steps in proptest::collection::vec(step(), 1..24),
    ) {
        let folder = Folder::new();
        runtime().block_on(async {
            let conversations = local(&folder).await;
            let id = conversations.create(&titled("t")).await.unwrap();
            let mut draft = conversations.draft(&id, None).await.unwrap();
            let mut blocks = Vec::new();
            for step in steps {
                take(&mut blocks, step);
                draft.record(&blocks).await.unwrap();
            }
            let found = conversations.load(&id).await.unwrap().drafts.pop();
            let mut found = found.map(|content| content.blocks).unwrap_or_default();
            if let (Some(Block::Thinking(last)), Some(Block::Thinking(kept))) =
                (found.last_mut(), blocks.last())
            {
                last.partial = kept.partial;
            }
            prop_assert_eq!(found, blocks);
            Ok(())
        })?;
    }
}

#[tokio::test]
async fn keeping_a_growing_answer_costs_what_it_grows_by() {
    let folder = Folder::new();
    let conversations = local(&folder).await;
    let id = conversations.create(&titled("t")).await.unwrap();
    let mut draft = conversations.draft(&id, None).await.unwrap();
    let mut thought = String::new();
    for _ in 0..1000 {
        thought.push_str(&"x".repeat(1000));
        let block = Block::Thinking(Thinking::new(thought.clone(), "thinking"));
        draft.record(&[block]).await.unwrap();
    }
    let whole = conversations.load(&id).await.unwrap();
    let kept: usize = whole.drafts[0].thoughts().map(|it| it.thought.len()).sum();
    assert_eq!(kept, 1_000_000);
    // Snapshots would be 500 MB.
    assert!(folder.bytes().len() < 24_000_000, "{} bytes", folder.bytes().len());
}
