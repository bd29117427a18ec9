//! How much memory the process may have.

use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the memory that the system grants: the lowest limit of the process and its control groups; `None` without
/// a limit.
pub(crate) fn granted() -> Option<usize> {
    let own = [Resource::As, Resource::Data].map(|resource| getrlimit(resource).current);
    let group = fs::read_to_string("/proc/self/cgroup").ok();
    let groups = group.map(|text| files(&text, Path::new("/sys/fs/cgroup"))).unwrap_or_default();
    let groups = groups.iter().filter_map(|file| bytes(&fs::read_to_string(file).ok()?));
    own.into_iter().flatten().chain(groups).min().and_then(|bytes| usize::try_from(bytes).ok())
}

/// Returns the files that may hold a limit: of the group and of all its parents. A container sees its own group as
/// the outermost one.
fn files(groups: &str, root: &Path) -> Vec<PathBuf> {
    let named = |line: &str| {
        let (_, rest) = line.split_once(':')?;
        let (kinds, group) = rest.split_once(':')?;
        let (root, file) = match kinds {
            "" => (root.to_owned(), "memory.max"),
            _ if kinds.split(',').any(|kind| kind == "memory") => {
                (root.join("memory"), "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let group = root.join(group.trim_start_matches('/'));
        let all = group.ancestors().take_while(|group| group.starts_with(&root));
        Some(all.map(|group| group.join(file)).collect::<Vec<_>>())
    };
    groups.lines().filter_map(named).flatten().collect()
}

/// Parses a cgroup memory limit. Values above 2^60 mean "no limit" and give `None`.
fn bytes(text: &str) -> Option<u64> {
    text.trim().parse().ok().filter(|bytes| *bytes < 1 << 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_groups_of_both_versions_and_all_around_them_are_asked() {
        let found = |groups: &str| {
            let files = files(groups, Path::new("/g"));
            files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("0::/a/b\n"), ["/g/a/b/memory.max", "/g/a/memory.max", "/g/memory.max"]);
        assert_eq!(found("0::/\n"), ["/g/memory.max"]);
        assert_eq!(
            found("9:cpu,memory:/a\n8:pids:/a\n"),
            ["/g/memory/a/memory.limit_in_bytes", "/g/memory/memory.limit_in_bytes"]
        );
    }

    #[test]
    fn a_limit_is_a_number_that_a_machine_can_have() {
        assert_eq!(bytes("268435456\n"), Some(268_435_456));
        for none in ["max\n", "9223372036854771712\n", ""] {
            assert_eq!(bytes(none), None, "{none}");
        }
    }
}
