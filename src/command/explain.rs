//! `think explain`: shows the request for a model, and the reasons for its content.

use super::asking::{Asking, env};
use super::explain_vault::Claim;
use super::explain_wire;
use crate::config::Config;
use crate::failure::Failure;
use crate::input::Input;
use crate::known;
use crate::printed::{printed, printed_lines};
use crate::routes::Routes;
use crate::{local, masking};
use clap::Args;
use std::io::Write;
use std::sync::Arc;
use thinkthrough_chat::harmless::harmless;
use thinkthrough_core::decision::Decision;
use thinkthrough_core::outgoing::Outgoing;
use thinkthrough_core::settings::{Key, Partial};
use thinkthrough_core::tokens::{EffectiveCount, TokenCount};
use thinkthrough_core::wire::Wire;
use thinkthrough_gateway::{Options, Preview, Unsent, preview};
use thinkthrough_json::{Doc, Writer};

/// Show what would be sent to a model, and why
///
/// Reads a request body and prints the request that `think serve` would send for it with the same
/// configuration: which thoughts are sent, which are not, and the setting or contract that decided.
/// It shows no credential and sends no request. With a tenant, its thoughts are looked up and the
/// rules of its key hold, as in the gateway; each answer then says what happens to its thought.
///
///   think explain request.json
///   think explain -m deepseek/deepseek-v4 request.json
///   think explain -m kimi --tenant local request.json
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Explain {
    #[command(flatten)]
    asking: Asking,
    /// The wire that the request is written for; seen from the body when left out
    #[arg(long, value_name = "WIRE", value_parser = known::wires())]
    from: Option<&'static dyn Wire>,
    #[command(flatten)]
    claim: Claim,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    input: Input,
}

impl Explain {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::Failed(format!("the runtime cannot start: {error}")))?;
        runtime.block_on(self.explain(out))
    }

    async fn explain(&self, out: &mut dyn Write) -> Result<(), Failure> {
        let body = self.input.all()?;
        let config = self.asking.config()?;
        let wire = match self.from {
            Some(wire) => wire,
            None => explain_wire::of(&body)?,
        };
        // Checks the JSON here, because the gateway's error messages do not fit this command.
        let doc = Doc::parse(&body).map_err(|error| {
            Failure::Failed(format!("the request is {error}; give a `{}` request", wire.id()))
        })?;
        let model = self.model(&config, &doc)?;
        let body = naming(&model, wire, &doc).map_or(body, String::into_bytes);
        let settings = self.said(&config)?;
        let (vaults, pass) = self.claim.known(&config).await?;
        let session = self.claim.session.clone();
        let unsent = Unsent { wire, body: body.into(), model, settings, session, pass };
        let options = options(&config).await?;
        let served = local::served(&config).await;
        let routes = Arc::new(Routes::new(config, env, served));
        let preview = preview(routes, vaults, options, unsent).await.map_err(Failure::Failed)?;
        let count = count(&preview.outgoing);
        if self.json {
            writeln!(out, "{}", printed_lines(&as_json(&preview, count)))?;
            return Ok(());
        }
        as_text(&preview, count, out)
    }

    /// The model of the command line or its profile, or else of the request.
    fn model(&self, config: &Config, doc: &Doc<'_>) -> Result<String, Failure> {
        let said = self.asking.on_command_line(config)?.map(str::to_owned);
        said.or_else(|| doc.root().string("model")).ok_or_else(|| {
            let message = "the request names no model; name one with `-m provider/model`";
            Failure::Usage(message.to_owned())
        })
    }

    /// The settings of the profile and the command line, in the form that callers of the gateway use.
    fn said(&self, config: &Config) -> Result<Vec<String>, Failure> {
        let of_profile = self.asking.profile(config)?.map(|it| it.reasoning.clone());
        let layers: [Partial; 2] = [of_profile.unwrap_or_default(), self.asking.said()?];
        let word = |key: Key| layers.iter().rev().find_map(|layer| layer.get(key));
        let said = Key::ALL.into_iter().filter_map(|key| Some((key, word(key)?)));
        Ok(said.map(|(key, word)| format!("{}={word}", key.as_str())).collect())
    }
}

/// Adds `model` to a request without a model, if its API has the model in the body.
fn naming(model: &str, wire: &dyn Wire, doc: &Doc<'_>) -> Option<String> {
    let root = doc.root();
    let is_in_path = wire.path("a", false) != wire.path("b", false);
    // The Interactions API accepts `agent` in place of `model`.
    let is_named = ["model", "agent"].iter().any(|name| root.get(name).is_some());
    if is_in_path || is_named || !root.is_object() {
        return None;
    }
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("model", model);
        root.entries().for_each(|(key, value)| w.key(&key).raw_str(value.raw()));
    });
    Some(w.finish())
}

/// The gateway options that change requests.
async fn options(config: &Config) -> Result<Options, Failure> {
    let masker = masking::of_requests(config).await?;
    Ok(Options {
        masks_requests: masker.map(|masker| Arc::new(move || masker.clone()) as _),
        pass_through: config.server.pass_through,
        ..Options::default()
    })
}

fn count(request: &Outgoing) -> TokenCount {
    let mut counter = EffectiveCount::new(Some(thinkthrough_tokenizer::o200k()));
    counter.of_body(&request.body).count
}

fn of_answers(request: &Outgoing) -> impl Iterator<Item = &Decision> {
    request.decisions.iter().filter(|decision| decision.block.is_none())
}

fn of_blocks(request: &Outgoing) -> impl Iterator<Item = (&Decision, usize)> {
    request.decisions.iter().filter_map(|decision| Some((decision, decision.block?)))
}

fn as_json(preview: &Preview, count: TokenCount) -> String {
    let Preview { outgoing: request, target, .. } = preview;
    let mut w = Writer::new();
    w.object(|w| {
        w.field_str("provider", &target.provider);
        w.field_str("wire", target.wire.id());
        w.field_str("url", &request.url);
        w.field_str("rule", &target.rule_source);
        w.key("body").raw_str(&request.body);
        w.key("tokens").object(|w| {
            w.field_u64("effective", count.tokens);
            match target.rule.context {
                0 => w.key("limit").null(),
                limit => w.field_u64("limit", limit),
            }
            w.field_str("source", count.source.as_str());
        });
        w.key("decisions").array(|w| {
            for (decision, _) in of_blocks(request) {
                w.object(|w| decision.write_members(w));
            }
        });
        w.key("answers").array(|w| {
            for answer in of_answers(request) {
                w.object(|w| answer.write_members(w));
            }
        });
        w.key("warnings").array(|w| {
            warnings(preview).for_each(|warning| w.str(&warning));
        });
        w.key("untranslated").array(|w| request.untranslated.iter().for_each(|it| w.str(it)));
    });
    w.finish()
}

/// The warnings of the request, and the reason if the gateway refuses it.
fn warnings(preview: &Preview) -> impl Iterator<Item = String> {
    let Preview { outgoing, target, refusal } = preview;
    let refusal = refusal.iter().map(|why| format!("the gateway refuses this request: {why}"));
    let doubt = target.doubt().map(str::to_owned);
    doubt.into_iter().chain(outgoing.warnings.iter().map(|it| it.message.clone())).chain(refusal)
}

fn as_text(preview: &Preview, count: TokenCount, out: &mut dyn Write) -> Result<(), Failure> {
    let Preview { outgoing: request, target, .. } = preview;
    writeln!(out, "POST {}", request.url)?;
    writeln!(
        out,
        "provider {}, wire {}, rule {}",
        target.provider,
        target.wire.id(),
        target.rule_source
    )?;
    writeln!(out, "contract {}", target.rule.contract.summary())?;
    let limit = match target.rule.context {
        0 => "unknown".to_owned(),
        limit => limit.to_string(),
    };
    writeln!(out, "tokens {}/{limit} ({})", count.tokens, count.source.as_str())?;
    for answer in of_answers(request) {
        let (message, outcome) = (answer.message, answer.action.outcome());
        writeln!(out, "answer in message {message}: {outcome}, {}", harmless(&answer.reason))?;
    }
    for (decision, block) in of_blocks(request) {
        let message = decision.message;
        let (action, reason) = (decision.action.as_str(), harmless(&decision.reason));
        writeln!(
            out,
            "message {message}, block {block}: {action}, {reason} [{}]",
            decision.setting
        )?;
    }
    for warning in warnings(preview) {
        writeln!(out, "warning: {}", harmless(&warning))?;
    }
    for lost in &request.untranslated {
        writeln!(out, "cannot be said on this wire: {}", harmless(lost))?;
    }
    writeln!(out, "\n{}", printed(&request.body))?;
    Ok(())
}
