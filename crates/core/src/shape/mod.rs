//! The public JSON shapes: the output of `parse`, event lines, and contents in history files.
//!
//! Keys and their order are a contract; they are written here and nowhere else.

mod answer;
mod block;
mod content;
mod event;

pub use answer::{write_answer, write_answer_and, write_problem, write_usage};
pub use block::{read_block, read_result, write_block, write_result};
pub use content::{ShapeError, read_content, read_usage, write_content};
pub use event::write_event;

#[cfg(test)]
mod tests;
