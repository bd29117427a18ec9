//! The hard cases, one by one.

use crate::vault::*;
use thinkthrough_core::content::{Block, Content};
use thinkthrough_core::contract::Level;
use thinkthrough_core::decision::{Action, Counts, Why};
use thinkthrough_core::edit::{What, changed};
use thinkthrough_core::plane::Exact;
use thinkthrough_core::restore::{Delivery, Kept, Secret, ticket, weave};

/// A conversation under way: the truth with its thoughts, and the vault that saw it.
pub(crate) struct Talk {
    pub(crate) vault: Vault,
    pub(crate) frame: Frame,
    pub(crate) truth: Vec<Content>,
}

impl Talk {
    pub(crate) fn new(contract: thinkthrough_core::contract::Contract) -> Self {
        let frame = Frame { tools: vec![tool("read")], ..Frame::default() };
        Talk { vault: Vault::new(contract), frame, truth: vec![system("You help.")] }
    }

    pub(crate) fn says(&mut self, content: Content) {
        self.truth.push(content);
    }

    /// The model answers what a naive client sends.
    pub(crate) fn answers(&mut self, blocks: Vec<Block>) -> Option<String> {
        self.answers_as(blocks, Delivery::Full)
    }

    pub(crate) fn answers_as(&mut self, blocks: Vec<Block>, delivery: Delivery) -> Option<String> {
        let answer = ai(blocks);
        let sent = bare(&self.truth);
        let id = self.vault.answered(&sent, &self.frame, &answer, delivery);
        self.truth.push(answer);
        id
    }

    pub(crate) fn verdicts(&self, contents: &[Content]) -> Vec<Action> {
        let (_, _, plan) = self.vault.plan(contents, &self.frame);
        plan.iter().map(|outcome| outcome.action).collect()
    }

    /// What goes upstream for these messages.
    pub(crate) fn restored(&self, contents: &[Content]) -> Vec<Content> {
        let (question, heads, plan) = self.vault.plan(contents, &self.frame);
        let mut changes = Vec::new();
        for (step, outcome) in question.steps.iter().zip(&plan) {
            let kept = outcome.found().map(|found| {
                assert_eq!(heads[found.record].id, found.id);
                Kept::from_bytes(&self.vault.records[&found.id].1.to_bytes()).unwrap()
            });
            changes.extend(weave(contents, step, outcome.action, outcome.found(), kept.as_ref()));
        }
        changed(contents, &changes).into_owned()
    }
}

/// A tool loop of two rounds, under way.
pub(crate) fn tool_loop(contract: thinkthrough_core::contract::Contract) -> Talk {
    let mut talk = Talk::new(contract);
    talk.says(human("What is here?"));
    talk.answers(vec![
        thought("look"),
        text("Looking."),
        call("call_A1b2C3d4E5x7", "read", r#"{"a":1,"b":2}"#),
    ]);
    talk.says(result("call_A1b2C3d4E5x7", "file"));
    talk.answers(vec![thought("again"), call("call_F6g7H8i9J0x7", "read", "{}")]);
    talk.says(result("call_F6g7H8i9J0x7", "file"));
    talk
}

#[test]
fn a_naive_client_gets_its_thoughts_back_in_their_places() {
    for contract in [PLAIN, SIGNED, BOUND] {
        let talk = tool_loop(contract);
        assert_eq!(talk.restored(&bare(&talk.truth)), talk.truth);
        let (_, _, plan) = talk.vault.plan(&bare(&talk.truth), &talk.frame);
        assert_eq!((Counts::of(&plan).restored, Counts::of(&plan).missed), (2, 0));
        // A client that keeps them is asked nothing, and changed in nothing.
        assert_eq!(talk.restored(&talk.truth), talk.truth);
        assert_eq!(talk.verdicts(&talk.truth), [Action::Keep, Action::Keep]);
    }
}

/// Edge case 1: Kimi's ids begin again with every turn.
#[test]
fn ids_that_repeat_every_turn_are_no_keys() {
    let mut talk = Talk::new(PLAIN);
    for turn in ["one", "two", "three"] {
        talk.says(human("list it"));
        talk.answers(vec![thought(turn), call("list_dir:0", "list_dir", "{}")]);
        talk.says(result("list_dir:0", "a b c"));
        talk.answers(vec![thought(&format!("{turn} done")), text("ok")]);
    }
    assert_eq!(talk.restored(&bare(&talk.truth)), talk.truth);
}

/// Edge case 2: clients leave only letters, digits and `_-` of an id, cut it, and mark repetitions.
#[test]
fn sanitised_and_cut_ids_are_no_miss() {
    let mut talk = tool_loop(PLAIN);
    talk.says(human("And?"));
    let long = format!("call_{}", "k2".repeat(30));
    talk.answers(vec![thought("long"), call(&long, "read", "{}")]);
    talk.says(result(&long, "file"));
    let left = |id: &str| format!("{}_dup2", id.get(..40).unwrap_or(id));
    let mut sent = bare(&talk.truth);
    for content in &mut sent {
        for block in &mut content.blocks {
            match block {
                Block::ToolCall(call) => call.id = call.id.as_ref().map(|id| left(id)),
                Block::ToolResponse(it) => {
                    it.call_id = it.call_id.as_ref().map(|id| left(id));
                }
                _ => {}
            }
        }
    }
    assert_eq!(talk.verdicts(&sent), [Action::Restore; 3]);
}

/// Edge case 3: one message for each parallel call, its result behind it.
#[test]
fn split_parallel_calls_get_the_thought_once() {
    for contract in [PLAIN, SIGNED, BOUND] {
        let mut talk = Talk::new(contract);
        talk.says(human("both"));
        let calls = [
            call("call_A1b2C3d4E5x7", "read", r#"{"n":1}"#),
            call("call_F6g7H8i9J0x7", "read", r#"{"n":2}"#),
        ];
        talk.answers(vec![thought("both at once"), calls[0].clone(), calls[1].clone()]);
        talk.says(result("call_A1b2C3d4E5x7", "1"));
        talk.says(result("call_F6g7H8i9J0x7", "2"));
        talk.answers(vec![thought("and then"), text("done")]);
        let [one, two] = calls;
        let split = vec![
            talk.truth[0].clone(),
            talk.truth[1].clone(),
            ai(vec![one]),
            result("call_A1b2C3d4E5x7", "1"),
            ai(vec![two]),
            result("call_F6g7H8i9J0x7", "2"),
            ai(vec![text("done")]),
        ];
        assert_eq!(
            talk.verdicts(&split),
            [Action::Restore, Action::GoesOn, Action::Restore],
            "{contract:?}"
        );
        let sent = talk.restored(&split);
        assert!(matches!(&sent[2].blocks[0], Block::Thinking(it) if it.thought == "both at once"));
        assert_eq!(sent[4].blocks.len(), 1);
        // Its first call alone is still that answer.
        let lone = [&split[..4], &[human("stop")]].concat();
        assert_eq!(talk.verdicts(&lone), [Action::Restore]);
    }
}

/// Edge case 5.
#[test]
fn re_encoded_content_is_the_same() {
    let talk = tool_loop(SIGNED);
    let mut sent = bare(&talk.truth);
    sent[2].blocks[0] = text("Looking.\n\n");
    sent[2].blocks[1] = call("call_A1b2C3d4E5x7", "read", "{ \"b\": 2, \"a\": 1.0 }");
    sent[4].blocks.insert(0, text(""));
    assert_eq!(talk.verdicts(&sent), [Action::Restore; 2]);
    // Clients drop arguments and clear them: the id says which answer it is.
    sent[2].blocks[1] = call("call_A1b2C3d4E5x7", "read", r#"{"a":1}"#);
    assert_eq!(talk.verdicts(&sent), [Action::Restore; 2]);
    sent[2].blocks[1] = call("call_A1b2C3d4E5x7", "write", r#"{"a":1}"#);
    assert_eq!(talk.verdicts(&sent), [Action::Miss(Why::NoRecord), Action::Restore]);
}

/// Edge case 6: two branches with their own thoughts, side by side.
#[test]
fn forks_coexist() {
    let mut talk = tool_loop(SIGNED);
    let fork = talk.truth.clone();
    talk.answers(vec![thought("left"), text("left")]);
    let left = std::mem::replace(&mut talk.truth, fork);
    talk.answers(vec![thought("right"), text("right")]);
    for branch in [left, talk.truth.clone()] {
        assert_eq!(talk.restored(&bare(&branch)), branch);
    }
}

/// Edge case 7: the head is replaced by a summary.
#[test]
fn a_compacted_history_finds_the_turn_under_way() {
    let mut talk = Talk::new(TAILED);
    talk.says(human("Earlier."));
    talk.answers(vec![thought("early"), text("Then.")]);
    talk.says(human("Now look."));
    talk.answers(vec![thought("now"), call("call_A1b2C3d4E5x7", "read", "{}")]);
    talk.says(result("call_A1b2C3d4E5x7", "file"));
    let mut compacted = vec![system("You help."), human("Summary: much was said.")];
    compacted.extend_from_slice(&bare(&talk.truth)[3..]);
    assert_eq!(talk.verdicts(&compacted), [Action::Restore]);
    talk.frame.tools = vec![tool("other")];
    assert_eq!(talk.verdicts(&compacted), [Action::Restore]);
    // What is bound to all that stood before it cannot go back.
    talk.vault.contract = BOUND;
    assert_eq!(talk.verdicts(&compacted), [Action::Drop(Why::Changed)]);
}

/// Edge case 9: the same request twice gives two thoughts with one visible answer.
#[test]
fn of_twins_the_first_goes_back_for_ever() {
    for contract in [PLAIN, SIGNED, BOUND] {
        let mut talk = Talk::new(contract);
        talk.says(human("Hi"));
        let before = talk.truth.clone();
        for name in ["first", "second"] {
            talk.truth.clone_from(&before);
            talk.answers(vec![thought(name), text("Hello")]);
        }
        talk.says(human("And?"));
        let first = &talk.restored(&bare(&talk.truth))[2].blocks[0];
        assert_eq!(*first, thought("first"), "{contract:?}");
        // Answers of two models that look the same are no twins.
        talk.truth.clone_from(&before);
        talk.vault.origin.model = "another".into();
        talk.answers(vec![thought("third"), text("Hello")]);
        assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Ambiguous(2)], "{contract:?}");
    }
}

/// A client shows the thought in the text: it is known which of two answers it has.
#[test]
fn a_copy_that_is_shown_tells_answers_apart() {
    for (open, close) in [
        ("<think>", "</think>\n"),
        ("<details open><summary>Thought for 5 s</summary>\n\n", "\n</details>\n"),
        ("&lt;think&gt;", "&lt;/think&gt;"),
    ] {
        let mut talk = Talk::new(PLAIN);
        talk.says(human("Hi"));
        let before = talk.truth.clone();
        for name in ["A", "B"] {
            talk.truth.clone_from(&before);
            talk.answers(vec![thought(name), text("Done.")]);
        }
        for name in ["A", "B"] {
            talk.truth.clone_from(&before);
            talk.says(ai(vec![text(&format!("{open}{name}{close}Done."))]));
            let restored = talk.restored(&talk.truth);
            assert_eq!(restored[2].blocks, [thought(name), text("Done.")], "{open}");
        }
        talk.truth.clone_from(&before);
        talk.says(ai(vec![text(&format!("{open}C{close}Done."))]));
        assert_eq!(talk.verdicts(&talk.truth), [Action::Miss(Why::NoRecord)], "{open}");
    }
    // The copy is what the model said.
    let mut talk = Talk::new(PLAIN);
    talk.says(human("Hi"));
    let before = talk.truth.clone();
    for name in ["A", "B"] {
        talk.truth.clone_from(&before);
        talk.answers(vec![thought(name), text(&format!("<details>..{name}</details> Done."))]);
    }
    talk.truth.clone_from(&before);
    talk.answers(vec![thought("again"), text("<details>..A</details> Done.")]);
    let restored = talk.restored(&bare(&talk.truth));
    assert_eq!(restored[2].blocks[0], thought("A"));
}

/// Edge case 11.
#[test]
fn what_was_cut_off_is_not_kept() {
    let mut talk = Talk::new(PLAIN);
    talk.says(human("Hi"));
    assert_eq!(talk.answers_as(vec![thought("half"), text("Hel")], Delivery::Cut), None);
    talk.truth.pop();
    // Stopped by the caller: what was complete comes back with the visible part that was delivered, and with no other.
    talk.answers_as(vec![thought("whole"), text("Hel")], Delivery::Stopped);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Restore]);
    let mut edited = bare(&talk.truth);
    edited[2] = ai(vec![text("Hello")]);
    assert_eq!(talk.verdicts(&edited), [Action::Miss(Why::NoRecord)]);
    talk.vault.contract = BOUND;
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Miss(Why::Stopped)]);
    // Also where an id says which answer it is.
    let mut talk = Talk::new(PLAIN);
    talk.says(human("Look."));
    let stopped = vec![thought("whole"), text("Hel"), call("call_A1b2C3d4E5x7", "read", "{}")];
    talk.answers_as(stopped, Delivery::Stopped);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Restore]);
    talk.truth[2].blocks[1] = text("Hello");
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Miss(Why::Stopped)]);
}

/// Edge case 13.
#[test]
fn foreign_thoughts_are_withheld_and_come_back_at_home() {
    let mut talk = tool_loop(SIGNED);
    let home = talk.vault.origin.clone();
    talk.vault.origin.endpoint = "https://elsewhere.example".into();
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Withhold; 2]);
    talk.answers(vec![thought("elsewhere"), text("ok")]);
    talk.says(human("Go on."));
    talk.vault.origin = home;
    let foreign = Action::Withhold;
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Restore, Action::Restore, foreign]);
}

/// Edge case 14: a helper call with thinking off neither gets thoughts nor loses the branch.
#[test]
fn a_call_without_thinking_keeps_the_branch() {
    let mut talk = tool_loop(BOUND);
    talk.vault.is_thinking = false;
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Strip; 2]);
    let helper = talk.answers(vec![text("A title")]).unwrap();
    let (head, _) = &talk.vault.records[&helper];
    assert!(
        matches!(&head.parent, thinkthrough_core::restore::Link::Record(id) if id == "r000002")
    );
    talk.vault.is_thinking = true;
    talk.says(human("Go on."));
    let expected = [Action::Restore, Action::Restore, Action::Empty];
    assert_eq!(talk.verdicts(&bare(&talk.truth)), expected);
}

/// Edge case 16: a look-up that failed decides for its own request alone.
#[test]
fn a_late_record_is_put_back_once_it_is_there() {
    let mut talk = tool_loop(PLAIN);
    // The second record arrives only after the request behind it went out.
    let late = talk.vault.records.pop_last().unwrap();
    talk.answers(vec![thought("third"), call("call_K1l2M3n4O5x7", "read", "{}")]);
    talk.says(result("call_K1l2M3n4O5x7", "file"));
    let missed = Action::Miss(Why::NoRecord);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Restore, missed, Action::Restore]);
    talk.vault.records.insert(late.0, late.1);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Restore; 3]);
}

/// Edge case 18: tenants share nothing.
#[test]
fn another_tenant_finds_nothing() {
    let mut talk = tool_loop(PLAIN);
    talk.vault.secret = Secret::new([8; 32]);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Miss(Why::NoRecord); 2]);
}

/// A gap in the chain ends it: what stands before the gap is left out, never something in the middle.
#[test]
fn a_bound_chain_has_no_gap() {
    let mut talk = tool_loop(BOUND);
    talk.answers(vec![thought("third"), text("ok")]);
    talk.says(human("Go on."));
    talk.answers(vec![thought("fourth"), text("fine")]);
    talk.says(human("And?"));
    let lost = talk.vault.records.remove("r000002").unwrap();
    let verdicts = talk.verdicts(&bare(&talk.truth));
    let (missed, gap) = (Action::Miss(Why::NoRecord), Action::Drop(Why::Gap));
    assert_eq!(verdicts, [gap, missed, Action::Restore, Action::Restore]);
    talk.vault.records.insert("r000002".into(), lost);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Restore; 4]);
    // Another system message: nothing may go back.
    let mut changed = bare(&talk.truth);
    changed[0] = system("You help. It is noon.");
    assert_eq!(talk.verdicts(&changed), [Action::Drop(Why::Changed); 4]);
    // On contracts that are not bound, the ids say that it is the same answer.
    talk.vault.contract = SIGNED;
    assert_eq!(talk.verdicts(&changed)[..2], [Action::Restore; 2]);
}

#[test]
fn tickets_lead_back_to_the_provider_own_ids() {
    let mut talk = Talk::new(TICKETS);
    talk.says(human("list"));
    let id = talk.answers(vec![thought("t"), call("functions.list:0", "list", "{}")]).unwrap();
    let minted = ticket::mint(&talk.vault.secret, &id, 0, form("chat-completions"));
    let sent = |arguments: &str| {
        vec![
            system("Another head."),
            human("and another question"),
            ai(vec![call(&minted, "list", arguments)]),
            result(&minted, "a"),
        ]
    };
    talk.frame.tools.clear();
    let upstream = talk.restored(&sent("{}"));
    assert!(matches!(&upstream[2].blocks[0], Block::Thinking(it) if it.thought == "t"));
    assert!(
        matches!(&upstream[2].blocks[1], Block::ToolCall(it) if it.id.as_deref() == Some("functions.list:0"))
    );
    assert!(
        matches!(&upstream[3].blocks[0], Block::ToolResponse(it) if it.call_id.as_deref() == Some("functions.list:0"))
    );
    // Clients leave out arguments; the ticket says which call it is.
    assert_eq!(talk.verdicts(&sent(r#"{"x":1}"#)), [Action::Restore]);
}

/// A client clears old results, adds a reminder, and has a clock in its system message.
#[test]
fn what_clients_change_in_their_own_messages_says_nothing() {
    for contract in [PLAIN, SIGNED] {
        let mut talk = tool_loop(contract);
        talk.truth[0] = system("You help. It is 10:00.");
        talk.answers(vec![thought("words"), text("Here it is.")]);
        talk.says(human("And?"));
        talk.answers(vec![thought("third"), call("call_K1l2M3n4O5x7", "read", "{}")]);
        talk.says(result("call_K1l2M3n4O5x7", "file"));
        let mut sent = bare(&talk.truth);
        sent[0] = system("You help. It is 10:01.");
        sent[1] = human("What is here?\n<reminder>Be brief.</reminder>");
        sent[3] = result("call_A1b2C3d4E5x7", "[Old tool result content cleared]");
        sent[5] = result("call_F6g7H8i9J0x7", "[Old tool result content cleared]");
        sent[7] = human("And?\n<reminder>Be brief.</reminder>");
        // The words are found by the answer behind them alone.
        assert_eq!(talk.verdicts(&sent), [Action::Restore; 4], "{contract:?}");
        assert_eq!(talk.restored(&sent)[6].blocks[0], thought("words"));
        let missed = Action::Miss(Why::NoRecord);
        talk.vault.contract.level = Level::History;
        assert_eq!(talk.verdicts(&sent)[2..], [missed, Action::Restore], "{contract:?}");
        assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Restore; 4], "{contract:?}");
        talk.vault.contract.level = Level::Anchor;
        assert_eq!(talk.verdicts(&bare(&talk.truth))[2..], [missed, Action::Restore]);
    }
}

/// Faults of the first design: another's thought in the place of one whose record is gone.
#[test]
fn an_id_that_nobody_knows_is_of_an_answer_that_nobody_has() {
    for contract in [PLAIN, SIGNED, BOUND] {
        let mut talk = Talk::new(contract);
        talk.says(human("Hi"));
        let before = talk.truth.clone();
        for at in 0..100 {
            talk.truth.clone_from(&before);
            let id = format!("call_00_{at:04}aBcDeFgHiJkLmNoPqR");
            talk.answers(vec![thought(&id), call(&id, "read", "{}")]);
            talk.says(result(&id, "file"));
            let restored = talk.restored(&bare(&talk.truth));
            assert_eq!(restored, talk.truth, "{contract:?}");
        }
        talk.vault.records.pop_last().unwrap();
        let missed = Action::Miss(Why::NoRecord);
        assert_eq!(talk.verdicts(&bare(&talk.truth)), [missed], "{contract:?}");
    }
}

#[test]
fn what_goes_back_is_the_same_for_ever() {
    let talk = tool_loop(SIGNED);
    let first = talk.restored(&bare(&talk.truth[..4]));
    let later = talk.restored(&bare(&talk.truth));
    assert_eq!(later[..4], first[..]);
}

#[test]
fn several_thoughts_keep_their_places() {
    let mut talk = Talk::new(SIGNED);
    talk.says(human("both"));
    let answer = vec![
        thought("one"),
        text("First."),
        thought("two"),
        call("call_A1b2C3d4E5x7", "read", "{}"),
        thought("three"),
        call("call_F6g7H8i9J0x7", "read", "{}"),
    ];
    talk.answers(answer);
    talk.says(result("call_A1b2C3d4E5x7", "1"));
    talk.says(result("call_F6g7H8i9J0x7", "2"));
    let sent = bare(&talk.truth);
    assert_eq!(talk.restored(&sent), talk.truth);
    // The text in two pieces: places are known by the calls.
    let mut cut = sent.clone();
    cut[2].blocks[0] = text("Fir");
    cut[2].blocks.insert(1, text("st."));
    let restored = talk.restored(&cut);
    let thoughts: Vec<_> = restored[2]
        .blocks
        .iter()
        .map(|block| match block {
            Block::Thinking(it) => it.thought.as_str(),
            Block::ToolCall(_) => "call",
            _ => "text",
        })
        .collect();
    assert_eq!(thoughts, ["one", "two", "text", "text", "call", "three", "call"]);
    let (question, _, plan) = talk.vault.plan(&sent, &talk.frame);
    let kept = &talk.vault.records["r000001"].1;
    let changes = weave(&sent, &question.steps[0], plan[0].action, plan[0].found(), Some(kept));
    assert!(changes.iter().all(|change| matches!(change.what, What::Insert(_))));
}
