//! The places at which the Messages API resolves ids.
//!
//! Source: Anthropic's API reference of Messages, Files, Skills and Message Batches (autumn 2026).

use crate::wire::resource::Step::{Each, Member as M, Uploaded};
use crate::wire::resource::{Kind, Place, Resources};

pub(super) const RESOURCES: Resources =
    Resources { request: REQUEST, management: &[], collections: COLLECTIONS };

const REQUEST: &[Place] = &[
    Place::id(Kind::Container, &[], "container"),
    Place::id(Kind::Skill, &[M("container"), M("skills"), Each, Uploaded], "skill_id"),
    Place::id(Kind::File, &[M("messages"), Each, M("content"), Each], "file_id"),
    Place::id(Kind::File, &[M("messages"), Each, M("content"), Each, M("source")], "file_id"),
    Place::id(
        Kind::File,
        &[M("messages"), Each, M("content"), Each, M("content"), Each, M("source")],
        "file_id",
    ),
    Place::id(
        Kind::File,
        &[M("messages"), Each, M("content"), Each, M("source"), M("content"), Each, M("source")],
        "file_id",
    ),
];

const COLLECTIONS: &[(&[&str], Kind)] = &[(&["messages", "batches"], Kind::Batch)];
