//! The places at which the Responses API and its neighbours resolve ids.
//!
//! Source: OpenAI's API reference of Responses, Conversations, Files, Vector stores, Containers, Batches,
//! Fine-tuning, Assistants and Videos (autumn 2026).

use crate::wire::resource::Step::{All, Each, Member as M, Reference, Typed, Uploaded};
use crate::wire::resource::{Kind, Place, Resources};

pub(super) const RESOURCES: Resources =
    Resources { request: REQUEST, management: MANAGEMENT, collections: COLLECTIONS };

const REQUEST: &[Place] = &[
    Place::id(Kind::Response, &[], "previous_response_id"),
    Place::id(Kind::Conversation, &[], "conversation"),
    Place::id(Kind::Prompt, &[], "prompt").object(),
    Place::id(Kind::File, &[M("prompt"), M("variables"), All], "file_id"),
    Place::id(Kind::Item, &[M("input"), Each, Reference], "id"),
    Place::id(Kind::File, &[M("input"), Each, M("content"), Each], "file_id"),
    Place::id(Kind::File, &[M("input"), Each, M("output"), Each], "file_id"),
    Place::id(Kind::Container, &[M("input"), Each, Typed("code_interpreter_call")], "container_id"),
    Place::id(Kind::Store, &[M("tools"), Each], "vector_store_ids"),
    Place::id(Kind::Container, &[M("tools"), Each], "container"),
    Place::id(Kind::File, &[M("tools"), Each, M("container")], "file_ids"),
    Place::id(Kind::Skill, &[M("tools"), Each, M("container"), SKILLS, Each, Uploaded], "skill_id"),
    Place::id(Kind::Container, &[M("tools"), Each, M("environment")], "container_id"),
    Place::id(Kind::File, &[M("tools"), Each, M("environment")], "file_ids"),
    Place::id(
        Kind::Skill,
        &[M("tools"), Each, M("environment"), SKILLS, Each, Uploaded],
        "skill_id",
    ),
    Place::id(Kind::File, &[M("tools"), Each, M("input_image_mask")], "file_id"),
];

const SKILLS: crate::wire::resource::Step = M("skills");

const MANAGEMENT: &[Place] = &[
    Place::id(Kind::Item, &[M("items"), Each, Reference], "id"),
    Place::id(Kind::File, &[M("items"), Each, M("content"), Each], "file_id"),
    Place::id(Kind::File, &[], "input_file_id"),
    Place::id(Kind::File, &[], "file_id"),
    Place::id(Kind::File, &[], "file_ids"),
    Place::id(Kind::File, &[], "training_file"),
    Place::id(Kind::File, &[], "validation_file"),
    Place::id(Kind::File, &[M("files"), Each], "file_id"),
    Place::id(Kind::File, &[M("images"), Each], "file_id"),
    Place::id(Kind::File, &[M("mask")], "file_id"),
    Place::id(Kind::File, &[M("input_reference")], "file_id"),
    Place::id(Kind::File, &[M("attachments"), Each], "file_id"),
    Place::id(Kind::File, &[M("content"), Each, M("image_file")], "file_id"),
    Place::id(Kind::File, &[M("messages"), Each, M("attachments"), Each], "file_id"),
    Place::id(Kind::File, &[M("messages"), Each, M("content"), Each, M("image_file")], "file_id"),
    Place::id(Kind::File, &[M("thread"), M("messages"), Each, M("attachments"), Each], "file_id"),
    Place::id(
        Kind::File,
        &[M("thread"), M("messages"), Each, M("content"), Each, M("image_file")],
        "file_id",
    ),
    Place::id(Kind::File, &[M("tool_resources"), M("code_interpreter")], "file_ids"),
    Place::id(Kind::Store, &[M("tool_resources"), M("file_search")], "vector_store_ids"),
    Place::id(
        Kind::File,
        &[M("tool_resources"), M("file_search"), M("vector_stores"), Each],
        "file_ids",
    ),
    Place::id(Kind::File, &[M("thread"), M("tool_resources"), All], "file_ids"),
    Place::id(Kind::Store, &[M("thread"), M("tool_resources"), All], "vector_store_ids"),
    Place::id(Kind::Assistant, &[], "assistant_id"),
    Place::id(Kind::Thread, &[], "thread_id"),
    Place::id(Kind::Conversation, &[], "conversation_id"),
    Place::id(Kind::Response, &[], "response_id"),
    Place::id(Kind::Store, &[], "vector_store_id"),
    Place::id(Kind::Store, &[], "vector_store_ids"),
    Place::id(Kind::Batch, &[], "batch_id"),
    Place::id(Kind::Upload, &[], "upload_id"),
    Place::id(Kind::Video, &[], "video_id"),
    Place::id(Kind::Video, &[], "video").object(),
    Place::id(Kind::Voice, &[], "voice").object(),
];

const COLLECTIONS: &[(&[&str], Kind)] = &[
    (&["fine_tuning", "jobs"], Kind::Job),
    (&["chatkit", "sessions"], Kind::Session),
    (&["chatkit", "threads"], Kind::Thread),
    (&["assistants"], Kind::Assistant),
    (&["batches"], Kind::Batch),
    (&["containers"], Kind::Container),
    (&["conversations"], Kind::Conversation),
    (&["files"], Kind::File),
    (&["prompts"], Kind::Prompt),
    (&["responses"], Kind::Response),
    (&["runs"], Kind::Run),
    (&["skills"], Kind::Skill),
    (&["threads"], Kind::Thread),
    (&["uploads"], Kind::Upload),
    (&["vector_stores"], Kind::Store),
    (&["videos"], Kind::Video),
];
