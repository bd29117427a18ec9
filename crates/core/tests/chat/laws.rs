//! Laws over random streams, and streams that once broke them.

#[path = "../laws/chat.rs"]
mod chat;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_short_way_says_what_the_long_way_says(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
        chat::the_short_way_says_what_the_long_way_says(&bytes);
    }

    #[test]
    fn blocks_are_numbered_as_they_appear(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
        chat::blocks_are_numbered_as_they_appear(&bytes);
    }

    #[test]
    fn written_streams_say_the_same(bytes in prop::collection::vec(any::<u8>(), 1..200)) {
        chat::written_streams_say_the_same(&bytes);
    }
}

#[test]
fn a_time_that_is_known_late_is_said() {
    let chunk = |beside: &str| {
        format!(
            r#"{{{beside},"choices":[{{"index":0,"delta":{{"reasoning_content":"hm"}},"finish_reason":null}}]}}"#
        )
    };
    let beside = [r#""n":1"#, r#""n":2"#, r#""created":0"#, r#""created":17"#, r#""created":18"#];
    chat::are_read_alike(&beside.map(chunk));
}
