//! Records of older gateways.

use crate::cases::Talk;
use crate::vault::*;
use thinkthrough_core::restore::{Key, Prefix, Version};

/// Such records have other digests of calls, and their keys of ids were added later.
#[test]
fn a_record_of_an_older_gateway_is_known_by_one_id_among_weak_ones() {
    let mut talk = Talk::new(PLAIN);
    talk.says(human("What is here?"));
    let calls = vec![
        thought("look"),
        call("call_A1b2C3d4E5x7", "read", "{}"),
        call("read:1", "read", r#"{"n":1}"#),
    ];
    let id = talk.answers(calls).unwrap();
    talk.says(result("call_A1b2C3d4E5x7", "file"));
    talk.says(result("read:1", "another"));
    let (head, _) = talk.vault.records.get_mut(&id).unwrap();
    head.version = Version::V1;
    let other = Key::stored([7; 32]);
    (head.keys.answered, head.prefix) = (other, Prefix::Head { system: other, tools: other });
    head.seen.calls.iter_mut().for_each(|call| call.digest = other);
    assert_eq!(talk.restored(&bare(&talk.truth)), talk.truth);
}
