//! `think acp`: the face for editors.

use super::asking::Asking;
use super::instruction_args::InstructionArgs;
use crate::choose::Chosen;
use crate::config::Config;
use crate::failure::{Failure, say};
use crate::{audit, masking, stored, tooling};
use clap::Args;
use std::io::{self, BufRead as _, Write};
use std::path::Path;
use std::sync::Arc;
use thinkthrough_chat::acp::{EditorReach, EditorServer, Host, Kit, serve};
use thinkthrough_chat::mcp::{McpServer, Reach};
use thinkthrough_chat::session::Stored;
use thinkthrough_chat::{Gate, Lessons, Pending, Tracer};
use thinkthrough_client::Auth;
use thinkthrough_core::plane::Tenant;
use tokio::sync::mpsc;

/// Speak the Agent Client Protocol with an editor, over standard input and output
///
/// Editors that know the protocol start this by themselves. They show the thoughts as they come,
/// the tools that run with the changes they make, and ask before a file is changed or a command
/// runs. Everything that is said is kept sealed on this machine, with every thought: an editor can
/// load it again, and so can `think chat --session`.
///
///   think acp -m moonshotai/kimi-k2-thinking
///   think acp --set reasoning.includeInResponse=false
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Acp {
    #[command(flatten)]
    asking: Asking,
    #[command(flatten)]
    instructions: InstructionArgs,
}

impl Acp {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = self.asking.config()?;
        // Reports an invalid setting at the start, not in the middle of the editor's first session.
        self.asking.settings(&config, None)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
        let (store, about_store) = runtime.block_on(stored::or_why(&config));
        about_store.iter().for_each(|text| say(format_args!("{text}")));
        let tracer = store.as_ref().and_then(|store| audit::tracer(&config, store, "acp"));
        let lessons = runtime.block_on(stored::lessons(store.as_ref()));
        let store = store.map(|store| store.conversations(&Tenant::local()));
        let asking = self.asking.clone();
        let instructions = self.instructions.clone();
        let shared = (tracer.clone(), lessons.clone());
        let host = Wiring { asking, instructions, config, tracer: shared.0, lessons: shared.1 };
        let host = Arc::new(host);
        let (line, lines) = mpsc::unbounded_channel();
        // Ends with standard input, which ends the sessions; until then it waits there.
        std::thread::spawn(move || {
            for text in io::stdin().lock().lines().map_while(Result::ok) {
                if line.send(text).is_err() {
                    break;
                }
            }
        });
        let (sender, mut written) = mpsc::unbounded_channel::<String>();
        let serving = runtime.spawn(serve(host, store, lines, sender));
        while let Some(text) = written.blocking_recv() {
            writeln!(out, "{text}")?;
            out.flush()?;
        }
        let served = runtime.block_on(serving);
        runtime.block_on(audit::say_lost(tracer.as_ref()));
        runtime.block_on(lessons.end());
        served.map_err(|error| Failure::Failed(format!("the session broke off: {error}")))
    }
}

/// The model and tools of the configuration, for all sessions.
struct Wiring {
    asking: Asking,
    instructions: InstructionArgs,
    config: Config,
    tracer: Option<Tracer>,
    lessons: Lessons,
}

impl Wiring {
    async fn kit(
        &self,
        folder: &Path,
        servers: Vec<EditorServer>,
        loaded: Option<&Stored>,
    ) -> Result<Kit, Failure> {
        let fresh = Stored::default();
        let Stored { state, contents, .. } = loaded.unwrap_or(&fresh);
        let (chosen, unreachable) = self.asking.resume(&self.config, state, contents).await?;
        if let Some(missing) = &chosen.missing_key {
            return Err(Failure::Failed(missing.clone()));
        }
        chosen.announce();
        let settings = self.asking.resumed_settings(&self.config, &chosen, state)?;
        let servers = servers.into_iter().map(|server| self.server(folder, server));
        let servers = servers.collect::<Result<Vec<_>, _>>()?;
        let tools = tooling::toolbox(&self.config, folder, servers, tooling::aloud())?.attended();
        let masker = masking::of_requests(&self.config).await?;
        let cover = masking::of_output(&self.config)?;
        let gate = Gate::new(self.config.budget).covering(masker).watching(self.config.runaway);
        let gate = gate.knowing(self.lessons.clone());
        gate.limit(&chosen.target.provider, chosen.limits);
        let Chosen { name, target, transport, auth, key_from, .. } = chosen;
        let tracer = self.tracer.clone();
        let profile = self.asking.profile(&self.config)?;
        let (instructions, warnings) =
            self.instructions.read(&self.config, profile, folder, self.config.surroundings);
        warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
        Ok(Kit {
            name,
            target,
            settings,
            transport,
            auth,
            key_from,
            tools,
            gate,
            instructions,
            cover,
            tracer,
            unreachable,
        })
    }

    fn server(&self, folder: &Path, server: EditorServer) -> Result<McpServer, Failure> {
        let reach = match server.reach {
            EditorReach::Command(command, env) => {
                Reach::Command { command, env, folder: folder.to_owned() }
            }
            EditorReach::Http(url, headers) => {
                let client = tooling::client(&self.config)?;
                Reach::Http { url, headers, auth: Auth::None, client }
            }
        };
        Ok(McpServer { name: server.name, reach })
    }
}

impl Host for Wiring {
    fn open<'a>(
        &'a self,
        folder: &'a Path,
        servers: Vec<EditorServer>,
        loaded: Option<&'a Stored>,
    ) -> Pending<'a, Result<Kit, String>> {
        Box::pin(async move {
            self.kit(folder, servers, loaded).await.map_err(|failure| match failure {
                Failure::Failed(message) | Failure::Usage(message) => message,
                failure @ Failure::Interrupted => failure.to_string(),
                Failure::ReaderGone => "the editor has gone".to_owned(),
            })
        })
    }
}
