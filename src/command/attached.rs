//! Additions to a question: instructions for the model, and files.

use super::instruction_args::InstructionArgs;
use crate::failure::Failure;
use clap::Args;
use std::path::PathBuf;
use thinkthrough_chat::attachment::{self, Files};

/// The options of every command that takes a question.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Attached {
    #[command(flatten)]
    pub(crate) instructions: InstructionArgs,
    /// Send a file with the question: text, an image or a PDF; may be given several times
    #[arg(short, long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Attached {
    pub(crate) fn read(&self) -> Result<Files, Failure> {
        attachment::read(&self.files).map_err(Failure::Failed)
    }
}
