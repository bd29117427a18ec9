//! The gateway: any client points its base URL here, picks any reasoning model, and nothing breaks.
//!
//! - [`serve`] takes requests on a listener and answers them; [`Running`] stops it in good order.
//! - [`preview`] returns the request that the gateway would send, and sends nothing.
//! - [`Models`] maps a model's name to its routes. The binary makes it from the configuration.
//!
//! A request on the wire that its model speaks is relayed byte for byte, apart from edits such as the model's name and
//! restored thoughts. On any other wire it goes through the neutral form, both ways. The answer's `x-thinkthrough`
//! header names each field that the other wire cannot express.

mod admission;
mod alike;
mod asking;
mod audit;
mod bus;
mod collector;
mod count;
mod door;
mod edge;
mod events;
mod expected;
mod first;
mod flow;
mod front;
mod gathered;
mod guests;
mod heard;
mod house;
mod identity;
mod keeping;
mod kept_responses;
mod keys;
#[cfg(test)]
mod laws;
mod learned;
mod leaving;
mod list;
mod listening;
mod load;
mod log;
mod mending;
mod metrics;
mod models;
mod names;
mod passage;
mod patient;
mod paying;
mod place;
mod pool;
mod preview;
mod process;
mod progress;
mod provider_resource;
mod raw;
mod raw_booking;
mod raw_spending;
mod read_only;
mod recall;
mod references;
mod refused;
mod relay;
mod reply;
mod respond;
mod saving;
mod sending;
mod server;
mod sharing;
mod spending;
mod spilling;
mod stored;
mod story;
mod stuck;
mod take;
mod tenant;
mod tls;
mod traced;
mod traces;
mod tries;
mod ui;
mod vault;
mod waits;
mod watched;
mod weight;
mod whole_events;

pub use audit::{Audit, FindTraces, TracesTo};
pub use edge::headers::may_forward;
pub use events::{Events, FindMasker};
pub use guests::Viewer;
pub use heard::{Covering, Heard};
pub use house::Options;
pub use keys::{Access, Keys, Looking, Pass};
pub use load::InFlight;
pub use log::{Log, LogForm};
pub use models::{Listed, Models, OnDisconnect, Route, Unrouted};
pub use pool::Pool;
pub use preview::{Preview, Unsent, preview};
pub use read_only::ReadOnly;
pub use server::{Running, serve};
pub use tls::Tls;
pub use traces::{SPANS, Traces};
pub use vault::{
    Facts, KeptResponses, Later, Ledgers, Looked, Lost, Owner, SharedPlaces, Soon, Spill, Vault,
    VaultError, Vaults,
};
