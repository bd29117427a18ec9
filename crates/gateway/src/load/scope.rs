//! The scope of a limit on memory.

/// The scope of a limit that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    Key,
    Address,
}

impl Scope {
    pub(crate) const ALL: [Scope; 3] = [Scope::All, Scope::Key, Scope::Address];

    /// Its word in metrics.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Scope::All => "all",
            Scope::Key => "key",
            Scope::Address => "address",
        }
    }

    /// The key of `[server]` that sets the limit.
    pub(crate) fn setting(self) -> &'static str {
        match self {
            Scope::All => "max_bytes_in_flight",
            Scope::Key => "max_bytes_in_flight_per_key",
            Scope::Address => "max_bytes_in_flight_per_address",
        }
    }

    /// Its holder, for messages.
    pub(crate) fn whose(self) -> &'static str {
        match self {
            Scope::All => "the gateway",
            Scope::Key => "this key",
            Scope::Address => "this address",
        }
    }
}
