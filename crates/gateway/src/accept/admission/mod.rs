//! What a request must be like to be looked at: meant for this server, clear about what steers it, and on a path that
//! means the same to everybody.

mod members;
mod origin;
mod path;

pub(crate) use members::{another_model, check_members};
pub(crate) use origin::{Visit, check};
pub(crate) use path::{decoded_name, fits_path, segments, unpacked};
