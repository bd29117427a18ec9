//! What stands of budgets in the database, and in a journal.

use thinkthrough_limits::Unheard;

/// What a ledger is to become.
#[derive(Clone, Debug)]
pub(crate) struct LedgerRow {
    pub(crate) tenant: String,
    pub(crate) name: String,
    /// What it was made of; 0: of nothing.
    pub(crate) version: i64,
    pub(crate) body: String,
    pub(crate) now: i64,
}

/// A holder of a slice, and what its ledger may not have heard of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SliceRow {
    pub(crate) tenant: String,
    /// The ledger's.
    pub(crate) name: String,
    pub(crate) holder: String,
    pub(crate) unheard: Unheard,
    /// Of two entries about one holder the one with the greater number is the later one.
    pub(crate) order: u64,
}
