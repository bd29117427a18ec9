//! The gateway over real sockets, between naive clients and strict simulated upstreams.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "everything here is a test"
)]

mod agents;
mod breaking;
mod bursts;
mod disconnect;
mod edges;
mod faults;
mod fragments;
mod hosted;
mod http2;
mod loops;
mod memory;
mod naive;
mod named;
mod no_answers;
mod odd_answers;
mod own_seals;
mod poisoned;
mod repairs;
mod tickets;
mod town;
mod upstreams;
mod waiting;
mod windows;
