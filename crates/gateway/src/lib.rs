//! The gateway: any client points its base URL here, picks any reasoning model, and nothing breaks.
//!
//! - [`serve`] takes requests on a listener and answers them; [`Running`] stops it in good order.
//! - [`preview`] returns the request that the gateway would send, and sends nothing.
//! - [`Models`] maps a model's name to its routes. The binary makes it from the configuration.
//!
//! A request on the wire that its model speaks is relayed byte for byte, apart from edits such as the model's name and
//! restored thoughts. On any other wire it goes through the neutral form, both ways. The answer's `x-thinkthrough`
//! header names each field that the other wire cannot express.

mod accept;
mod admin;
mod answer;
mod attempt;
mod credential;

mod identify;
#[cfg(test)]
mod laws;
mod load;
mod models;
mod names;
mod observe;
mod raw;
mod rejection;
mod relay;
mod request;
mod respond;
mod serve;
mod spending;
mod state;
mod store;
mod tls;

pub use identify::heard::{Covering, Heard};
pub use identify::keys::{Access, Keys, Looking, Pass};
pub use identify::sign_ins::Viewer;
pub use load::InFlight;
pub use models::pool::Pool;
pub use models::route::{Listed, Models, OnDisconnect, Route, Unrouted};
pub use observe::audit::{Audit, FindTraces, TracesTo};
pub use observe::events::{Events, FindMasker};
pub use observe::log::{Log, LogForm};
pub use observe::spans::{SPANS, Traces};
pub use request::edge::headers::may_forward;
pub use serve::preview::{Preview, Unsent, preview};
pub use serve::server::{Running, serve};
pub use state::Options;
pub use store::read_only::ReadOnly;
pub use store::vault::{
    Facts, KeptResponses, Later, Ledgers, Looked, Lost, Owner, SharedPlaces, Soon, Spill, Vault,
    VaultError, Vaults,
};
pub use tls::Tls;
