//! Reads reasoning from every provider's wire, keeps it exactly, and rebuilds the next request.
#![doc(test(attr(deny(warnings))))]

pub mod adapter;
pub mod answer;
pub mod budget;
pub mod content;
pub mod contract;
pub mod convert;
pub mod echo;
pub mod edit;
pub mod event;
pub mod exchange;
pub mod frame;
pub mod json;
pub mod outgoing;
pub mod pipeline;
pub mod plane;
pub mod policy;
pub mod problem;
pub mod provider;
pub mod read;
pub mod reasoning;
pub mod request;
pub mod restore;
pub mod settings;
pub mod shape;
pub mod tags;
pub mod tokens;
pub mod turn;
mod turns;
pub mod usage;
pub mod wire;
