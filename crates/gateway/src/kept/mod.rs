//! Things that a provider keeps under ids: responses, items, conversations, files, batches, caches and more.
//!
//! All callers of a gateway share its account at a provider, and to the provider one id is as good as another. So for
//! callers with keys of the gateway an id goes upstream only if this gateway saw the provider give it to the same
//! tenant. Everything else is answered here as an id that nobody knows.
//!
//! - [`name`] has the kinds of things, and which members of a request name them.
//! - [`place`] has the collections in the paths of providers' own APIs.
//! - [`created`] has which members of an answer name a new thing.
//! - [`known`] is what this tenant's store knows.
//! - [`tap`] listens to an answer for new things.

mod created;
mod known;
mod name;
mod place;
mod tap;

pub(crate) use known::{Known, named_by};
pub(crate) use name::{Named, in_parameters, in_request};
pub(crate) use place::{Spot, spot};
pub(crate) use tap::Tap;
