//! Finds the equal elements of two lists: the longest common subsequence.

/// Lists between whose common beginning and end this many pairs could be, and no more, are compared one by one.
const CELLS: usize = 1 << 18;

/// The indices of elements that both lists have, in the order of both: as many as can be. If the lists are too long
/// for that, only the elements at both ends.
pub(super) fn pairs<T: PartialEq>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    let same = |(old, new): &(&T, &T)| old == new;
    let first = old.iter().zip(new).take_while(same).count();
    let room = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(room).take_while(same).count();
    let (old_end, new_end) = (old.len() - last, new.len() - last);
    let between = (old.get(first..old_end), new.get(first..new_end));
    let between = between_ends(between.0.unwrap_or_default(), between.1.unwrap_or_default());
    let between = between.into_iter().map(|(one, other)| (first + one, first + other));
    let ends = ((0..first).zip(0..), (old_end..old.len()).zip(new_end..));
    ends.0.chain(between).chain(ends.1).collect()
}

fn between_ends<T: PartialEq>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    if old.is_empty() || new.is_empty() || old.len().saturating_mul(new.len()) > CELLS {
        return Vec::new();
    }
    // For each place in both lists how many pairs are ahead of it; one row for each element of the old one.
    let mut ahead: Vec<Vec<usize>> = vec![vec![0; new.len() + 1]];
    for one in old.iter().rev() {
        let below = ahead.last().map(Vec::as_slice).unwrap_or_default();
        let mut row = vec![0; new.len() + 1];
        let mut best = 0;
        for ((other, pair), cell) in new.iter().zip(below.windows(2)).zip(&mut row).rev() {
            let [straight, across] = *pair else { continue };
            best = if one == other { across + 1 } else { straight.max(best) };
            *cell = best;
        }
        ahead.push(row);
    }
    ahead.reverse();
    let count = |at: usize, other: usize| ahead.get(at).and_then(|row| row.get(other)).copied();
    let (mut pairs, mut at, mut other) = (Vec::new(), 0, 0);
    while let (Some(one), Some(two)) = (old.get(at), new.get(other)) {
        if one == two {
            pairs.push((at, other));
            (at, other) = (at + 1, other + 1);
        } else if count(at + 1, other) >= count(at, other + 1) {
            at += 1;
        } else {
            other += 1;
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_lists_that_are_too_long_the_ends_are_found() {
        let old: Vec<usize> = (0..2_000).collect();
        let mut new = old.clone();
        new.insert(1_990, 7_000);
        new.insert(10, 7_000);
        let pairs = pairs(&old, &new);
        assert_eq!(pairs.len(), 20);
        assert_eq!((pairs.first(), pairs.last()), (Some(&(0, 0)), Some(&(1_999, 2_001))));
    }

    proptest! {
        /// Pairs are equal, and in the order of both lists. Added elements leave all others unchanged, and so do
        /// removed ones.
        #[test]
        fn what_is_put_in_changes_nothing_else(
            old in prop::collection::vec(0_u8..4, 0..40),
            put_in in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..6), 0..12),
        ) {
            let mut new = old.clone();
            for (at, it) in put_in {
                new.insert(at.index(new.len() + 1), it);
            }
            for (one, other) in [(&old, &new), (&new, &old)] {
                let pairs = pairs(one, other);
                prop_assert_eq!(pairs.len(), old.len());
                prop_assert!(pairs.iter().all(|(at, to)| one[*at] == other[*to]));
                prop_assert!(pairs.windows(2).all(|it| it[0].0 < it[1].0 && it[0].1 < it[1].1));
            }
        }
    }
}
