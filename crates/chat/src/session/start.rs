//! The configuration of a new session.

use super::layers::{Layers, Profile};
use super::message::Stored;
use super::model::Model;
use crate::cover::Cover;
use crate::instructions::Instructions;
use crate::lessons::Lessons;
use crate::own_commands::OwnCommand;
use std::time::Duration;
use thinkthrough_core::content::Block;
use thinkthrough_limits::BudgetRules;

/// The configuration of a new session.
#[derive(Debug)]
pub struct Start {
    /// The model.
    pub model: Model,
    /// The command line names the model, so that it stays when a conversation is opened.
    pub names_model: bool,
    /// The model for titles and summaries, if one is configured.
    pub utility: Option<Model>,
    /// The settings, layer by layer.
    pub layers: Layers,
    /// The profiles of the user's configuration.
    pub profiles: Vec<Profile>,
    /// The rules of the session's budget of reasoning tokens.
    pub budget: BudgetRules,
    /// The part of the context window, in percent, at which the conversation is compressed.
    pub compress_at: u8,
    /// A conversation to continue.
    pub resumed: Option<Stored>,
    /// A sentence about why the model of that conversation is unavailable.
    pub unreachable: Option<String>,
    /// The first notices, in Markdown: one a paragraph.
    pub greeting: String,
    /// The instructions for the model.
    pub instructions: Instructions,
    /// The time since 1970 at the start of the session.
    pub clock: Duration,
    /// The first message, if it is sent at once.
    pub prompt: Option<String>,
    /// The media of the first message.
    pub attached: Vec<Block>,
    /// The working folder, for people.
    pub folder: String,
    /// The place of kept conversations, for people; `None` if they are not kept.
    pub store: Option<String>,
    /// The user's own commands.
    pub commands: Vec<OwnCommand>,
    /// Clicks and the wheel are for the client. Otherwise the terminal selects text with the mouse.
    pub takes_mouse: bool,
    /// Masks secrets on the screen.
    pub cover: Cover,
    /// Facts that refusals taught about models, shared with the requests.
    pub lessons: Lessons,
}
