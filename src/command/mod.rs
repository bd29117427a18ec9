//! The commands: one file each, with its arguments and what it does.

pub(crate) mod acp;
pub(crate) mod ask;
mod ask_plain;
mod ask_prompt;
mod ask_show;
mod ask_stop;
mod ask_thought;
mod asking;
pub(crate) mod chat;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod doctor;
pub(crate) mod erase;
pub(crate) mod explain;
mod explain_vault;
pub(crate) mod health;
pub(crate) mod keys;
pub(crate) mod mask;
pub(crate) mod models;
pub(crate) mod parse;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod sim;
pub(crate) mod split;
pub(crate) mod traces;
