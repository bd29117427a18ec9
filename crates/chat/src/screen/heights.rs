//! The heights of entries and their running sums, which stay up to date while single heights change.

/// Heights with their running sums (a Fenwick tree). A change and a sum each cost the logarithm of the number of
/// heights.
#[derive(Debug, Default)]
pub(super) struct Heights {
    heights: Vec<usize>,
    sums: Vec<usize>,
}

impl Heights {
    pub(super) fn clear(&mut self) {
        self.heights.clear();
        self.sums.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.heights.len()
    }

    pub(super) fn push(&mut self, height: usize) {
        self.heights.push(height);
        let end = self.heights.len();
        // The sum at `end` covers as many entries as the lowest set bit of `end`.
        let covered = end & end.wrapping_neg();
        let before = self.sum(end - 1) - self.sum(end - covered);
        self.sums.push(before + height);
    }

    pub(super) fn set(&mut self, at: usize, height: usize) {
        let Some(old) = self.heights.get_mut(at) else { return };
        let was = std::mem::replace(old, height);
        let mut end = at + 1;
        while let Some(sum) = self.sums.get_mut(end - 1) {
            *sum = *sum + height - was;
            end += end & end.wrapping_neg();
        }
    }

    /// The sum of the first `count` heights.
    pub(super) fn sum(&self, count: usize) -> usize {
        let (mut end, mut sum) = (count.min(self.sums.len()), 0);
        while let Some(at) = end.checked_sub(1) {
            sum += self.sums.get(at).copied().unwrap_or(0);
            end -= end & end.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::Heights;

    #[test]
    fn sums_are_those_of_a_list() {
        let (mut heights, mut list) = (Heights::default(), Vec::new());
        for at in 0..200 {
            heights.push(at * 7 % 11);
            list.push(at * 7 % 11);
            heights.set(at / 2, at);
            list[at / 2] = at;
            for count in 0..=list.len() {
                assert_eq!(heights.sum(count), list[..count].iter().sum::<usize>());
            }
        }
    }
}
