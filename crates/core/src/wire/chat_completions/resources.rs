//! The places at which Chat Completions and its neighbours resolve ids.
//!
//! Sources: the API references of OpenAI (files, audio), Mistral (files, libraries, agents, batches), Moonshot
//! (`ms://` addresses of files), Z.ai (knowledge bases) and Fireworks (autumn 2026).

use crate::wire::resource::Step::{Each, Member as M};
use crate::wire::resource::{Kind, Place, Resources};

pub(super) const RESOURCES: Resources =
    Resources { request: REQUEST, management: MANAGEMENT, collections: COLLECTIONS };

const REQUEST: &[Place] = &[
    Place::id(Kind::File, &[M("messages"), Each, M("content"), Each], "file_id"),
    Place::id(Kind::File, &[M("messages"), Each, M("content"), Each, M("file")], "file_id"),
    Place::address(&[M("messages"), Each, M("content"), Each], "image_url"),
    Place::address(&[M("messages"), Each, M("content"), Each], "video_url"),
    Place::address(&[M("messages"), Each, M("content"), Each], "audio_url"),
    Place::address(&[M("messages"), Each, M("content"), Each], "document_url"),
    Place::id(Kind::Audio, &[M("messages"), Each], "audio").object(),
    Place::id(Kind::Voice, &[M("audio")], "voice").object(),
    Place::id(Kind::Library, &[M("tools"), Each], "library_ids"),
    Place::id(Kind::Store, &[M("tools"), Each], "vector_store_ids"),
    Place::id(Kind::Data, &[M("tools"), Each, M("retrieval")], "knowledge_id"),
];

const MANAGEMENT: &[Place] = &[
    Place::id(Kind::Agent, &[], "agent_id"),
    Place::id(Kind::Completion, &[], "completion_id"),
    Place::id(Kind::Library, &[], "library_ids"),
    Place::id(Kind::Document, &[], "document_ids"),
    Place::id(Kind::Data, &[], "knowledge_base_id"),
    Place::id(Kind::Data, &[], "dataset_id"),
    Place::id(Kind::File, &[], "input_files"),
    Place::id(Kind::File, &[M("document")], "file_id"),
    Place::id(Kind::File, &[M("training_files"), Each], "file_id"),
    Place::id(Kind::File, &[M("inputs"), Each, M("content"), Each], "file_id"),
];

const COLLECTIONS: &[(&[&str], Kind)] = &[
    (&["batch", "jobs"], Kind::Batch),
    (&["chat", "completions"], Kind::Completion),
    (&["chat", "deferred-completion"], Kind::Completion),
    (&["fine-tunes"], Kind::Job),
    (&["agents"], Kind::Agent),
    (&["datasets"], Kind::Data),
    (&["documents"], Kind::Document),
    (&["jobs"], Kind::Job),
    (&["libraries"], Kind::Library),
];
