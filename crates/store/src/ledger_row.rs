//! The rows of budgets in the database, and their entries in a journal.

use thinkthrough_limits::Unheard;

/// The new state of a ledger.
#[derive(Clone, Debug)]
pub(crate) struct LedgerRow {
    pub(crate) tenant: String,
    pub(crate) name: String,
    /// The version before the change, or 0 for a new ledger.
    pub(crate) version: i64,
    pub(crate) body: String,
    pub(crate) now: i64,
}

/// A holder of a lease, with the amount that its ledger may not know yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SliceRow {
    pub(crate) tenant: String,
    /// The name of the ledger.
    pub(crate) name: String,
    pub(crate) holder: String,
    pub(crate) unheard: Unheard,
    /// The later of two entries about one holder has the greater number.
    pub(crate) order: u64,
}
