//! The places at which the Interactions API resolves ids and names.
//!
//! Source: Google's API reference of Interactions (autumn 2026).

use crate::wire::resource::Step::{Each, Member as M};
use crate::wire::resource::{Kind, Place, Resources};

pub(super) const RESOURCES: Resources =
    Resources { request: REQUEST, management: &[], collections: COLLECTIONS };

const REQUEST: &[Place] = &[
    Place::id(Kind::Interaction, &[], "previous_interaction_id"),
    Place::address(&[M("input"), Each], "uri"),
    Place::address(&[M("input"), Each, M("content"), Each], "uri"),
    Place::address(&[M("input"), Each, M("result"), Each], "uri"),
    Place::id(Kind::Store, &[M("tools"), Each], "file_search_store_names").name(),
];

const COLLECTIONS: &[(&[&str], Kind)] = &[(&["interactions"], Kind::Interaction)];
