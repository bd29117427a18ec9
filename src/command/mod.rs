//! The commands: one file each, with its arguments and what it does.

pub(crate) mod ask;
mod ask_show;
mod asking;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod models;
pub(crate) mod parse;
pub(crate) mod settings;
pub(crate) mod sim;
pub(crate) mod split;
