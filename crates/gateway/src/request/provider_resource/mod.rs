//! Provider resources: responses, items, conversations, files, batches, caches, and all other data that a provider
//! stores under an id.
//!
//! All callers of a gateway share its account at a provider, and the provider resolves any id of that account. This
//! module checks the ids of callers with a gateway key:
//!
//! 1. The gateway refuses an id of another tenant anywhere in the request.
//! 2. The gateway refuses an unknown id only at places where the API resolves ids. The wires list these places
//!    ([`Resources`](thinkthrough_core::wire::resource::Resources)). All other members belong to the client.
//!
//! The parts: [`request`] reads the ids of a request, [`path`] those of a path of the provider's own API, [`answer`]
//! the ids that an answer creates, [`tap`] watches an answer for them, and [`access`] decides.

mod access;
mod answer;
mod path;
mod request;
mod tap;

pub(crate) use access::Access;
pub(crate) use path::{Purpose, purpose};
pub(crate) use request::{Ids, check_id_choice};
pub(crate) use tap::Tap;
