//! The planes that a thought lives on, kept apart by types.
//!
//! - The *wire*: untouched bytes on their way. Plain types.
//! - The *vault*: exact bytes under lock, for restoration only. [`Sealed`].
//! - *Traces*, logs and views: the data that people see. They take [`Masked`] only.
//!
//! Everything in vault and traces belongs to a [`Tenant`].

mod masked;
mod sealed;
mod tenant;

pub use masked::{Maskable, Masked, MaskedText, Unheard};
pub use sealed::{Exact, Open, Place, Seal, SealError, Sealed};
pub use tenant::{Tenant, TenantError};
