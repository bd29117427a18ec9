//! The laws of the tag scanner, over random texts made of markers and pieces of them.

#[path = "laws/tags.rs"]
mod tags;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn any_split_gives_the_same_parts(bytes in prop::collection::vec(any::<u8>(), 4..80)) {
        tags::split_invariance(&bytes);
    }

    #[test]
    fn any_split_of_few_different_markers_gives_the_same_parts(
        head in prop::array::uniform4(any::<u8>()),
        body in prop::collection::vec(
            prop_oneof![128u8..140, 128u8..196, Just(b'a'), Just(b'`'), Just(b'\n'), Just(b'<'), Just(b'"')], 0..40),
    ) {
        tags::split_invariance(&[&head[..], &body[..]].concat());
    }
}
