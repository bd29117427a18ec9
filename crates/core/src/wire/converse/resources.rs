//! The places at which the Converse API reads data of the operator's account.
//!
//! Source: the API reference of Amazon Bedrock (autumn 2026). Objects in buckets are no resources that a request
//! creates.

use crate::wire::resource::Step::{All, Each, Member as M};
use crate::wire::resource::{Kind, Place, Resources};

pub(super) const RESOURCES: Resources =
    Resources { request: REQUEST, management: &[], collections: COLLECTIONS };

const REQUEST: &[Place] = &[
    Place::address(
        &[M("messages"), Each, M("content"), Each, All, M("source"), M("s3Location")],
        "uri",
    ),
    Place::address(
        &[
            M("messages"),
            Each,
            M("content"),
            Each,
            M("toolResult"),
            M("content"),
            Each,
            All,
            M("source"),
            M("s3Location"),
        ],
        "uri",
    ),
];

const COLLECTIONS: &[(&[&str], Kind)] = &[(&["async-invoke"], Kind::Job)];
