//! What a provider's own reading makes of a body does not depend on how it is cut, dialect and tags included.

use crate::random::Random;
use crate::recordings::{Case, cases};
use thinkthrough_core::answer::Answer;
use thinkthrough_core::event::Fold;
use thinkthrough_core::provider::{self, Provider, ProviderReader};
use thinkthrough_core::tags::TagSpec;

/// Random partitions of each body.
const ROUNDS: usize = 20;

fn read<'b>(
    (provider, tags): (&'static Provider, Option<&str>),
    case: &Case,
    pieces: impl IntoIterator<Item = &'b [u8]>,
) -> Answer {
    let mut reader = ProviderReader::new(provider, Some(case.wire), tags.and_then(TagSpec::named));
    let mut fold = Fold::new();
    for piece in pieces {
        reader.push(piece, &mut fold);
    }
    reader.end(&mut fold);
    fold.finish()
}

#[test]
fn recorded_answers_by_provider_are_the_same_however_cut() {
    let (mut count, mut tagged) = (0, 0);
    for case in cases() {
        let Some(provider) = provider::find(&case.provider) else { continue };
        count += 1;
        check(&case, (provider, None));
        // Of some servers it is known only to their users that a model thinks between tags.
        if case.body.windows(6).any(|bytes| bytes == b"<think") {
            let answer = check(&case, (provider, Some("think")));
            tagged += usize::from(answer.into_content(None).thoughts().next().is_some());
        }
    }
    println!("{count} answers, {tagged} of them with thoughts between tags");
    assert!(count == 0 || tagged >= 5, "{tagged} recordings have tags");
}

fn check(case: &Case, how: (&'static Provider, Option<&str>)) -> Answer {
    let (id, body) = (&case.id, case.body.as_slice());
    let whole = read(how, case, [body]);
    assert_eq!(read(how, case, body.chunks(1)), whole, "{id}: one byte at a time");
    let mut random = Random(0xcafe);
    for round in 0..ROUNDS {
        let pieces = random.pieces(body);
        assert_eq!(read(how, case, pieces), whole, "{id}: random partition {round}");
    }
    whole
}
