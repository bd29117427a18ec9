//! `think ask`: asks a model one question.

use super::ask_plain::{Form, Plain};
use super::ask_prompt::prompt;
use super::ask_show::{Recorder, Stream, print_code, tell_usage};
use super::ask_stop::stopped_by_signals;
use super::ask_wish::Wish;
use super::asking::Asking;
use super::attached::Attached;
use super::candidates;
use crate::audit;
use crate::choose::Chosen;
use crate::config::{Config, Surroundings};
use crate::failure::{Failure, say};
use crate::masking;
use crate::stored::{self, Resumed};
use crate::tooling::{aloud, close, toolbox};
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::time::Duration;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_chat::instructions::{Instructions, with_instructions};
use thinkthrough_chat::{
    Attempt, Beside, Control, Cover, Covered, Ending, Gate, History, Keeper, MAX_ROUNDS, Nobody,
    Outcome, Setup, Toolbox, Watch, resumption, run,
};
use thinkthrough_core::content::{Block, Content, Speaker};
use thinkthrough_core::settings::Resolved;
use thinkthrough_store::{ConversationId, ConversationState, Store};

/// Ask a model one question
///
/// The answer goes to standard output and the thoughts to standard error, so that a script can
/// take one without the other. The model may list, read and search files below the current
/// folder; it can change nothing, unless `[tools.NAME] permission = "allow"` in the configuration
/// says so.
///
/// Without a key, a configuration or a local server, a simulated model answers and says so.
///
///   think ask "What is in this folder? Think first."
///   think ask -m deepseek/deepseek-v4 --set reasoning.effort=high "Why is the sky blue?"
///   git diff | think ask --history review.jsonl "Review this:"
///   think ask -q -s "Answer in French." -f notes.md "Sum this up"
///   while read -r name; do think ask -n -q "Describe $name"; done < names.txt
///   think ask --continue "And why is it red in the evening?"
///
/// The conversation is kept where --history, --continue or --session says so. Where there is a
/// store already, or the configuration has `[store]`, what the model thought leaves a masked trace
/// (`think traces`), except with --history and with `[traces] enabled = false`.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Ask {
    #[command(flatten)]
    asking: Asking,
    /// Read the conversation from this file and add to it: neutral contents, one JSON value a line
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,
    /// Go on with the latest conversation of this folder, or begin one
    #[arg(short = 'c', long = "continue", conflicts_with_all = ["history", "session"])]
    goes_on: bool,
    /// With `--continue`: the latest conversation of any folder
    #[arg(long, requires = "goes_on")]
    all: bool,
    /// Go on with this conversation; the first letters of its ID are enough
    #[arg(long, value_name = "ID", conflicts_with = "history", add = ArgValueCompleter::new(candidates::sessions))]
    session: Option<String>,
    #[command(flatten)]
    attached: Attached,
    #[command(flatten)]
    wish: Wish,
    /// Print the answer and nothing else but warnings and errors
    #[arg(short, long)]
    quiet: bool,
    /// Print only the blocks of code in the answer
    #[arg(short = 'x', long = "extract", conflicts_with_all = ["json", "stream_json"])]
    code: bool,
    /// Say at the end how many tokens it took, and what it cost
    #[arg(long)]
    usage: bool,
    /// Print everything as one JSON object
    #[arg(long, conflicts_with = "stream_json")]
    json: bool,
    /// Print events as they come, one JSON object a line
    #[arg(long)]
    stream_json: bool,
    /// Whether the model may use tools [default: on, and off with --schema]
    #[arg(long, value_enum)]
    tools: Option<Switch>,
    /// Leave standard input to the commands around this one
    #[arg(short = 'n', long = "no-stdin")]
    leaves_stdin: bool,
    /// The question; what is piped in follows it, and `-` reads standard input whatever it is
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
}

/// How long a question waits for the store that receives its traces.
const FOR_TRACES: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Ask {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
        runtime.block_on(self.ask(out))
    }

    async fn ask(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let config = self.asking.config()?;
        let failed = |error: String| Failure::Failed(error);
        let mut history = match &self.history {
            Some(path) => Some(History::open(path).map_err(|error| failed(error.to_string()))?),
            None => None,
        };
        // Reads the question before signal handlers are installed, so that Ctrl-C ends the wait for a pipe.
        let question = self.question()?;
        let wish = self.wish.read()?;
        let new_store = stored::introduction(&config).filter(|_| !self.quiet);
        let resumed = self.resumed(&config).await?;
        let fresh = ConversationState::default();
        let state = resumed.as_ref().map_or(&fresh, |resumed| &resumed.state);
        let said = resumed.as_ref().map_or(&[][..], |it| it.conversation.contents());
        let (chosen, unreachable) = self.asking.resume(&config, state, said).await?;
        if let Some(missing) = &chosen.missing_key {
            unreachable.iter().for_each(|why| say(format_args!("{why}")));
            return Err(Failure::Failed(missing.clone()));
        }
        let settings = self.asking.resumed_settings(&config, &chosen, state)?;
        let tools = self.tools(&config)?;
        if !self.quiet {
            chosen.announce();
            say_taken_up(resumed.as_ref(), unreachable.as_deref(), &chosen, &settings);
        }
        let cover = masking::of_output(&config)?;
        let gate = Gate::new(config.budget).watching(config.runaway);
        let gate = gate.covering(masking::of_requests(&config).await?);
        let store = self.store(&config, resumed.as_ref()).await;
        new_store.filter(|_| store.is_some()).iter().for_each(|new| say(format_args!("{new}")));
        let gate = gate.knowing(stored::lessons(store.as_ref()).await);
        gate.limit(&chosen.target.provider, chosen.limits);
        let mut conversation = earlier(history.as_ref(), resumed.as_ref(), &chosen, &gate);
        let instructions = self.instructions(&config, tools.is_some())?;
        let question = with_instructions(&conversation, &instructions, question);
        conversation.extend_from_slice(&question);
        let setup = Setup {
            target: &chosen.target,
            settings: &settings,
            transport: &chosen.transport,
            auth: chosen.auth.clone(),
            tools: tools.as_ref(),
            approve: &Nobody,
            gate: Some(&gate),
            traced: None,
            max_rounds: MAX_ROUNDS,
            wish,
        };
        let tracer = store.as_ref().and_then(|store| audit::tracer(&config, store, "ask"));
        let session = resumed.as_ref().map(|resumed| resumed.kept.id().as_str());
        let traced = tracer.as_ref().and_then(|tracer| match session {
            Some(session) => tracer.question(session),
            None => tracer.lone_question(),
        });
        let setup = Setup { traced: traced.as_ref(), ..setup };
        let keep =
            |it: Resumed| it.kept.ask(question.clone(), &chosen.name, &chosen.target, &settings);
        let mut keeper = resumed.map(keep);
        let shown = (&settings, &cover);
        let asked = self.show(&setup, &mut keeper, &mut conversation, shown, out).await;
        let ended = end(keeper).await;
        audit::say_lost(tracer.as_ref()).await;
        gate.lessons().end().await;
        if let Some(tools) = &tools {
            close(tools, self.quiet).await;
        }
        ended?;
        let outcome = asked?;
        if let Some(history) = history.as_mut().filter(|_| !outcome.added.is_empty()) {
            let mut added = question;
            added.extend(outcome.added.iter().cloned());
            history.append(&added).map_err(|error| failed(error.to_string()))?;
        }
        let is_kept = self.history.is_some() || self.goes_on || self.session.is_some();
        if outcome.is_stopped && is_kept && !outcome.added.is_empty() {
            say(format_args!("interrupted; what came is kept"));
        }
        self.end(&outcome, &chosen, &cover, out)
    }

    /// Prints the results that are complete only after all rounds.
    fn end(
        &self,
        outcome: &Outcome,
        chosen: &Chosen,
        cover: &Cover,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        if self.usage {
            tell_usage(outcome, chosen.target.price);
        }
        finish(outcome, chosen, cover)?;
        if self.code { print_code(outcome, cover, out) } else { Ok(()) }
    }

    fn question(&self) -> Result<Content, Failure> {
        let files = self.attached.read()?;
        let prompt = prompt(&self.prompt, self.leaves_stdin, &files)?;
        let text = Some(prompt).filter(|it| !it.is_empty()).map(Block::text);
        Ok(Content::new(Speaker::Human, text.into_iter().chain(files.media).collect()))
    }

    /// The instructions for the model. In a script a question must not depend on the folder or the day, and without
    /// tools a model cannot use what a project says; so files, folder and date need a terminal and tools, or the option.
    fn instructions(&self, config: &Config, has_tools: bool) -> Result<Instructions, Failure> {
        let is_attended = io::stdin().is_terminal() && io::stdout().is_terminal();
        let usual = if has_tools && is_attended { config.surroundings } else { Surroundings::NONE };
        let profile = self.asking.profile(config)?;
        let needs_folder = self.attached.instructions.need_folder(usual);
        let here = if needs_folder { here()? } else { PathBuf::new() };
        let (instructions, warnings) =
            self.attached.instructions.read(config, profile, &here, usual);
        warnings.iter().for_each(|warning| say(format_args!("warning: {warning}")));
        Ok(instructions)
    }

    /// The tools for the requests. Off by default with a schema, because many models do not combine the two.
    fn tools(&self, config: &Config) -> Result<Option<Toolbox>, Failure> {
        let usual = if self.wish.has_schema() { Switch::Off } else { Switch::On };
        if self.tools.unwrap_or(usual) == Switch::Off {
            return Ok(None);
        }
        let here = here()?;
        toolbox(config, &here, Vec::new(), aloud()).map(Some)
    }

    /// The stored conversation that the question continues.
    async fn resumed(&self, config: &Config) -> Result<Option<Resumed>, Failure> {
        if !self.goes_on && self.session.is_none() {
            return Ok(None);
        }
        let here = here()?;
        stored::resumed(config, self.session.as_deref(), (&here, self.all)).await.map(Some)
    }

    /// The store for traces and learned facts. A single question creates no store by default, and gets its answer even
    /// if the store cannot be opened.
    async fn store(&self, config: &Config, resumed: Option<&Resumed>) -> Option<Store> {
        if let Some(resumed) = resumed {
            return Some(resumed.store.clone());
        }
        if self.history.is_some() || !config.traces.on || config.store.is_none() {
            return None;
        }
        let open = async {
            if config.is_store_named {
                stored::open(config).await.map(Some)
            } else {
                stored::existing(config).await
            }
        };
        match tokio::time::timeout(FOR_TRACES, open).await {
            Ok(Ok(store)) => store,
            Ok(Err(failure)) => {
                say(format_args!("this leaves no trace: {failure}"));
                None
            }
            Err(_) => {
                say(format_args!("this leaves no trace: the store did not open in {FOR_TRACES:?}"));
                None
            }
        }
    }

    async fn show(
        &self,
        setup: &Setup<'_>,
        keeper: &mut Option<Keeper>,
        conversation: &mut Vec<Content>,
        (settings, cover): (&Resolved, &Cover),
        out: &mut dyn Write,
    ) -> Result<Outcome, Failure> {
        let shows = settings.include_in_response.value;
        if self.json {
            let outcome =
                ask(setup, conversation, keeper.as_ref(), &mut Recorder::default()).await?;
            let session = end(keeper.take()).await?;
            let session = session.as_ref().map(ConversationId::as_str);
            super::ask_show::write_json(&outcome, session, (shows, cover), out)?;
            return Ok(outcome);
        }
        if self.stream_json {
            let mut watch = Stream::new(shows);
            let mut watch = Covered::new(cover, &mut watch);
            return ask(setup, conversation, keeper.as_ref(), &mut watch).await;
        }
        let form = Form {
            is_quiet: self.quiet,
            is_hidden: self.code,
            is_raw: setup.wish.format.is_some(),
        };
        let mut plain = Plain::new(settings, form);
        let mut watch = Covered::new(cover, &mut plain);
        let asked = ask(setup, conversation, keeper.as_ref(), &mut watch).await;
        plain.finish();
        asked
    }
}

fn here() -> Result<PathBuf, Failure> {
    let failed = |error: io::Error| {
        Failure::Failed(format!(
            "the current folder cannot be used: {error}; change to another one"
        ))
    };
    std::env::current_dir().map_err(failed)
}

/// Asks the last question of the conversation, and stores the answer if there is a keeper.
async fn ask(
    setup: &Setup<'_>,
    conversation: &mut Vec<Content>,
    keeper: Option<&Keeper>,
    watch: &mut (dyn Watch + Send),
) -> Result<Outcome, Failure> {
    let mut watch = Beside::new(keeper, watch);
    let control = Control::new();
    stopped_by_signals(&control)?;
    let outcome = run(setup, conversation, &control, &mut watch).await;
    outcome.map_err(|error| Failure::Failed(error.to_string()))
}

/// Waits until everything is written. Returns the id of the conversation.
async fn end(keeper: Option<Keeper>) -> Result<Option<ConversationId>, Failure> {
    match keeper {
        Some(keeper) => Ok(keeper.end().await?),
        None => Ok(None),
    }
}

/// The earlier messages. Their thoughts count in the budget.
fn earlier(
    history: Option<&History>,
    resumed: Option<&Resumed>,
    chosen: &Chosen,
    gate: &Gate,
) -> Vec<Content> {
    match (history, resumed) {
        (Some(history), _) => {
            gate.resume(&history.contents);
            history.contents.clone()
        }
        // `chat` would send the same messages.
        (None, Some(Resumed { conversation, .. })) => {
            gate.resume(conversation.contents());
            conversation.sent(&chosen.target.rule.contract)
        }
        (None, None) => Vec::new(),
    }
}

/// Prints the lines about the continued conversation.
fn say_taken_up(
    resumed: Option<&Resumed>,
    unreachable: Option<&str>,
    chosen: &Chosen,
    settings: &Resolved,
) {
    let Some(Resumed { state, conversation, .. }) = resumed else { return };
    let answers = (chosen.name.as_str(), &chosen.target);
    let contents = conversation.contents();
    for line in resumption::lines(state, unreachable, contents, answers, settings) {
        say(format_args!("{line}"));
    }
}

fn finish(outcome: &Outcome, chosen: &Chosen, cover: &Cover) -> Result<(), Failure> {
    if outcome.is_stopped {
        return Err(Failure::Interrupted);
    }
    if let Some(refused) = &outcome.refused {
        return Err(Failure::Failed(refused.to_string()));
    }
    if let Some(failure) = &outcome.failure {
        let (provider, model) = (&chosen.target.provider, &chosen.target.model);
        let model = format!("{provider}/{model}");
        let asked = Attempt { model: &model, key_from: chosen.key_from.as_deref(), again: None };
        return Err(Failure::Failed(harmless(&cover.text(&asked.refused(failure)))));
    }
    if outcome.is_unfinished {
        return Err(Failure::Failed(format!(
            "the model still called tools after {MAX_ROUNDS} requests; ask for less at once"
        )));
    }
    match Ending::of(outcome) {
        None => Ok(()),
        Some(ending) if ending.has_answer() => {
            say(format_args!("note: {ending}"));
            Ok(())
        }
        Some(ending) => {
            let (provider, model) = (&chosen.target.provider, &chosen.target.model);
            Err(Failure::Failed(format!("`{provider}/{model}`: {ending}")))
        }
    }
}
