//! The labels of the metrics.

use super::Word;
use prometheus_client::encoding::EncodeLabelSet;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Whose {
    pub(super) provider: Arc<str>,
    pub(super) model: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Ending {
    pub(super) provider: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) outcome: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Tokens {
    pub(super) provider: Arc<str>,
    pub(super) model: Arc<str>,
    pub(super) r#type: Word,
    pub(super) source: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Thought {
    pub(super) provider: Arc<str>,
    pub(super) outcome: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Trouble {
    pub(super) provider: Arc<str>,
    pub(super) reason: Word,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct Spent {
    pub(super) provider: Arc<str>,
    pub(super) r#type: Word,
}
