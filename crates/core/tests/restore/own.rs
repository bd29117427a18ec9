//! Edge case 12: what a client sends of thoughts itself.

use crate::cases::{Talk, tool_loop};
use crate::vault::*;
use thinkthrough_core::content::{Block, Thinking};
use thinkthrough_core::decision::Action;

#[test]
fn altered_thoughts_are_the_clients_where_plain_and_ours_where_signed() {
    let mut talk = tool_loop(PLAIN);
    let mut sent = talk.truth.clone();
    sent[2].blocks[0] = thought("edited");
    assert_eq!(talk.verdicts(&sent), [Action::Keep, Action::Keep]);
    assert_eq!(talk.restored(&sent), sent);
    talk.vault.contract = SIGNED;
    assert_eq!(talk.verdicts(&sent), [Action::Restore, Action::Keep]);
    assert_eq!(talk.restored(&sent), talk.truth);
    // Without ids that only this answer has, its seal says whose thought it is.
    let mut talk = Talk::new(SIGNED);
    talk.says(human("Hi"));
    talk.answers(vec![thought("first"), text("Hello")]);
    for (words, seal, verdict) in [
        ("edited", Some("sig:first"), Action::Restore),
        ("edited", None, Action::Restore),
        // Another seal may be genuine: whether it was damaged only the provider can say.
        ("edited", Some("edited"), Action::Keep),
        ("first", Some("edited"), Action::Keep),
        ("", Some("edited"), Action::Keep),
    ] {
        let mut sent = talk.truth.clone();
        sent[2].blocks[0] = Block::Thinking(Thinking {
            signature: seal.map(str::to_owned),
            ..Thinking::new(words, "thinking")
        });
        assert_eq!(talk.verdicts(&sent), [verdict], "{words} {seal:?}");
    }
}

/// Of several thoughts a client keeps one: that it is one of these says whose it is.
#[test]
fn a_part_of_what_was_sealed_gives_way_to_the_whole() {
    for sealed in [thought, wordless] {
        for contract in [SIGNED, BOUND] {
            let mut talk = Talk::new(contract);
            talk.says(human("Hi"));
            talk.answers(vec![sealed("first"), text("Hel"), sealed("second"), text("lo")]);
            talk.says(human("And?"));
            for kept in 0..4 {
                let mut sent = talk.truth.clone();
                let mut at = 0..;
                sent[2].blocks.retain(|block| {
                    let at = at.next().unwrap();
                    !matches!(block, Block::Thinking(_)) || at == kept
                });
                assert_eq!(talk.verdicts(&sent), [Action::Restore], "{kept} {contract:?}");
                assert_eq!(talk.restored(&sent), talk.truth, "{kept} {contract:?}");
            }
            // Together with one that is nowhere known it is another thought.
            let mut sent = talk.truth.clone();
            sent[2].blocks[2] = sealed("elsewhere");
            assert_eq!(talk.verdicts(&sent), [Action::Keep], "{contract:?}");
        }
    }
}

/// The SDK of google-genai for Python writes signatures in the alphabet for URLs, others leave out the padding.
#[test]
fn a_seal_in_other_letters_is_the_same_seal() {
    let mut talk = Talk::new(BOUND);
    talk.says(human("Hi"));
    let sealed = |seal: &str| {
        Block::Thinking(Thinking {
            signature: Some(seal.to_owned()),
            ..Thinking::new("", "thoughtSignature")
        })
    };
    talk.answers(vec![sealed("ab+/cd+/eQ=="), text("Hello")]);
    talk.says(human("And?"));
    for (seal, is_known) in [
        ("ab-_cd-_eQ==", true),
        ("ab-_cd-_eQ", true),
        ("ab+/cd+/eQ", true),
        ("ab+/cd+/fQ==", false),
    ] {
        let mut sent = talk.truth.clone();
        sent[2].blocks[0] = sealed(seal);
        let (_, _, plan) = talk.vault.plan(&sent, &talk.frame);
        let [outcome] = plan.as_slice() else { panic!("{plan:?}") };
        assert_eq!((outcome.action, outcome.found().is_some()), (Action::Keep, is_known), "{seal}");
    }
}

/// A filler is no thought.
#[test]
fn white_space_is_no_thought() {
    let talk = tool_loop(PLAIN);
    let mut sent = talk.truth.clone();
    sent[2].blocks[0] = unsigned(" ");
    assert_eq!(talk.restored(&sent), talk.truth);
}

/// Neither is a value that a model takes where a signature is missing.
#[test]
fn what_stands_for_a_signature_is_no_thought() {
    let mut talk = Talk::new(SIGNED);
    talk.says(human("Look."));
    talk.answers(vec![signed(call("", "read", "{}"), "genuine="), call("", "read", r#"{"n":1}"#)]);
    talk.says(result("", "file"));
    talk.says(result("", "another"));
    for filler in [
        "skip_thought_signature_validator",
        "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=",
        "context_engineering_is_the_way_to_go",
    ] {
        let mut sent = talk.truth.clone();
        sent[2].blocks = sent[2].blocks.drain(..).map(|call| signed(call, filler)).collect();
        assert_eq!(talk.verdicts(&sent), [Action::Restore], "{filler}");
        assert_eq!(talk.restored(&sent), talk.truth, "{filler}");
        // Beside the genuine one it says nothing.
        sent[2].blocks[0] = talk.truth[2].blocks[0].clone();
        assert_eq!(talk.verdicts(&sent), [Action::Keep], "{filler}");
        assert_eq!(talk.restored(&sent), sent, "{filler}");
    }
}
