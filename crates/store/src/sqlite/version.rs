//! The releases of SQLite that may write a store.

use crate::error::StoreError;

/// Refuses a release that can damage a file.
pub(super) fn check(release: i32) -> Result<(), StoreError> {
    if is_sound(release) {
        return Ok(());
    }
    let (major, minor, patch) = (release / 1_000_000, release / 1_000 % 1_000, release % 1_000);
    Err(StoreError::OldSqlite(format!("{major}.{minor}.{patch}")))
}

/// Whether a release (3.51.2 is 3051002) keeps the writes of two connections.
///
/// From the first write-ahead log (3.7.0) on, a checkpoint could treat pages as moved that were not, if another
/// connection restarted the log meanwhile. The pages are lost, and the file is damaged. Fixed in 3.51.3, and in the
/// branches 3.44 and 3.50 with 3.44.6 and 3.50.7. Source: sqlite.org/wal.html, "The WAL-Reset Bug".
fn is_sound(release: i32) -> bool {
    matches!(release, 3_051_003..|3_050_007..3_051_000| 3_044_006..3_045_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::Sqlite;

    #[test]
    fn d_4_releases_that_lose_pages_are_known() {
        for (release, expected) in [
            (3_006_023, false),
            (3_007_000, false),
            (3_044_005, false),
            (3_044_006, true),
            (3_044_099, true),
            (3_045_000, false),
            (3_046_001, false),
            (3_050_004, false),
            (3_050_006, false),
            (3_050_007, true),
            (3_051_000, false),
            (3_051_002, false),
            (3_051_003, true),
            (3_053_000, true),
            (3_054_001, true),
            (4_000_000, true),
        ] {
            assert_eq!(is_sound(release), expected, "{release}");
        }
    }

    #[test]
    fn d_4_the_release_that_is_built_in_loses_none() {
        assert_eq!(check(rusqlite::version_number()), Ok(()));
    }

    #[test]
    fn d_4_no_store_is_opened_with_a_release_that_loses_pages() {
        let file = std::env::temp_dir().join(format!("think-release-{}.db", std::process::id()));
        let refused = Sqlite::open_with(&file, 3_051_002).err().unwrap().to_string();
        assert!(refused.contains("3.51.2") && refused.contains("3.51.3"), "{refused}");
        assert!(!file.exists(), "it was opened before");
    }
}
