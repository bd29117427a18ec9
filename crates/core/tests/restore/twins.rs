//! Answers that look the same.

use crate::cases::Talk;
use crate::vault::*;
use thinkthrough_core::decision::{Action, Why};
use thinkthrough_core::restore::Delivery;

/// A twin of the answer behind does not put in doubt what both of them were thought behind.
#[test]
fn a_twin_of_the_next_answer_leaves_what_was_sent() {
    let mut talk = Talk::new(SIGNED);
    talk.says(human("Hi"));
    talk.answers(vec![thought("first"), text("Hello")]);
    talk.says(human("And?"));
    let before = talk.truth.clone();
    talk.answers(vec![thought("second"), text("More.")]);
    let gone_on = std::mem::replace(&mut talk.truth, before);
    // The second request is asked again, and its answer looks the same; then the first is.
    talk.answers(vec![thought("twin of second"), text("More.")]);
    talk.truth.truncate(2);
    talk.answers(vec![thought("twin of first"), text("Hello")]);
    talk.truth = gone_on;
    let verdicts = talk.verdicts(&bare(&talk.truth));
    assert_eq!(verdicts, [Action::Restore; 2]);
    assert_eq!(talk.restored(&bare(&talk.truth))[2].blocks[0], thought("first"));
}

/// Two clients have the same conversation, word for word. One drops thoughts, the other sends their tickets back, so that
/// its answers hang on others: that puts nothing in doubt that went back to the first.
#[test]
fn a_twin_behind_a_ticket_leaves_what_was_sent_without_one() {
    let mut talk = Talk::new(SIGNED);
    talk.vault.signs = true;
    let mut echoed = talk.truth.clone();
    let question = human("Hi");
    talk.says(question.clone());
    talk.answers(vec![thought("first"), text("Hello")]);
    talk.says(human("And?"));
    talk.answers(vec![thought("second"), text("More.")]);
    talk.says(human("And then?"));
    let frame = talk.frame.clone();
    echoed.push(question);
    for (name, said, next) in [("its first", "Hello", "And?"), ("its second", "More.", "And then?")]
    {
        let answer = ai(vec![thought(name), text(said)]);
        let id = talk.vault.answered(&echoed, &frame, &answer, Delivery::Full).unwrap();
        echoed.extend([talk.vault.given(answer, &id), human(next)]);
    }
    let verdicts = talk.verdicts(&bare(&talk.truth));
    assert_eq!(verdicts, [Action::Restore; 2]);
    assert_eq!(talk.restored(&bare(&talk.truth))[2].blocks[0], thought("first"));
    let own = talk.restored(&echoed);
    assert_eq!(
        [&own[2].blocks[0], &own[4].blocks[0]],
        [&thought("its first"), &thought("its second")]
    );
}

/// The gateway that kept the second answer has a clock far behind that of the one that kept the first.
#[test]
fn what_an_answer_names_was_there_before_it_whatever_the_clocks_say() {
    let mut talk = Talk::new(SIGNED);
    talk.vault.clock = 1000;
    talk.says(human("Hi"));
    talk.answers(vec![thought("first"), text("Hello")]);
    talk.says(human("And?"));
    talk.vault.clock = 10;
    talk.answers(vec![thought("second"), text("More.")]);
    assert_eq!(talk.restored(&bare(&talk.truth)), talk.truth);
}

/// A bound thought of an answer that was broken off cannot go back; nor can that of the whole answer that looks like it,
/// because the client may have either.
#[test]
fn a_broken_off_answer_is_a_twin_too() {
    let mut talk = Talk::new(BOUND);
    talk.says(human("Hi"));
    talk.answers_as(vec![thought("stopped"), text("Hello")], Delivery::Stopped);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Miss(Why::Stopped)]);
    talk.truth.truncate(2);
    talk.answers(vec![thought("whole"), text("Hello")]);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Miss(Why::Stopped)]);
}

/// Two calls in one answer and two answers with one call each are one sequence of pieces where the results are the same.
#[test]
fn calls_one_after_the_other_are_not_those_of_a_parallel_answer() {
    let parallel = |ids: [&str; 2]| {
        vec![thought("both"), call(ids[0], "read", "{}"), call(ids[1], "read", "{}")]
    };
    let sequence = |ids: [&str; 2]| {
        ids.into_iter()
            .flat_map(|id| [ai(vec![call(id, "read", "{}")]), result(id, "file")])
            .collect::<Vec<_>>()
    };
    for (ids, others) in [
        (["call_A1b2C3d4E5x7", "call_F6g7H8i9J0x7"], ["call_K1l2M3n4O5x7", "call_P6q7R8s9T0x7"]),
        (["read:0", "read:1"], ["read:0", "read:0"]),
    ] {
        let mut talk = Talk::new(PLAIN);
        talk.says(human("Hi"));
        talk.answers(parallel(ids));
        talk.truth.pop();
        let mut sent = talk.truth.clone();
        sent.extend(sequence(others));
        let verdicts = talk.verdicts(&sent);
        assert_eq!(verdicts, [Action::Miss(Why::NoRecord); 2], "{ids:?}");
        sent.truncate(talk.truth.len());
        sent.extend(sequence(ids));
        let has_strong = ids[0].starts_with("call_");
        let missed = Action::Miss(Why::NoRecord);
        let split = if has_strong { [Action::Restore, Action::GoesOn] } else { [missed; 2] };
        assert_eq!(talk.verdicts(&sent), split, "{ids:?}");
        // Both happened, and the ids are the same: the history says which.
        talk.answers(vec![thought("one"), call(ids[0], "read", "{}")]);
        assert_eq!(talk.verdicts(&sent)[0], Action::Restore);
        talk.says(result(ids[0], "file"));
        talk.answers(vec![thought("two"), call(ids[1], "read", "{}")]);
        assert_eq!(talk.restored(&sent)[4].blocks[0], thought("two"), "{ids:?}");
    }
}

/// A client that splits an answer with two equal calls asks, at the first, like one that was given a single call. Its own
/// record was made before the head of the history became a summary, and a fork behind the summary has made the single one.
#[test]
fn the_first_of_split_calls_is_not_the_only_call_of_a_fork() {
    let ids = ["call_A1b2C3d4E5x7", "call_F6g7H8i9J0x7"];
    let mut talk = Talk::new(PLAIN);
    talk.says(human("Earlier."));
    talk.answers(vec![thought("early"), text("Then.")]);
    talk.says(human("Now look."));
    let answer = vec![thought("both"), call(ids[0], "read", "{}"), call(ids[1], "read", "{}")];
    talk.answers(answer);
    talk.truth = vec![system("You help."), human("Summary: much was said."), human("Now look.")];
    let mut split = talk.truth.clone();
    for id in ids {
        split.extend([ai(vec![call(id, "read", "{}")]), result(id, "file")]);
    }
    talk.answers(vec![thought("one"), call("call_K1l2M3n4O5x7", "read", "{}")]);
    assert_eq!(talk.verdicts(&split), [Action::Restore, Action::GoesOn]);
    // The fork's own history has its thought, also from a client that has ids of its own.
    talk.says(result("call_K1l2M3n4O5x7", "file"));
    let own = bare(&talk.truth);
    assert_eq!(talk.verdicts(&own), [Action::Restore]);
    assert_eq!(talk.verdicts(&split[..5]), [Action::Restore]);
}

/// A client that keeps its signed thoughts has its own, whatever a fork was thought that looks the same.
#[test]
fn a_kept_thought_is_not_taken_for_that_of_a_twin() {
    for contract in [SIGNED, TAILED] {
        let mut talk = Talk::new(contract);
        talk.says(human("Earlier."));
        talk.answers(vec![thought("early"), text("Then.")]);
        talk.says(human("Now look."));
        talk.answers(vec![thought("own"), text("Here.")]);
        let answer = talk.truth.pop();
        talk.truth = vec![system("You help."), human("Summary: said."), human("Now look.")];
        let mut kept = talk.truth.clone();
        kept.extend(answer);
        talk.answers(vec![thought("of the fork"), text("Here.")]);
        assert_eq!(talk.verdicts(&kept), [Action::Keep]);
        assert_eq!(talk.restored(&kept), kept);
        assert_eq!(talk.verdicts(&bare(&kept)), [Action::Restore]);
    }
}

/// Two calls of one answer, split by the client, and a fork behind the summary that made them one after the other: its
/// second call has an id that the client would have had to rename, and its first has not.
#[test]
fn another_id_is_that_of_another_answer() {
    let mut talk = Talk::new(SIGNED);
    talk.says(human("Earlier."));
    talk.answers(vec![thought("early"), text("Then.")]);
    talk.truth = vec![system("You help."), human("Summary: said."), human("Now look.")];
    let split = |ids: [&str; 2]| {
        let parts = ids.map(|id| [ai(vec![call(id, "read", "{}")]), result(id, "file")]);
        [talk.truth.clone(), parts.concat(), vec![human("Go on.")]].concat()
    };
    let (own, renamed) = (split(["read:0", "read:1"]), split(["a", "b"]));
    for name in ["one", "two"] {
        talk.answers(vec![thought(name), call("read:0", "read", "{}")]);
        talk.says(result("read:0", "file"));
    }
    talk.says(human("Go on."));
    talk.answers(vec![thought("three"), text("Done.")]);
    let missed = Action::Miss(Why::NoRecord);
    assert_eq!(talk.verdicts(&own), [Action::Restore, missed]);
    assert_eq!(talk.verdicts(&renamed), [missed; 2]);
    assert_eq!(talk.restored(&bare(&talk.truth)), talk.truth);
}

/// Two conversations with the same words, told apart by an id, of which records were lost: what is left of the one is
/// not put into the other.
#[test]
fn an_answer_that_hangs_on_nothing_known_hangs_on_no_other() {
    let mut talk = Talk::new(SIGNED);
    talk.says(human("Look."));
    let before = talk.truth.clone();
    let mut talks = Vec::new();
    for id in ["call_A1b2C3d4E5x7", "call_F6g7H8i9J0x7"] {
        talk.truth.clone_from(&before);
        let first = talk.answers(vec![thought(id), call(id, "read", "{}")]).unwrap();
        talk.says(result(id, "file"));
        if id.ends_with("J0x7") {
            talk.vault.records.remove(&first);
        }
        let last = talk.answers(vec![thought("done"), text("Done.")]).unwrap();
        if id.ends_with("E5x7") {
            talk.vault.records.remove(&last);
        }
        talk.says(human("And?"));
        talks.push(bare(&talk.truth));
    }
    let missed = Action::Miss(Why::NoRecord);
    assert_eq!(talk.verdicts(&talks[0]), [Action::Restore, missed]);
    assert_eq!(talk.verdicts(&talks[1]), [missed, Action::Restore]);
}

/// Calls at once, and the same calls one after the other with a later answer behind them that looks the same, of a
/// client that leaves out the thoughts of turns that are over.
#[test]
fn an_answer_behind_other_calls_is_not_the_latest_of_these() {
    let mut talk = Talk::new(PLAIN);
    talk.says(human("Look."));
    let before = talk.truth.clone();
    let read = |id: &str| call(id, "read", "{}");
    let answers = |talk: &mut Talk, blocks| {
        let answer = ai(blocks);
        talk.vault.answered(&talk.truth, &talk.frame, &answer, Delivery::Full).unwrap();
        talk.says(answer);
    };
    answers(&mut talk, vec![unsigned("at once"), read("read:0"), read("read:1")]);
    talk.says(result("read:0", "a"));
    talk.says(result("read:1", "b"));
    answers(&mut talk, vec![unsigned("own"), text("ok")]);
    let own = std::mem::replace(&mut talk.truth, before);
    for found in ["a", "b"] {
        answers(&mut talk, vec![unsigned(found), read("read:0")]);
        talk.says(result("read:0", found));
    }
    answers(&mut talk, vec![unsigned("of the other"), text("ok")]);
    for truth in [own, talk.truth.clone()] {
        assert_eq!(talk.restored(&bare(&truth)), truth);
    }
}

/// A server that nobody knows may make its ids of what is said: they look random, and say nothing about who is meant.
#[test]
fn an_id_of_an_unknown_endpoint_begins_no_history() {
    let mut talk = Talk::new(PLAIN);
    talk.vault.is_unlisted = true;
    let begin = talk.truth.clone();
    for (question, last) in [("Read one.", "first"), ("Read two.", "second")] {
        talk.truth.clone_from(&begin);
        talk.says(human(question));
        talk.answers(vec![thought("look"), call("call_A1b2C3d4E5x7", "read", "{}")]);
        talk.says(result("call_A1b2C3d4E5x7", "nothing here"));
        talk.answers(vec![thought(last), text("Done.")]);
    }
    assert_eq!(talk.restored(&bare(&talk.truth)), talk.truth);
    talk.vault.records.pop_last().unwrap();
    let missed = Action::Miss(Why::NoRecord);
    assert_eq!(talk.verdicts(&bare(&talk.truth)), [Action::Restore, missed]);
}

/// The answer behind says which one was meant when it was given. What looks alike since then changes nothing about it,
/// and does not stand in for it when it is gone.
#[test]
fn what_the_next_answer_names_is_that_record_or_none() {
    let mut talk = Talk::new(PLAIN);
    talk.says(human("Go on with 1."));
    let own = talk.answers(vec![thought("own"), text("Ok")]).unwrap();
    talk.says(human("List."));
    talk.answers(vec![thought("call"), call("call_A1b2C3d4E5x7", "read", "{}")]);
    talk.says(result("call_A1b2C3d4E5x7", "file"));
    let mut edited = bare(&talk.truth);
    edited[1] = human("Go on.");
    assert_eq!(talk.restored(&edited)[2].blocks[0], thought("own"));
    // Somebody else begins with what the message says now, and is answered alike.
    talk.truth.truncate(1);
    talk.says(human("Go on."));
    talk.answers(vec![thought("another"), text("Ok")]);
    assert_eq!(talk.verdicts(&edited), [Action::Restore; 2]);
    assert_eq!(talk.restored(&edited)[2].blocks[0], thought("own"));
    talk.vault.records.remove(&own);
    let missed = Action::Miss(Why::NoRecord);
    assert_eq!(talk.verdicts(&edited), [missed, Action::Restore]);
}
