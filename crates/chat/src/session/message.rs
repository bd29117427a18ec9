//! Messages that a session receives, and effects that it asks its driver to carry out.

use crossterm::event::KeyEvent;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use thinkthrough_core::content::{Content, ToolCall, ToolResponse};
use thinkthrough_core::problem::Problem;
use thinkthrough_core::provider::Target;
use thinkthrough_core::request::Tool;
use thinkthrough_core::settings::{Display, Partial, Resolved};
use thinkthrough_core::tokens::{TokenCount, TokenizerFailure};
use thinkthrough_core::usage::Usage;
use thinkthrough_store::{ConversationState, Cost, Within};

use super::format::Format;
use super::model::Model;
use crate::attachment::Mentioned;
use crate::export::ThoughtForm;
use crate::screen::model::EntryId;
use crate::screen::theme::Background;

/// The number of a question in a session, so that late events of a stopped question are not taken for events of the
/// next one.
pub type RunId = u64;

/// An input of the session.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// Text was pasted.
    Paste(String),
    /// An entry of the transcript was clicked.
    Click(EntryId),
    /// A row of the list on the screen was clicked.
    Pick(usize),
    /// Time passed, or the terminal has another size.
    Tick,
    /// An event of the question in progress.
    Progress(RunId, Progress),
    /// The model was changed, or could not be.
    Chosen(Result<Box<Model>, String>),
    /// The models that can be chosen.
    Models(Vec<Offer>),
    /// A request was counted.
    Counted(Counted),
    /// The utility model answered, or could not.
    Side(Side, Result<String, String>),
    /// The store did something, or could not.
    Stored(Result<Kept, String>),
    /// The user's configuration was written, or could not be.
    Written(Result<Wrote, String>),
    /// Lines that were sent in earlier sessions, the oldest first.
    Sent(Vec<String>),
    /// The tools on offer.
    Tools(Vec<Tool>),
    /// A page about the tools.
    Page(&'static str, String),
    /// The files of the working folder.
    Files(Vec<String>),
    /// The files that a message names were read.
    Attached(String, Result<Mentioned, String>),
    /// A command of the user has ended: its output, and whether it failed.
    Ran(RunId, String, bool),
    /// The user's editor has ended with this text.
    Edited(Result<String, String>),
    /// The token usage of a side request to the model of this name.
    Paid(String, Option<Usage>),
    /// The context window of the model of this name, as its server reports it.
    Window(String, u64),
    /// A warning about something outside the conversation.
    Warned(String),
    /// A finished action, or its failure, to show as a notice.
    Said(Result<String, String>),
}

/// An event of the running question.
#[derive(Debug)]
pub enum Progress {
    /// A request goes out.
    Outgoing {
        /// Warnings for the user about this request.
        warnings: Vec<Problem>,
    },
    /// A thought begins; the number is the index of its block in this answer.
    ThoughtBegins(usize),
    /// A thought grows.
    ThoughtGrows(usize, String),
    /// A thought is complete.
    ThoughtEnds {
        /// The index of its block in this answer.
        block: usize,
        /// Only an opaque payload came.
        is_withheld: bool,
        /// The text that replaces the deltas.
        whole: Option<String>,
    },
    /// Visible text grows.
    TextGrows(usize, String),
    /// The text that replaces the deltas.
    TextIs(usize, String),
    /// The model calls a tool.
    Calls(usize, ToolCall),
    /// A tool waits for the user.
    Asks(Permission),
    /// A call began to run.
    Runs {
        /// The index of the call in its answer.
        call: usize,
    },
    /// A tool returned a result.
    Gave {
        /// The index of the call in its answer.
        call: usize,
        /// The tool's result.
        response: ToolResponse,
        /// How long it ran.
        took: Duration,
    },
    /// A problem of the answer.
    Finding(Problem),
    /// The request waits before it goes out again.
    Retries {
        /// Why.
        why: String,
        /// How long.
        wait: Duration,
    },
    /// A warning.
    Warns(String),
    /// The number of reasoning tokens used in this conversation.
    Spent(u64),
    /// A message is complete and part of the conversation.
    Added(Box<Content>),
    /// The question has ended.
    Done(Ended),
}

/// How a question ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Why there is no proper answer, in a sentence.
    pub failure: Option<String>,
    /// A note about an answer that is incomplete or not what the user asked for, in a sentence.
    pub note: Option<String>,
    /// The user stopped it.
    pub is_stopped: bool,
}

/// A tool that waits for the user's permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// The provider's id of the call.
    pub call_id: Option<String>,
    /// The tool's name.
    pub tool: String,
    /// The question, in a few words.
    pub title: String,
    /// The command or the diff that the user decides about.
    pub detail: String,
    /// The language of `detail`.
    pub language: String,
    /// The scope of the answer "always", in words.
    pub grant: String,
    /// The tool only reads.
    pub reads_only: bool,
}

/// The user's decision about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This once.
    Once,
    /// For the rest of the session.
    Always,
    /// Rejected. The text, which may be empty, goes to the model as the reason.
    No(String),
}

/// A model that can be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The name to choose it by.
    pub name: String,
    /// A short description of the model.
    pub detail: String,
}

/// The count of a request.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The number of the count request. The session ignores a count with an older number.
    pub number: u64,
    /// The count.
    pub count: TokenCount,
    /// The tokenizer's first failure.
    pub warning: Option<TokenizerFailure>,
}

/// A task for the utility model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// A summary, with the number of its question.
    Summary(RunId),
    /// A title of the conversation.
    Title,
}

/// The result of a store operation.
#[derive(Clone, Debug)]
pub enum Kept {
    /// The conversation was stored under this id.
    Begun(String),
    /// A conversation was opened.
    Opened(Box<Stored>),
    /// A copy of the conversation was made, under this id.
    Forked(String),
    /// A conversation was deleted.
    Deleted(String),
    /// The list of conversations.
    Sessions(Vec<Listed>),
    /// The hits of a search.
    Found(Vec<Hit>),
    /// The progress of a search.
    Searching {
        /// The number of searched conversations.
        done: usize,
        /// The number of all conversations.
        all: usize,
    },
}

/// A conversation from the store.
#[derive(Clone, Debug, Default)]
pub struct Stored {
    /// Its id.
    pub id: String,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// The model and settings that it was held with.
    pub state: ConversationState,
    /// Its messages.
    pub contents: Vec<Content>,
    /// Its compressions, the latest last.
    pub compressions: Vec<Compression>,
}

/// A summary that replaces the messages before an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compression {
    /// The index of the first message that is still sent unchanged.
    pub upto: usize,
    /// The number of messages when it was made. Thoughts before it were bound to messages that the summary replaced.
    pub made_at: usize,
    /// The summary that replaces the messages before `upto`.
    pub summary: String,
}

/// A conversation in a list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// Its id.
    pub id: String,
    /// Its title.
    pub title: String,
    /// When, how long, with which model.
    pub detail: String,
}

/// A hit of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// The conversation.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The hit is in a thought.
    pub is_thought: bool,
    /// The words around the hit, with their place.
    pub excerpt: String,
}

/// A change that was written to the user's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wrote {
    /// The display of thoughts.
    Display {
        /// The mode that was written.
        display: Display,
        /// The file.
        path: PathBuf,
    },
    /// A profile.
    Profile {
        /// Its name.
        name: String,
        /// The file.
        path: PathBuf,
    },
    /// A profile was deleted.
    NoProfile {
        /// Its name.
        name: String,
    },
}

/// An action for the driver of the session.
#[derive(Debug)]
pub enum Effect {
    /// Ask the model.
    Ask(Box<Question>),
    /// Continue with the budget of this conversation, including its earlier thoughts.
    Resume(Arc<Vec<Content>>),
    /// Stop a question or a summary. A question ends with [`Progress::Done`]; a summary with this number sends no
    /// further message.
    Stop(RunId),
    /// Pass the user's decision on to the tool that waits.
    Verdict(Verdict),
    /// Carry out a store operation, in order.
    Keep(Keep),
    /// Put a text on the clipboard.
    Copy(String),
    /// Change the user's configuration.
    Write(Write),
    /// Find the model of this name.
    Choose(String),
    /// List the models that can be chosen.
    ListModels,
    /// Count the request that would be sent.
    Count(Box<Count>),
    /// Ask the utility model.
    Aside(Side, Box<Question>),
    /// Write the conversation to a file.
    Export {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: Format,
        /// All messages of the conversation.
        contents: Arc<Vec<Content>>,
        /// The title.
        title: String,
        /// How thoughts look in Markdown. `None` leaves them out of any format.
        thoughts: Option<ThoughtForm>,
        /// Whether secrets are covered.
        is_masked: bool,
    },
    /// Read a conversation from a file.
    Import(PathBuf),
    /// List the files of the working folder.
    ListFiles,
    /// Read the files that these paths of a message name.
    Attach(String, Vec<String>),
    /// Run this command in the user's shell. [`Effect::Stop`] with the number stops it.
    Shell(RunId, String),
    /// Open this text in the user's editor.
    Edit(String),
    /// Stop the program until the user's shell continues it.
    Suspend,
    /// Show a page about the tools.
    ListTools,
    /// Show a page about the servers of tools.
    ListServers,
    /// Scroll the transcript.
    Scroll(Scroll),
    /// Draw everything afresh.
    Redraw,
    /// Use the colours for this ground, or for the ground that the terminal reports.
    Theme(Option<Background>),
    /// Use dark colours in place of light ones, or light ones in place of dark ones.
    OtherTheme,
    /// Let only tools that read run, or all tools.
    Plan(bool),
    /// Take back the changes to files that the tools of these questions made.
    UndoFiles(Vec<RunId>),
    /// Take the mouse, or leave it to the terminal.
    Mouse(bool),
    /// Leave.
    Quit,
}

/// A scroll movement of the transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scroll {
    /// Lines, towards the end if positive.
    Lines(isize),
    /// Screens, towards the end if positive.
    Pages(isize),
    /// To the first line.
    Top,
    /// To the last line, and stay there.
    Bottom,
    /// Until this entry is seen.
    To(EntryId),
}

/// A question with all data that stays fixed until it is answered, even if the user changes settings meanwhile.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its number.
    pub run: RunId,
    /// The model's name, by which its connection is found.
    pub model: String,
    /// The provider, endpoint and model.
    pub target: Target,
    /// The settings.
    pub settings: Resolved,
    /// The messages, with the question at the end.
    pub contents: Vec<Content>,
}

/// A request to count.
#[derive(Clone, Debug)]
pub struct Count {
    /// Its number.
    pub number: u64,
    /// The provider, endpoint and model.
    pub target: Target,
    /// The settings.
    pub settings: Resolved,
    /// The messages.
    pub contents: Vec<Content>,
    /// The tools on offer.
    pub tools: Vec<Tool>,
}

/// An operation of the store.
#[derive(Clone, Debug)]
pub enum Keep {
    /// Begin a conversation.
    Begin,
    /// Leave the conversation; the next one begins anew.
    Leave,
    /// Add a message.
    Message(Box<Content>),
    /// The title of the conversation.
    Title(String),
    /// The model that it is held with.
    Model(String),
    /// The settings that were chosen for it.
    Reasoning(Partial),
    /// The cost of a request of this conversation.
    Cost(Cost),
    /// A compression. `None` removes the last one.
    Compressed(Option<Compression>),
    /// Open a conversation.
    Open(String),
    /// Copy the first messages of this conversation to a new one and go on there.
    Fork(usize),
    /// Delete a conversation.
    Delete(String),
    /// List them.
    List,
    /// Search in all of them.
    Search {
        /// The words, unchanged.
        words: String,
        /// The parts of a conversation to search.
        within: Within,
        /// Whether thoughts may be found.
        shows_thoughts: bool,
    },
}

/// A change of the user's configuration.
#[derive(Clone, Debug)]
pub enum Write {
    /// Sets `reasoning.display` for every session from now on, and also under the model of this name if it has a
    /// display of its own.
    Display(Display, Option<String>),
    /// Replaces `[profiles.NAME]` as a whole.
    Profile {
        /// Its name.
        name: String,
        /// The model.
        model: String,
        /// The settings.
        settings: Partial,
    },
    /// Removes `[profiles.NAME]`.
    NoProfile {
        /// Its name.
        name: String,
    },
}
