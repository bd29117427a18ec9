//! The frame around the transcript: the composer or a question, the status line, and overlays.

mod composer;
mod overlay;
mod question;
mod status;

pub use composer::{column_of, move_by_rows};
pub(super) use composer::{height as composer_height, paint as paint_composer};
pub(super) use overlay::paint as paint_overlay;
pub(super) use question::{height as question_height, paint as paint_question};
pub(super) use status::paint as paint_status;
