//! The surroundings of the program: keys and addresses in variables, servers on this machine, and who asks.

/// Reads the environment; tests pass their own.
pub(crate) type Lookup<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// A model that a local server lists, with its provider.
pub(crate) type Served = (&'static str, String);

/// Surroundings that decide about a model besides the configuration.
#[derive(Clone, Copy)]
pub(crate) struct Environment<'a> {
    pub(crate) variables: Lookup<'a>,
    /// The models that local servers list.
    pub(crate) served: &'a [Served],
    /// The caller has a key of its own for any provider, or sends no request without one.
    pub(crate) brings_key: bool,
    /// Names that coding agents send by habit lead to the default model although no file names one.
    pub(crate) has_habits: bool,
}

/// A value that says something.
pub(crate) fn usable(value: Option<String>) -> Option<String> {
    value.filter(|value| !value.trim().is_empty())
}
