//! The face for editors: the Agent Client Protocol, version 1, over lines of JSON-RPC.
//!
//! [`serve`] uses two channels of lines, so that this module does not touch standard input or output. A [`Host`]
//! chooses the model and the tools.
//!
//! Facts: agentclientprotocol.com, "Protocol", and its JSON schema for version 1 (autumn 2026).

mod prompt;
mod replay;
mod rpc;
mod session;
mod setup;
mod show;

use crate::cover::Cover;
use crate::gate::Gate;
use crate::instructions::Instructions;
use crate::kept::Kept;
use crate::session::{Conversation, Stored};
use crate::terminal;
use crate::tools::{Pending, Toolbox};
use crate::traced::Tracer;
use rpc::{Incoming, Outbox, Problem, Reply};
use session::{Past, Session};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thinkthrough_client::{Auth, Secret, Transport};
use thinkthrough_core::provider::Target;
use thinkthrough_core::settings::Resolved;
use thinkthrough_json::{Raw, Val, Writer};
use thinkthrough_store::{ConversationId, Conversations, StoreError};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The supported version of the protocol.
const VERSION: u64 = 1;

/// The model, settings and tools of a session.
#[derive(Debug)]
pub struct Kit {
    /// The model's name in the configuration.
    pub name: String,
    /// The model.
    pub target: Target,
    /// The settings at the start of the session.
    pub settings: Resolved,
    /// How requests travel.
    pub transport: Transport,
    /// The credential.
    pub auth: Auth,
    /// The source of the credential, as a phrase for a sentence.
    pub key_from: Option<String>,
    /// The tools. Calls can ask the user of the editor.
    pub tools: Toolbox,
    /// The checks before each request.
    pub gate: Gate,
    /// The instructions for the model.
    pub instructions: Instructions,
    /// Covers secrets in the text that the editor shows.
    pub cover: Cover,
    /// The store of traces, if any.
    pub tracer: Option<Tracer>,
    /// Why the model of the loaded conversation does not answer, as a sentence.
    pub unreachable: Option<String>,
}

/// An MCP server that the editor wants to be used.
#[derive(Clone, Debug)]
pub struct EditorServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub reach: EditorReach,
}

/// How an editor's server is reached.
#[derive(Clone, Debug)]
pub enum EditorReach {
    /// A program, with its arguments and its environment.
    Command(Vec<String>, Vec<(String, Secret)>),
    /// An address, with headers.
    Http(String, Vec<(String, Secret)>),
}

/// Supplies the model, settings and tools of sessions.
pub trait Host: Send + Sync {
    /// Opens a session in a folder, which continues the conversation in `loaded` if there is one.
    ///
    /// # Errors
    /// A sentence for the user of the editor.
    fn open<'a>(
        &'a self,
        folder: &'a Path,
        servers: Vec<EditorServer>,
        loaded: Option<&'a Stored>,
    ) -> Pending<'a, Result<Kit, String>>;
}

/// Serves an editor until `lines` end. Output goes to `out`, one line for each message. With a store, conversations
/// are stored, and sessions can be loaded.
pub async fn serve(
    host: Arc<dyn Host>,
    store: Option<Conversations>,
    mut lines: mpsc::UnboundedReceiver<String>,
    out: mpsc::UnboundedSender<String>,
) {
    let outbox = Arc::new(Outbox::new(out));
    let mut face =
        Face { host, store, outbox, sessions: BTreeMap::new(), count: 0, tasks: JoinSet::new() };
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => face.line(&line).await,
                None => break,
            },
            // Removes finished prompts.
            Some(_) = face.tasks.join_next() => {}
        }
    }
    for session in face.sessions.values() {
        session.stop();
    }
    while face.tasks.join_next().await.is_some() {}
    for session in face.sessions.values() {
        session.close().await;
    }
}

struct Face {
    host: Arc<dyn Host>,
    store: Option<Conversations>,
    outbox: Arc<Outbox>,
    sessions: BTreeMap<String, Arc<Session>>,
    count: u64,
    tasks: JoinSet<()>,
}

impl Face {
    async fn line(&mut self, line: &str) {
        if line.trim().is_empty() {
            return;
        }
        match Incoming::read(line) {
            Err(problem) => self.outbox.answer(&Raw::null(), &Err(problem)),
            Ok(Incoming::Reply { id, reply }) => self.outbox.replied(id, reply),
            Ok(Incoming::Notice { method, params }) => {
                if method == "session/cancel"
                    && let Ok(session) = self.session(params.doc().root())
                {
                    session.stop();
                }
            }
            Ok(Incoming::Request { id, method, params }) => {
                if method == "session/prompt" {
                    self.prompt(id, &params);
                    return;
                }
                let reply = self.request(&method, params.doc().root()).await;
                self.outbox.answer(&id, &reply);
            }
        }
    }

    async fn request(&mut self, method: &str, params: Val<'_>) -> Reply {
        match method {
            "initialize" => Ok(initialized(self.store.is_some())),
            "session/new" => self.open(params).await,
            "session/load" => self.load(params).await,
            "session/set_mode" => {
                let mode = params.text("modeId").unwrap_or_default();
                self.session(params)?.set_mode(&mode).map(|()| empty())
            }
            "session/set_config_option" => {
                let session = self.session(params)?;
                let (key, value) = (params.text("configId"), params.text("value"));
                session.set_option(&key.unwrap_or_default(), &value.unwrap_or_default()).await
            }
            "session/close" => {
                let session = Arc::clone(self.session(params)?);
                self.leave(&session).await;
                Ok(empty())
            }
            _ => Err(Problem::no_method(method)),
        }
    }

    async fn open(&mut self, params: Val<'_>) -> Reply {
        let folder = folder(params)?;
        let kit = self.kit(params, None).await?;
        let kept = self.store.clone().map(|store| Kept::new(store, &folder));
        let kept = kept.transpose().map_err(|it| failed(&it))?;
        self.count += 1;
        let id = match &kept {
            Some(kept) => kept.id().as_str().to_owned(),
            None => format!("think-{}-{}", std::process::id(), self.count),
        };
        let past = Past { kept, contents: Vec::new() };
        let session = Arc::new(Session::new(id.clone(), kit, Arc::clone(&self.outbox), past));
        let reply = session.describe(true);
        self.sessions.insert(id, session);
        Ok(reply)
    }

    /// Loads a conversation from the store, and continues it after all its messages were sent to the editor again.
    async fn load(&mut self, params: Val<'_>) -> Reply {
        let given = params.text("sessionId").unwrap_or_default();
        let unknown = || Problem::missing(&format!("there is no kept session `{given}`"));
        let store = self.store.clone().ok_or_else(unknown)?;
        // Updates carry the id that the editor gave, so it must equal the stored id exactly.
        let id = ConversationId::parse(&given).filter(|id| id.as_str() == given);
        let id = id.ok_or_else(unknown)?;
        let open = self.sessions.get(id.as_str()).map(Arc::clone);
        if let Some(open) = &open {
            // An answer in progress would be missing from both the stored and the open session.
            drop(open.begin()?);
        }
        let stored = terminal::open(&store, &id).await.map_err(|error| match error {
            StoreError::NoConversation(_) => unknown(),
            error => failed(&error),
        })?;
        let kit = self.kit(params, Some(&stored)).await?;
        if let Some(open) = open {
            self.leave(&open).await;
        }
        let state = stored.state.clone();
        let conversation = Conversation::stored(stored);
        kit.gate.resume(conversation.contents());
        let contents = conversation.sent(&kit.target.rule.contract);
        let past = Past { kept: Some(Kept::stored(store, id.clone())), contents };
        let id = id.as_str().to_owned();
        let session = Arc::new(Session::new(id.clone(), kit, Arc::clone(&self.outbox), past));
        session.replay(conversation.contents()).await;
        session.say_taken_up(&state, conversation.contents());
        let reply = session.describe(false);
        self.sessions.insert(id, session);
        Ok(reply)
    }

    /// Builds the kit of a session from the editor's parameters and the host's configuration.
    async fn kit(&self, params: Val<'_>, loaded: Option<&Stored>) -> Result<Kit, Problem> {
        let folder = folder(params)?;
        let servers = setup::servers(params)?;
        self.host.open(&folder, servers, loaded).await.map_err(|error| Problem::failed(&error))
    }

    async fn leave(&mut self, session: &Session) {
        self.sessions.remove(session.id());
        session.stop();
        session.close().await;
    }

    fn prompt(&mut self, id: Raw, params: &Raw) {
        let doc = params.doc();
        let begun = self.session(doc.root()).map(Arc::clone).and_then(|session| {
            let question = prompt::content(doc.root())?;
            Ok((session.begin()?, session, question))
        });
        match begun {
            Err(problem) => self.outbox.answer(&id, &Err(problem)),
            Ok((begun, session, question)) => {
                let outbox = Arc::clone(&self.outbox);
                // Ends with the answer, or when the session is stopped.
                self.tasks.spawn(async move {
                    let reply = session.prompt(begun, question).await;
                    outbox.answer(&id, &reply);
                });
            }
        }
    }

    fn session(&self, params: Val<'_>) -> Result<&Arc<Session>, Problem> {
        let id = params.text("sessionId").unwrap_or_default();
        self.sessions.get(id.as_ref()).ok_or_else(|| {
            Problem::params(&format!("there is no session `{id}`; begin one with `session/new`"))
        })
    }
}

/// The folder of a session.
fn folder(params: Val<'_>) -> Result<PathBuf, Problem> {
    let folder = params.string("cwd").map(PathBuf::from).filter(|folder| folder.is_absolute());
    folder.ok_or_else(|| Problem::params("`cwd` must be an absolute path"))
}

fn empty() -> Raw {
    Raw::build(|w| w.object(|_| {}))
}

fn failed(error: &StoreError) -> Problem {
    Problem::failed(&error.to_string())
}

fn initialized(loads: bool) -> Raw {
    Raw::build(|w: &mut Writer| {
        w.object(|w| {
            w.field_u64("protocolVersion", VERSION);
            w.key("agentCapabilities").object(|w| {
                w.field_bool("loadSession", loads);
                w.key("promptCapabilities").object(|w| {
                    w.field_bool("image", false);
                    w.field_bool("audio", false);
                    w.field_bool("embeddedContext", true);
                });
                w.key("mcpCapabilities").object(|w| {
                    w.field_bool("http", true);
                    w.field_bool("sse", false);
                });
                w.key("sessionCapabilities").object(|w| w.key("close").object(|_| {}));
            });
            w.key("authMethods").array(|_| {});
            w.key("agentInfo").object(|w| {
                w.field_str("name", "thinkthrough");
                w.field_str("title", "Thinkthrough");
                w.field_str("version", env!("CARGO_PKG_VERSION"));
            });
        });
    })
}
