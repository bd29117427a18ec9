//! The environment, as far as keys and addresses stand in it.

/// Reads the environment; tests pass their own.
pub(crate) type Lookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// A value that says something.
pub(crate) fn usable(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.trim().is_empty())
}
