//! Admission of requests: hosts, paths, members of a body; and the place that a path names.

pub(crate) mod admission;
pub(crate) mod place;
