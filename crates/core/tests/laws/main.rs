//! Laws: properties that hold for every input there is, as plain functions over bytes.
//!
//! Each law panics when it is broken. As a test it is driven with some hundreds of generated inputs; with
//! `THINKTHROUGH_LAW_SECONDS=30` for that long, with other inputs each time; and `fuzz/` drives the same functions with
//! coverage guidance. `THINKTHROUGH_LAW_SEED` repeats a run, `THINKTHROUGH_LAW_INPUT=FILE` makes an input that `fuzz/` found
//! small.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "everything here is a test"
)]

mod budgets;
mod chat;
mod counts;
mod documents;
#[macro_use]
mod driver;
mod edits;
mod exchanges;
mod faces;
mod frames;
mod json;
mod masks;
mod random;
mod tags;
mod typed;
mod wires;

laws! {
    chat_blocks_are_numbered: chat::blocks_are_numbered_as_they_appear, 0, &[];
    chat_short_way: chat::the_short_way_says_what_the_long_way_says, 0, &[];
    chat_written_streams: chat::written_streams_say_the_same, 0, &[];
    edited_requests_keep_their_bytes: edits::requests_keep_their_bytes, 2, &[];
    edited_streams_keep_their_bytes: edits::streams_keep_their_bytes, 2, wires::STREAM_WORDS;
    event_stream_splits: frames::event_stream_splits, 2, frames::EVENT_STREAM_WORDS;
    event_stream_written_is_read: frames::event_stream_written_is_read, 0, frames::SSE_WORDS;
    faces_agree: wires::faces_agree, 3, wires::STREAM_WORDS;
    json_agrees_with_serde: json::agrees_with_serde, 0, json::WORDS;
    json_strings_survive: json::strings_survive, 0, json::WORDS;
    lost_records_are_missed_and_not_replaced: exchanges::lost_records_are_missed_and_not_replaced, 3, &[];
    mask_splits: masks::split_invariance, 1, masks::WORDS;
    ndjson_splits: frames::ndjson_splits, 2, frames::SSE_WORDS;
    rate_limits_hold: budgets::rate_limits_hold, 2, &[];
    request_counts_are_those_of_what_is_there: counts::request_count, 0, &[];
    requests_reach_the_upstream_whole: exchanges::requests_reach_the_upstream_whole, 3, wires::STREAM_WORDS;
    session_budgets_hold: budgets::session_budgets_hold, 3, &[];
    sse_agrees_with_the_standard: frames::sse_agrees_with_the_standard, 0, frames::SSE_WORDS;
    sse_splits: frames::sse_splits, 2, frames::SSE_WORDS;
    sse_written_is_read: frames::sse_written_is_read, 0, frames::SSE_WORDS;
    tag_splits: tags::split_invariance, 4, &[];
    typed_written_streams: typed::written_streams_say_the_same, 0, &[];
    wire_answers_survive: wires::answers_survive, 1, &[];
    wire_requests_settle: wires::requests_settle, 1, &[];
    wire_streams_are_values: wires::streams_are_values, 2, wires::STREAM_WORDS;
}
