//! A change as a unified diff.

use crate::tools::permission::FileChange;
use similar::{Algorithm, TextDiff};
use std::time::Duration;

/// Lines around a change.
const CONTEXT: usize = 3;
/// After this time the diff becomes coarser.
const PATIENCE: Duration = Duration::from_millis(500);

impl FileChange {
    /// The change as a unified diff without a head. Empty if the texts are equal.
    #[must_use]
    pub fn diff(&self) -> String {
        let old = self.old.as_deref().unwrap_or_default();
        let diff = TextDiff::configure()
            .algorithm(Algorithm::Myers)
            .timeout(PATIENCE)
            .diff_lines(old, self.new.as_str());
        diff.unified_diff().context_radius(CONTEXT).to_string()
    }

    /// The numbers of added and removed lines.
    #[must_use]
    pub fn counts(&self) -> (usize, usize) {
        let diff = self.diff();
        let count = |mark: char| diff.lines().filter(|line| line.starts_with(mark)).count();
        (count('+'), count('-'))
    }
}
