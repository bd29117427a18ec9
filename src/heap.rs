//! That the process gives back the memory that a load took. Of the allocators, only that of glibc is told so.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What glibc's allocator is told. By itself it takes large pieces from its heaps as soon as one of that size was freed,
/// and keeps small ones for each thread; either keeps the end of a heap in use, and only from there does it give back.
const TUNABLES: &str = "glibc.malloc.mmap_threshold=131072:glibc.malloc.trim_threshold=131072:\
     glibc.malloc.tcache_count=0:glibc.malloc.mxfast=0";
/// Says that the program has been begun again: where it has capabilities of its own, the system takes the setting out.
const BEGUN: &str = "THINKTHROUGH_HEAP";

/// Begins the program again as the same process, with an allocator that gives back. Glibc reads its settings before
/// `main`, and its functions that change them later are not to be called without unsafe code.
pub(crate) fn give_back() {
    let Some(mut again) = again(&|name| env::var_os(name)) else {
        return;
    };
    let mut args = env::args_os();
    if let Some(name) = args.next() {
        again.arg0(name);
    }
    // Where it cannot be begun again, it serves all the same.
    drop(again.args(args).exec());
}

/// The program with its setting, unless it has one: whoever runs it may have chosen.
fn again(value: &dyn Fn(&str) -> Option<OsString>) -> Option<Command> {
    let chosen = [BEGUN, "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"];
    // An allocator that is put before the program is a choice as well.
    if chosen.iter().chain(&["LD_PRELOAD"]).any(|name| value(name).is_some()) {
        return None;
    }
    let mut tunables = value("GLIBC_TUNABLES").unwrap_or_default();
    if tunables.to_string_lossy().contains("glibc.malloc.") {
        return None;
    }
    if !tunables.is_empty() {
        tunables.push(":");
    }
    tunables.push(TUNABLES);
    let mut again = Command::new(env::current_exe().ok()?);
    again.env("GLIBC_TUNABLES", tunables).env(BEGUN, "1");
    Some(again)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tunables(set: &[(&str, &str)]) -> Option<String> {
        let value = |name: &str| set.iter().find(|it| it.0 == name).map(|it| it.1.into());
        let again = again(&value)?;
        let set = again.get_envs().find(|(name, _)| *name == "GLIBC_TUNABLES")?.1?;
        Some(set.to_str()?.to_owned())
    }

    #[test]
    fn it_is_begun_again_once_and_what_was_chosen_stays() {
        assert_eq!(tunables(&[]).as_deref(), Some(TUNABLES));
        let others = tunables(&[("GLIBC_TUNABLES", "glibc.pthread.rseq=0")]);
        assert_eq!(others, Some(format!("glibc.pthread.rseq=0:{TUNABLES}")));
        for chosen in [
            (BEGUN, "1"),
            ("GLIBC_TUNABLES", "glibc.malloc.arena_max=1"),
            ("LD_PRELOAD", "/usr/lib/libjemalloc.so.2"),
            ("MALLOC_ARENA_MAX", "2"),
        ] {
            assert_eq!(tunables(&[chosen]), None, "{chosen:?}");
        }
    }
}
