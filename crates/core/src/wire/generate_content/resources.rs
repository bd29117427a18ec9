//! The places at which Google's API resolves names.
//!
//! Sources: the API references of Gemini (files, caches, file search stores, batches) and of Vertex AI (search
//! engines, corpora, buckets; autumn 2026). Both spell members in camel or snake case.

use crate::wire::resource::Step::{Each, Member as M};
use crate::wire::resource::{Kind, Place, Resources};

pub(super) const RESOURCES: Resources =
    Resources { request: REQUEST, management: MANAGEMENT, collections: COLLECTIONS };

const REQUEST: &[Place] = &[
    Place::id(Kind::Cache, &[], "cachedContent").name(),
    Place::address(&[M("contents"), Each, M("parts"), Each, M("fileData")], "fileUri"),
    Place::address(&[M("systemInstruction"), M("parts"), Each, M("fileData")], "fileUri"),
    Place::address(
        &[
            M("contents"),
            Each,
            M("parts"),
            Each,
            M("functionResponse"),
            M("parts"),
            Each,
            M("fileData"),
        ],
        "fileUri",
    ),
    Place::id(Kind::Store, &[M("tools"), Each, M("fileSearch")], "fileSearchStoreNames").name(),
    Place::id(Kind::Data, SEARCH, "datastore").path(),
    Place::id(Kind::Data, SEARCH, "engine").path(),
    Place::id(
        Kind::Data,
        &[M("tools"), Each, M("retrieval"), M("vertexAiSearch"), M("dataStoreSpecs"), Each],
        "dataStore",
    ),
    Place::id(Kind::Data, RAG, "ragCorpora"),
    Place::id(
        Kind::Data,
        &[M("tools"), Each, M("retrieval"), M("vertexRagStore"), M("ragResources"), Each],
        "ragCorpus",
    ),
];

const SEARCH: &[crate::wire::resource::Step] =
    &[M("tools"), Each, M("retrieval"), M("vertexAiSearch")];
const RAG: &[crate::wire::resource::Step] =
    &[M("tools"), Each, M("retrieval"), M("vertexRagStore")];

const MANAGEMENT: &[Place] = &[
    // A cache holds contents under the same member names.
    Place::id(Kind::File, &[], "fileName").name(),
    Place::id(Kind::File, &[M("batch"), M("inputConfig")], "fileName").name(),
    Place::id(Kind::File, &[M("inputConfig")], "fileName").name(),
    Place::address(&[M("inputConfig"), M("gcsSource")], "uris"),
];

const COLLECTIONS: &[(&[&str], Kind)] = &[
    (&["batches"], Kind::Batch),
    (&["batchpredictionjobs"], Kind::Batch),
    (&["cachedcontents"], Kind::Cache),
    (&["corpora"], Kind::Data),
    (&["files"], Kind::File),
    (&["filesearchstores"], Kind::Store),
    (&["operations"], Kind::Operation),
    (&["tuningjobs"], Kind::Job),
];
