//! `think chat`: a conversation on the whole screen.

mod host;

use super::ask_prompt::said;
use super::asking::{Asking, config_option, env};
use super::attached::Attached;
use super::candidates;
use crate::choose::{Chosen, choose};
use crate::config::{Config, config_folder};
use crate::failure::{Failure, say};
use crate::{audit, masking, stored, tooling};
use clap::Args;
use clap_complete::engine::ArgValueCompleter;
use host::Settings;
use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::time::UNIX_EPOCH;
use thinkthrough_chat::attachment::joined;
use thinkthrough_chat::session::{Layers, Profile, Start, Stored};
use thinkthrough_chat::terminal::{self, Client, Connection, Left};
use thinkthrough_chat::{OwnCommand, Toolbox, own_commands};
use thinkthrough_core::plane::Tenant;
use thinkthrough_core::provider;
use thinkthrough_store::{Conversations, StoreError};
use tokio::sync::mpsc;

/// Have a conversation and see the model think
///
/// Thoughts stand where they were thought: `/thinking` or Ctrl-T hides and shows them, Ctrl-O or a
/// click opens one. The model may use tools; what changes something is asked first. Everything
/// that is said is kept sealed on this machine, with every thought, and can be gone on with.
///
/// Without a key, a configuration or a local server, a simulated model answers and says so.
/// Inside, `/help` lists all commands and keys.
///
///   think chat
///   think chat -m anthropic/claude-opus-5 --set reasoning.effort=high
///   think chat --continue
///   think chat -f report.pdf "What does this report leave out?"
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Chat {
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    attached: Attached,
    /// Go on with the conversation that was held last in this folder
    #[arg(short = 'c', long = "continue", conflicts_with = "session")]
    goes_on: bool,
    /// With `--continue`: in any folder
    #[arg(long, requires = "goes_on")]
    all: bool,
    /// Go on with this conversation; the beginning of its id is enough
    #[arg(long, value_name = "ID", add = ArgValueCompleter::new(candidates::sessions))]
    session: Option<String>,
    /// The first message, which is sent at once
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
}

impl Chat {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            let message = "`think chat` needs a terminal; for scripts there is `think ask`";
            return Err(Failure::Failed(message.to_owned()));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
        let done = runtime.block_on(self.chat());
        // A model that does not answer must not delay the exit.
        runtime.shutdown_background();
        done
    }

    async fn chat(&self) -> Result<(), Failure> {
        let config = self.asking.config()?;
        let files = self.attached.read()?;
        let prompt = joined(said(&self.prompt), files.text);
        let layers = self.layers(&config)?;
        let (store, about_store) = stored::or_why(&config).await;
        let tracer = store.as_ref().and_then(|store| audit::tracer(&config, store, "chat"));
        let lessons = stored::lessons(store.as_ref()).await;
        let store = store.map(|store| store.conversations(&Tenant::local()));
        let resumed = self.resumed(store.as_ref(), about_store.as_deref()).await?;
        let fresh = Stored::default();
        let Stored { state, contents, .. } = resumed.as_ref().unwrap_or(&fresh);
        let (chosen, unreachable) = self.asking.resume(&config, state, contents).await?;
        let utility = match config.role("utility") {
            Some(name) => Some(host::connection(choose(&config, Some(name), &env).await?)),
            None => None,
        };
        let runaway = config.runaway;
        let masker = masking::of_requests(&config).await?;
        let (notice, notices) = mpsc::unbounded_channel();
        let tools = tools(&config, notice)?;
        let here = std::env::current_dir().unwrap_or_default();
        let profile_in_use = self.asking.profile(&config)?;
        let (instructions, warnings) =
            self.attached.instructions.read(&config, profile_in_use, &here, config.surroundings);
        let greeting = greeting(&chosen, resumed.is_some(), about_store.iter().chain(&warnings));
        let connection = host::connection(chosen);
        let start = Start {
            model: connection.model.clone(),
            names_model: self.asking.on_command_line(&config)?.is_some(),
            utility: utility.as_ref().map(|it: &Connection| it.model.clone()),
            layers,
            profiles: config.profiles.iter().map(profile).collect(),
            budget: config.budget,
            compress_at: config.compress_at,
            resumed,
            unreachable,
            greeting,
            instructions,
            clock: UNIX_EPOCH.elapsed().unwrap_or_default(),
            prompt: Some(prompt).filter(|it| !it.trim().is_empty()),
            attached: files.media,
            folder: here.display().to_string(),
            commands: commands(&config),
            store: store.as_ref().and_then(|_| Some(config.store.as_ref()?.location.to_string())),
            takes_mouse: config.mouse,
            cover: masking::of_output(&config)?,
            lessons: lessons.clone(),
        };
        let client = Client {
            start,
            connection,
            utility,
            host: Arc::new(Settings::new(config)),
            tools: Some(tools),
            notices,
            conversations: store,
            tracer: tracer.clone(),
            runaway,
            masker,
            tokenizer: thinkthrough_tokenizer::o200k(),
            env,
        };
        let ran = terminal::run(client).await;
        if let Ok(Some(left)) = &ran {
            self.say_how_to_continue(left);
        }
        audit::say_lost(tracer.as_ref()).await;
        lessons.end().await;
        match ran {
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::Failed(format!("the terminal cannot be used: {error}"))),
        }
    }

    fn say_how_to_continue(&self, left: &Left) {
        let config = self.asking.config.as_deref().map_or_else(String::new, config_option);
        // A closed output loses no data, because the store has the conversation.
        drop(writeln!(io::stdout(), "{}", left.transcript.trim_end()));
        if let Some((id, title)) = &left.stored {
            say(format_args!("\n{title}"));
            say(format_args!("continue with: think chat{config} --session {id}"));
        }
    }

    fn layers(&self, config: &Config) -> Result<Layers, Failure> {
        let profile = self.asking.profile(config)?;
        Ok(Layers {
            user: config.reasoning.clone(),
            profile: profile.map(|it| (it.name.clone(), it.reasoning.clone())),
            session: self.asking.said()?,
            ..Layers::default()
        })
    }

    fn none_to_continue(&self) -> &'static str {
        match self.all {
            true => "there is no conversation to go on with; `think chat` begins one",
            false => {
                "there is no conversation of this folder to go on with; `think chat --continue --all` takes the latest \
                 of any folder, and `think chat` begins one"
            }
        }
    }

    /// The stored conversation to continue.
    async fn resumed(
        &self,
        store: Option<&Conversations>,
        problem: Option<&str>,
    ) -> Result<Option<Stored>, Failure> {
        if !self.goes_on && self.session.is_none() {
            return Ok(None);
        }
        let failed = |error: StoreError| Failure::Failed(error.to_string());
        let Some(store) = store else {
            return Err(Failure::Failed(problem.unwrap_or_default().to_owned()));
        };
        let id = match &self.session {
            Some(beginning) => store.resolve(beginning).await.map_err(failed)?,
            None => {
                let here = std::env::current_dir().unwrap_or_default();
                match stored::latest(store, &here, self.all).await.map_err(failed)? {
                    Some(latest) => latest,
                    None => return Err(Failure::Failed(self.none_to_continue().to_owned())),
                }
            }
        };
        terminal::open(store, &id).await.map(Some).map_err(failed)
    }
}

/// The tools. Messages of MCP servers go to the screen.
fn tools(config: &Config, notice: mpsc::UnboundedSender<String>) -> Result<Toolbox, Failure> {
    let here = std::env::current_dir().map_err(|error| Failure::Failed(error.to_string()))?;
    // Sending fails only after the screen is gone.
    let notices = Box::new(move |text: &str| drop(notice.send(text.to_owned())));
    Ok(tooling::toolbox(config, &here, Vec::new(), notices)?.attended())
}

/// The user's own commands, from the folder `commands` beside the configuration.
fn commands(config: &Config) -> Vec<OwnCommand> {
    let folder = config_folder(config.path.as_deref(), &env);
    folder.map(|it| own_commands(&it.join("commands"))).unwrap_or_default()
}

fn profile(profile: &crate::config::Profile) -> Profile {
    Profile {
        name: profile.name.clone(),
        model: profile.model.clone(),
        settings: profile.reasoning.clone(),
        system: profile.system.clone(),
    }
}

/// The first notice, in three lines: the model, how to choose another, and what it may do. Further facts follow in a
/// notice of their own.
fn greeting<'p>(
    chosen: &Chosen,
    is_resumed: bool,
    problems: impl Iterator<Item = &'p String>,
) -> String {
    let mut lines = Vec::new();
    let name = &chosen.name;
    if !is_resumed {
        if chosen.is_simulated() {
            lines.push(format!(
                "Hello. You talk to `{name}`, a **simulated** model that knows nothing."
            ));
            let key = provider::ALL.iter().filter(|it| it.default_model.is_some());
            let key = key.filter_map(|it| it.keys.first()).next().copied().unwrap_or_default();
            lines.push(format!("For a real one set a key (`{key}`, ...) or start a local server."));
        } else {
            lines.push(format!("Hello. You talk to `{name}` ({}).", chosen.why));
            lines.push("`/model` changes the model, also in the middle.".to_owned());
        }
        lines.push(
            "It reads this folder, and asks before it changes anything. `/help` says more."
                .to_owned(),
        );
    }
    let further: Vec<&str> = problems.map(String::as_str).collect();
    format!("{}\n\n{}", lines.join("\n"), further.join("\n"))
}
