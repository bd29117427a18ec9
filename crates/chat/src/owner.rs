//! Decides whether another user owns a file.

/// The effective user of this process.
#[cfg(unix)]
#[must_use]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Root, because other systems report no owner of a file.
#[cfg(not(unix))]
#[must_use]
pub const fn effective_user() -> u32 {
    0
}

/// Returns true if the owner of a file is neither this user nor root.
///
/// To root, no owner is foreign: in a container, root is the only user, and files from outside belong to the user who
/// started it.
#[must_use]
pub const fn is_foreign(owner: u32, user: u32) -> bool {
    owner != user && owner != 0 && user != 0
}
