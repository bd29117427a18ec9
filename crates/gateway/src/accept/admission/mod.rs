//! Checks before any other work: the request is meant for this server, its steering members are unambiguous, and its
//! path means the same to every server.

mod members;
mod origin;
mod path;

pub(crate) use members::{another_model, check_members};
pub(crate) use origin::{Visit, check};
pub(crate) use path::{decoded_name, fits_path, segments, unpacked};
