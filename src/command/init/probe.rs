//! One small request, which shows that the address, the key and the model are right.

use crate::choose::choose;
use crate::command::asking::{Asking, env};
use crate::config::Config;
use crate::failure::{Failure, say};
use std::time::Duration;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_chat::{Attempt, Control, Setup, Watch, run};
use thinkthrough_core::content::{Content, Speaker};
use thinkthrough_core::event::Event;
use thinkthrough_core::outgoing::Outgoing;

/// How long a model may take to answer. A local server may have to load it first.
const PATIENCE: Duration = Duration::from_secs(120);
const QUESTION: &str = "Answer with the one word yes.";

/// A receiver that ignores the answer.
struct Silent;

impl Watch for Silent {
    fn event(&mut self, _: usize, _: Event<'_>) {}

    fn outgoing(&mut self, _: usize, _: &Outgoing) {}
}

/// Asks the model of this name, with a configuration that is not in its place yet.
pub(super) async fn ask(config: &Config, name: &str) -> Result<(), Failure> {
    let chosen = choose(config, Some(name), &env).await?;
    if let Some(missing) = chosen.missing_key {
        return Err(Failure::Failed(missing));
    }
    say(format_args!("asking `{name}` for one word"));
    let asking = Asking { model: None, config: None, profile: None, set: Vec::new() };
    let settings = asking.settings(config, Some(&chosen))?;
    let mut setup = Setup::new(&chosen.target, &settings, &chosen.transport);
    setup.auth = chosen.auth.clone();
    let mut contents = vec![Content::text(Speaker::Human, QUESTION)];
    let control = Control::new();
    let asked = Attempt { model: name, key_from: chosen.key_from.as_deref(), again: None };
    let unchanged = |why: &str| {
        let why = harmless(why);
        Failure::Failed(format!("{why}; nothing was written, `--no-test` writes without a request"))
    };
    let mut silent = Silent;
    let answered = run(&setup, &mut contents, &control, &mut silent);
    let outcome = match tokio::time::timeout(PATIENCE, answered).await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => return Err(unchanged(&asked.unreached(&error))),
        Err(_) => return Err(unchanged(&format!("`{name}` did not answer in {PATIENCE:?}"))),
    };
    match &outcome.failure {
        Some(failure) => Err(unchanged(&asked.refused(failure))),
        None => {
            say(format_args!("`{name}` answered"));
            Ok(())
        }
    }
}
