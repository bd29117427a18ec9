//! Connections, and the file that lists the stages of a request ([`serve_request`]).

pub(crate) mod preview;
pub(crate) mod serve_request;
pub(crate) mod server;
pub(crate) mod sharing;
