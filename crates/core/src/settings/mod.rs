//! The settings `reasoning.*`: keys, values, layers, and one resolver.
//!
//! A [`Partial`] is one layer; [`resolve`] puts the layers on top of each other and remembers the source of the value
//! of each key.

mod effort;
mod key;
mod resolve;
mod value;

pub use effort::{Effort, Efforts};
pub use key::{Key, SettingError};
pub use resolve::{Layer, Partial, Resolved, Setting, Source, resolve};
pub use value::{Budget, Display, Format, Include, Strip};

#[cfg(test)]
mod tests;
