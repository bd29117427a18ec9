//! Endpoints that ask no model: kept responses, traces, live events, the viewer.

pub(crate) mod front;
pub(crate) mod kept_responses;
pub(crate) mod listening;
pub(crate) mod open;
pub(crate) mod traced;
pub(crate) mod ui;
