//! The limits on the cost of requests: requests and tokens in any minute, for each key and each provider, and the
//! reasoning tokens and dollars of a key's budgets.
//!
//! A request of a caller counts once at its key. At the provider each try counts: the first, a retry, a repair, a
//! fallback. Tokens are reserved as the most that is expected, and settled with the count that the answer reports.

mod allow;
mod bounds;
mod budget_leases;
mod bulk;
mod came;
mod charges;
mod demands;
mod denied;
mod gate;
mod limits;
mod meter;
mod money;
mod silence;
mod size;
mod window;

pub(crate) use allow::{Allowed, Asking};
pub(crate) use bounds::Bounds;
pub(crate) use budget_leases::BudgetLeases;
pub(crate) use came::{Came, text};
pub(crate) use charges::RequestCharges;
pub(crate) use gate::{LIMITED, seconds};
pub(crate) use limits::Limits;
pub(crate) use meter::{Meter, Metering};
pub(crate) use size::expected;
